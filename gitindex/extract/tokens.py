"""Splits code and prose into sub-words, for the lexical index and the static embedder.

`HTTPServer_v2` → http server v 2. A change here changes what is indexed: it needs a new `TOKENS_VERSION`.
"""

from __future__ import annotations

import re

MAX_TOKEN = 40

# An acronym before a capitalised word, a (capitalised) word, an acronym, or digits.
_SUBWORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_WORD = re.compile(r"[^\W\d_]+|[0-9]+")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")


def subwords(text: str) -> list[str]:
    """Lower-case sub-words in order; over-long ones are cut, never dropped."""
    if text.isascii():
        raw_tokens = _SUBWORD.findall(text)
    else:  # words with letters beyond ASCII stay whole: case says little in most scripts
        raw_tokens = [
            part
            for word in _WORD.findall(text)
            for part in (_SUBWORD.findall(word) if word.isascii() else (word,))
        ]
    return [token[:MAX_TOKEN] for token in " ".join(raw_tokens).lower().split()]


def terms(text: str) -> str:
    """The sub-words as one string for a white-space tokenizer."""
    return " ".join(subwords(text))


def compounds(text: str) -> str:
    """Distinct identifiers of several sub-words, lower-case, in order of first appearance; single words are terms."""
    names = (name for name in _IDENTIFIER.findall(text) if subwords(name) != [name.lower()[:MAX_TOKEN]])
    return " ".join(dict.fromkeys(name.lower()[:MAX_TOKEN] for name in names))
