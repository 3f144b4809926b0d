"""Chunks → files: what a question is about, what a change that it describes would touch. Pure.

A ranking of its own. Among chunks, tests, pages and settings stand back, because a reader wants the code; a change
touches them as often as code, so here no kind of file is worth less than another. A file has the evidence of its
chunks, of its path, and some of its test's or of what it tests, for the two change together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from gitindex.search.candidate import Candidate, Key, Scored
from gitindex.search.filekind import file_kind
from gitindex.search.lexical import MAX_TERMS
from gitindex.search.parse import Query
from gitindex.search.rank import path_match

DEPTH = 400  # candidates of each retriever: a file shows itself in several chunks, so more than for chunks
# What a word score of one per term is worth in cosine: far more than among chunks, for the vectors were trained on code
# and a file may be anything.
_WORDS = 0.3
_SURE = 0.45  # as in `fuse`: the best cosine above the ordinary at which a cosine counts as it is
# What each further near chunk counts of the one before. Words have no such sum: the best chunk says it, and the length
# of a file must not.
_FURTHER = 0.3
_PATH = 0.8  # the share of its own score that a file gains when its name is in the question
_DEFINES = 0.3  # the share of the best score that a file gains for defining a name in the question,
_DEFINES_ALL = 1.0  # or for defining the name that is the whole question
_SIBLING = 0.15  # what a test has of the score of the file that it tests, and that file of its test's
_NEAR = 0.5  # a chunk matches in meaning when it is at least half as near as the nearest
_LEAST = 0.01  # the cosine above the ordinary that the farthest of a few counts
_AFFIX = re.compile(r"^tests?_|_tests?$|_spec$|Tests?$|^_+|_+$")


class Evidence(NamedTuple):
    """What the retrievers say of one chunk."""

    candidate: Candidate
    words: float = 0.0
    sense: float = 0.0  # cosine above that of an ordinary chunk
    defines: bool = False  # a name in the question


class FileFound(NamedTuple):
    best: Scored  # the chunk to show, with the score and the layers of the file
    chunks: int  # how many match


def gather(
    found: Iterable[tuple[float, Candidate]], near: Sequence[tuple[float, Candidate]], middle: float
) -> dict[Key, Evidence]:
    """Both lists, the nearer first, as one; `middle` is the cosine of an ordinary chunk."""
    pool = {item.key: Evidence(item, score) for score, item in found}
    if near and near[0][0] <= middle:  # filters left nothing else: the farthest of these is the ordinary one
        middle = near[-1][0] - _LEAST
    for score, item in near:
        known = pool.get(item.key, Evidence(item))
        pool[item.key] = known._replace(sense=max(0.0, score - middle))
    return pool


def rank(pool: Iterable[Evidence], query: Query) -> list[FileFound]:
    """Every file once, best first, with scores as shares of the best; equal scores in path order.

    Those of which nothing is said are left out, unless there are no others: filters alone were asked for.
    """
    by_file: dict[str, list[Evidence]] = {}
    everything = list(pool)
    for item in [item for item in everything if item.words or item.sense or item.defines] or everything:
        by_file.setdefault(item.candidate.path, []).append(item)
    nearest = max((item.sense for items in by_file.values() for item in items), default=0.0)
    weight, trust = _weights(query, nearest)
    scores = _scores(by_file, query, weight, trust)
    languages = {path: items[0].candidate.language for path, items in by_file.items()}
    scores = _with_siblings(scores, languages)
    best = max(scores.values(), default=0.0)
    found = [
        _found(items, scores[path] / best if best > 0 else 1.0, weight, trust, nearest)
        for path, items in by_file.items()
    ]
    return sorted(found, key=lambda item: (-item.best.score, item.best.candidate.path))


def _weights(query: Query, nearest: float) -> tuple[float, float]:
    """What a word score and what a cosine counts.

    Trust in vectors falls with the square of the best cosine, as in `fuse`, and with that of the share of words among
    the terms: a question of versions and numbers ("bump x from 1.2 to 1.3") has no meaning to be near to.
    """
    terms = query.telling[:MAX_TERMS]
    spoken = sum(not term.isdigit() for term in terms) / max(1, len(terms))
    return _WORDS / max(1, len(terms)), (nearest / _SURE * spoken) ** 2


def _scores(
    by_file: Mapping[str, Sequence[Evidence]], query: Query, weight: float, trust: float
) -> dict[str, float]:
    own = {
        path: weight * max(item.words for item in items) + trust * _faded(item.sense for item in items)
        for path, items in by_file.items()
    }
    top = max(own.values(), default=0.0) or 1.0
    share = _DEFINES_ALL if query.symbol else _DEFINES
    words = set(query.terms)
    return {
        path: (score + (share * top if any(item.defines for item in by_file[path]) else 0.0))
        * (1 + _PATH * path_match(path, words))
        for path, score in own.items()
    }


def _faded(senses: Iterable[float]) -> float:
    """Each further chunk counts less: several near ones are better than one, but no match for a nearer."""
    return sum(sense * _FURTHER**at for at, sense in enumerate(sorted(senses, reverse=True)))


def _with_siblings(scores: Mapping[str, float], languages: Mapping[str, str]) -> dict[str, float]:
    sides: dict[tuple[str, str, bool], float] = {}  # stem, language, is a test → the best of these files
    for path, score in scores.items():
        if file_kind(path) in ("code", "test"):
            side = _stem(path), languages[path], file_kind(path) == "test"
            sides[side] = max(sides.get(side, 0.0), score)
    return {
        path: score + _SIBLING * sides.get((_stem(path), languages[path], file_kind(path) != "test"), 0.0)
        if file_kind(path) in ("code", "test")
        else score
        for path, score in scores.items()
    }


@lru_cache(maxsize=65_536)
def _stem(path: str) -> str:
    """The name that a file shares with its test: `cart` of `test_cart.py`, `cart.test.js`, `CartTest.java`."""
    name = path.rpartition("/")[2].partition(".")[0]
    return (_AFFIX.sub("", name) or name).lower()


def _found(items: Sequence[Evidence], score: float, weight: float, trust: float, nearest: float) -> FileFound:
    def worth(item: Evidence) -> tuple[bool, float, int]:
        return item.defines, weight * item.words + trust * item.sense, -item.candidate.ordinal

    told = {
        "lexical": any(item.words > 0 for item in items),
        "dense": any(item.sense > 0 for item in items),
        "symbol": any(item.defines for item in items),
    }
    layers = tuple(name for name, found in told.items() if found)
    matching = sum(_matches(item, nearest) for item in items)
    return FileFound(Scored(max(items, key=worth).candidate, score, layers), max(1, matching))


def _matches(item: Evidence, nearest: float) -> bool:
    return item.words > 0 or item.defines or (item.sense > 0 and item.sense >= _NEAR * nearest)
