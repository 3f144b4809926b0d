"""How much two words are one: equal, or one the beginning of the other. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from gitindex.extract.tokens import subwords
from gitindex.search.parse import last_name

_LEAST = 3  # letters that a beginning must have


class WordMatcher:
    """The words of a question, to be found in names. Words that match begin alike, so few are compared."""

    def __init__(self, words: Iterable[str], partly: float) -> None:
        self._partly = partly
        self._begun: dict[str, list[str]] = defaultdict(list)
        for word in words:
            self._begun[word[:_LEAST]].append(word)

    def find(self, word: str) -> list[tuple[str, float]]:
        """The words of the question that this one is, and how much."""
        pairs = (
            (asked, match_word(word, asked, self._partly)) for asked in self._begun.get(word[:_LEAST], ())
        )
        return [(asked, share) for asked, share in pairs if share]

    def best(self, word: str) -> float:
        return max((share for _, share in self.find(word)), default=0.0)


def match_word(one: str, other: str, partly: float) -> float:
    """1.0 for equal words, `partly` where one is the beginning of the other."""
    if one == other:
        return 1.0
    short, long = (one, other) if len(one) < len(other) else (other, one)
    return partly if len(short) >= _LEAST and long.startswith(short) else 0.0


@lru_cache(maxsize=65_536)
def stem_words(path: str) -> frozenset[str]:
    """The words of a file's name without its ending."""
    name = path.rpartition("/")[2]
    return frozenset(subwords(name.rpartition(".")[0] or name))


@lru_cache(maxsize=65_536)
def name_words(symbol: str) -> frozenset[str]:
    """The words of a qualified name's last part."""
    return frozenset(subwords(last_name(symbol)))
