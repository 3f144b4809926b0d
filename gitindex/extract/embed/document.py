"""What an embedder sees of a chunk: the name of the definition it belongs to, then its text.

The second half of a long function, or a method without its class, does not say whose it is. No path: a rename embeds
nothing anew (SN-3).
"""

from __future__ import annotations

from gitindex.extract.tokens import terms as split

_TIMES = 4  # in a bag of words the name would drown among eighty others


def compose_embed_text(symbol: str, text: str) -> str:
    return f"{symbol}\n{text}" if symbol else text


def compose_embed_terms(symbol: str, terms: str) -> str:
    """The same for a bag of words, from the text's sub-words; the name counts as if said several times."""
    return f"{' '.join([split(symbol)] * _TIMES)} {terms}" if symbol else terms
