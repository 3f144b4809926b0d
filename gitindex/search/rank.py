"""The last word on order: definitions, kinds of files, path and symbol matches, files taking turns. Pure.

Works on a few hundred candidates. The strength of the boosts depends on what is asked: a query that is a name
wants the definition, a sentence wants the passage that says it. Equal scores fall back to path and position,
so one snapshot always answers one query the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from gitindex.extract.tokens import subwords
from gitindex.search.candidate import Candidate, Scored
from gitindex.search.filekind import file_kind
from gitindex.search.parse import Query, last_name

_PENALTY = {
    "test": 0.8,
    "example": 0.8,
    "vendored": 0.7,
    "generated": 0.6,
    "stub": 0.7,
    "package": 0.85,
    "doc": 0.8,
    "config": 0.85,
}
# A query that names a kind of file wants it.
_WANTED = {
    "test": {"test", "tests", "spec", "fixture", "fixtures"},
    "doc": {"doc", "docs", "readme", "documentation", "changelog", "guide", "license"},
    "example": {"example", "examples", "demo", "sample"},
    "config": {"config", "configuration", "settings", "toml", "yaml", "json", "ini"},
}
_DEFINES_ALL = 1.0  # the whole query is the name defined here
_DEFINES_CODE = 0.3  # a word spelled like code is
# Shares of a chunk's own score, for what a sentence and the callable in the chunk have in common. Only callables: a
# class named like the thing asked about would come before the method that does it.
_SAYS_NAME = 0.5  # words of the question that the name has
_IN_QUESTION = 0.1  # words of the name that the question has
_CALLABLE = 0.1  # a sentence tells what code does
_PATH = 0.15
_CALLABLES = frozenset({"function", "method", "constructor", "macro"})
_SENTENCE = 4  # words
_ANCHOR = 0.6  # a file's head tells where, a chunk tells what


def rank(found: Iterable[Scored], query: Query) -> list[Scored]:
    """Best first, all of them, with their final scores."""
    words = set(query.terms)
    names = [name.lower() for name in query.names]
    raised = [item._replace(score=_raised(item, query.symbol, names, words)) for item in found]
    return order(raised)


def order(items: Iterable[Scored]) -> list[Scored]:
    return sorted(items, key=lambda item: (-item.score, item.candidate.path, item.candidate.ordinal))


def limit_per_file(items: Sequence[Scored], most: int) -> list[Scored]:
    """At most so many of one file at the top; the rest follow behind, nothing is lost."""
    seen: Counter[str] = Counter()
    first: list[Scored] = []
    later: list[Scored] = []
    for item in items:
        seen[item.candidate.path] += 1
        (first if seen[item.candidate.path] <= most else later).append(item)
    return first + later


def _raised(item: Scored, whole: str, names: Sequence[str], words: set[str]) -> float:
    found = item.candidate
    kind = file_kind(found.path)
    wanted = bool(words & _WANTED.get(kind, set()))
    # The name of a test is a sentence itself: it would say more of the question than the code under test.
    said = _said(found, words) if wanted or kind != "test" else 0.0
    score = item.score * (1 + said + _PATH * path_match(found.path, words))
    score += _definition(found.symbol, whole, names) if found.symbol else 0.0
    if found.chunk_kind == "anchor":
        score *= _ANCHOR
    return score if wanted else score * _PENALTY.get(kind, 1.0)


def _definition(symbol: str, whole: str, names: Sequence[str]) -> float:
    """How much the chunk's own definition is what the query names; `whole` when it is nothing but a name."""
    if whole:
        return _names(symbol, whole)
    return _DEFINES_CODE if last_name(symbol).lower() in names else 0.0


def _said(found: Candidate, words: set[str]) -> float:
    """How much a sentence says the name of the callable that the chunk shows."""
    if found.symbol_kind not in _CALLABLES or not words:
        return 0.0
    parts = _name_words(found.symbol)
    common = len(parts & words)
    prior = _CALLABLE if len(words) >= _SENTENCE else 0.0
    return prior + _SAYS_NAME * common / len(words) + (_IN_QUESTION * common / len(parts) if parts else 0.0)


def _names(symbol: str, wanted: str) -> float:
    """`Outer.inner` for inner, outer.inner and Outer.inner; spelled alike beats alike but for case."""
    for same, score in ((str, _DEFINES_ALL), (str.lower, 0.8 * _DEFINES_ALL)):
        have, want = same(symbol), same(wanted)
        if have == want or have.endswith("." + want):
            return score
    return 0.3 * _DEFINES_ALL if last_name(symbol).lower() == last_name(wanted).lower() else 0.0


def path_match(path: str, words: set[str]) -> float:
    """The share of the file name's words in the query, and a little for its directories'."""
    stem, above = _path_words(path)
    of_name = len(stem & words) / len(stem) if stem else 0.0
    of_folder = len(above & words) / len(above) if above else 0.0
    return of_name + 0.3 * of_folder


@lru_cache(maxsize=65_536)
def _name_words(symbol: str) -> frozenset[str]:
    return frozenset(subwords(last_name(symbol)))


@lru_cache(maxsize=16_384)
def _path_words(path: str) -> tuple[frozenset[str], frozenset[str]]:
    folder, _, name = path.rpartition("/")
    return frozenset(subwords(name.rpartition(".")[0] or name)), frozenset(subwords(folder))
