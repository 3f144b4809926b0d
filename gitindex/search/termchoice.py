"""The telling words of a pasted text: rare in the index, said often, or said in its title. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from math import log

TITLE = 2.0  # how much more a word of the title counts


def choose_terms(
    words: Iterable[str], title: Iterable[str], rarity: Callable[[str], float], most: int
) -> list[tuple[str, float]]:
    """At most so many words with their weights, the most telling first; equal ones in alphabetical order."""
    first = set(title)
    weights = {
        word: (1 + log(count)) * (TITLE if word in first else 1.0) for word, count in Counter(words).items()
    }
    worth = {word: weight * rarity(word) for word, weight in weights.items()}
    chosen = sorted((word for word in worth if worth[word] > 0), key=lambda word: (-worth[word], word))
    return [(word, weights[word]) for word in chosen[:most]]
