"""`tokens.terms` and `tokens.identifiers` of a chunk at once, remembering words already split.

Source code repeats its words: a table lookup replaces most of the work. Same answers as `tokens`, always.
"""

from __future__ import annotations

from gitindex.extract import tokens

_WORDS = bytes(c if c < 128 and (chr(c).isalnum() or c == 95) else 32 for c in range(256))
_REMEMBERED = 100_000
_DIGITS = b"0123456789"


class _Terms(dict[bytes, bytes]):
    """Word → its sub-words."""

    def __missing__(self, word: bytes) -> bytes:
        if len(self) >= _REMEMBERED:
            self.clear()
        plain = len(word) <= tokens.MAX_TOKEN and word.isalpha() and word.islower()
        found = self[word] = word if plain else tokens.terms(word.decode()).encode()
        return found


class _Identifiers(dict[bytes, bytes]):
    """Word → the identifier in it: digits do not start one."""

    def __missing__(self, word: bytes) -> bytes:
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self[word] = word.lstrip(_DIGITS)[: tokens.MAX_TOKEN].lower()
        return found


_terms = _Terms()
_identifiers = _Identifiers()


def terms_and_identifiers(text: str) -> tuple[str, str]:
    if not text.isascii():
        return tokens.terms(text), tokens.identifiers(text)
    words = text.encode().translate(_WORDS).split()
    terms = b" ".join(filter(None, map(_terms.__getitem__, words)))
    distinct = dict.fromkeys(map(_identifiers.__getitem__, dict.fromkeys(words)))
    distinct.pop(b"", None)
    return terms.decode(), b" ".join(distinct).decode()
