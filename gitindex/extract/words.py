"""`tokens.terms` and `tokens.identifiers` of a chunk at once, remembering words already split.

Source code repeats its words: a table lookup replaces most of the work. Same answers as `tokens`, always: both
read a text word by word, and no word of theirs spans one of the characters that end a word here.
"""

from __future__ import annotations

from gitindex.extract import tokens

# ASCII ends words; what lies beyond it is for `tokens` to judge, once per distinct word.
_WORDS = bytes(c if c > 127 or chr(c).isalnum() or c == 95 else 32 for c in range(256))
_REMEMBERED = 200_000
_DIGITS = b"0123456789"


class _Terms(dict[bytes, bytes]):
    """Word → its sub-words."""

    def __missing__(self, word: bytes) -> bytes:
        if len(self) >= _REMEMBERED:
            self.clear()
        spaced = word.replace(b"_", b" ")
        plain = len(word) <= tokens.MAX_TOKEN and spaced.islower() and spaced.translate(None, b" ").isalpha()
        found = self[word] = spaced if plain else _encode(tokens.terms(_decode(word)))
        return found


class _Identifiers(dict[bytes, bytes]):
    """Word → the identifiers in it: digits do not start one."""

    def __missing__(self, word: bytes) -> bytes:
        if len(self) >= _REMEMBERED:
            self.clear()
        if word.isascii():
            found = word.lstrip(_DIGITS)[: tokens.MAX_TOKEN].lower()
        else:
            found = _encode(tokens.identifiers(_decode(word)))
        self[word] = found
        return found


_terms = _Terms()
_identifiers = _Identifiers()


def terms_and_identifiers(text: str) -> tuple[str, str]:
    """Both as texts for a white-space tokenizer."""
    encoded = _encode(text)
    words = encoded.translate(_WORDS).split()
    terms = b" ".join(map(_terms.__getitem__, words))
    distinct = b" ".join(dict.fromkeys(map(_identifiers.__getitem__, dict.fromkeys(words))))
    if not encoded.isascii():  # a word may hold several identifiers
        distinct = b" ".join(dict.fromkeys(distinct.split()))
    return _decode(terms), _decode(distinct)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogatepass")
