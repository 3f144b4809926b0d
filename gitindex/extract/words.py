"""`tokens.terms` and `tokens.identifiers` of a chunk at once, remembering words already split.

Source code repeats its words: a table lookup replaces most of the work. Same answers as `tokens`, always.
"""

from __future__ import annotations

import re

from gitindex.extract import tokens

_WORDS = bytes(c if c < 128 and (chr(c).isalnum() or c == 95) else 32 for c in range(256))
_REMEMBERED = 100_000
_DIGITS = b"0123456789"
_UNUSUAL = re.compile(rb"(?:^| )[0-9]|\w{41}")  # a number, or a word longer than MAX_TOKEN


class _Terms(dict[bytes, bytes]):
    """Word → its sub-words."""

    def __missing__(self, word: bytes) -> bytes:
        if len(self) >= _REMEMBERED:
            self.clear()
        plain = len(word) <= tokens.MAX_TOKEN and word.isalpha() and word.islower()
        found = self[word] = word if plain else tokens.terms(word.decode()).encode()
        return found


_terms = _Terms()


def terms_and_identifiers(text: str) -> tuple[str, str]:
    if not text.isascii():
        return tokens.terms(text), tokens.identifiers(text)
    words = text.encode().translate(_WORDS).split()
    terms = b" ".join(filter(None, map(_terms.__getitem__, words)))
    lowered = b" ".join(dict.fromkeys(words)).lower()
    return terms.decode(), _identifiers(lowered).decode()


def _identifiers(lowered: bytes) -> bytes:
    distinct = dict.fromkeys(lowered.split(b" "))
    if _UNUSUAL.search(lowered) is not None:
        cut = (word.lstrip(_DIGITS)[: tokens.MAX_TOKEN] for word in distinct)
        distinct = dict.fromkeys(word for word in cut if word)
    return b" ".join(distinct)
