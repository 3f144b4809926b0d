"""`explore`: one question, one answer within a token budget: files, passages, definitions with their callers (QU-8).

The cheapest parts come first: the paths of all files that may matter, then the best passages, then the callers of what
these define. What did not fit is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from gitindex.errors import UsageError
from gitindex.model.frozen import field, frozen
from gitindex.model.json_answer import OPTIONAL
from gitindex.navigate.layer import Layers
from gitindex.ops.answers.answer_budget import json_length
from gitindex.ops.answers.answer_types import SnapshotAnswer
from gitindex.ops.answers.gated_read import ReadOptions, open_reading
from gitindex.ops.answers.search_answer import open_cached_embedder
from gitindex.ops.answers.search_engines import use_engine
from gitindex.ops.codebase import Codebase
from gitindex.search.hit import Hit
from gitindex.search.request import Request

DEFAULT_TOKENS = 4000
MIN_TOKENS, MAX_TOKENS = 200, 100_000
_MAX_FILES = 50
_CHARS_PER_TOKEN = 4
_FILES_SHARE = 0.4  # of the budget, at most, for the list of files
_PASSAGES_SHARE = 0.85  # of the budget, at most, for files and passages together
_MAX_CALLERS = 8  # of one definition

Item = TypeVar("Item")


@frozen
class ExploredFile:
    path: str
    score: float
    lines: tuple[int, ...]  # of its best places


@frozen
class ExploredPassage:
    """The best passage of a file."""

    path: str
    line: int
    text: str
    symbol: str = field(default="", metadata=OPTIONAL)
    kind: str = field(default="", metadata=OPTIONAL)


@frozen
class CallerPlace:
    path: str
    line: int
    symbol: str  # "" for code at file level


@frozen
class ExploredDefinition:
    """What a passage defines, and who calls it."""

    symbol: str
    path: str
    line: int
    signature: str
    callers: tuple[CallerPlace, ...]
    callers_left_out: int


@frozen
class ExploreAnswer(SnapshotAnswer):
    """`left_out` of the basis counts files and passages; files at least so many when `left_out_at_least`."""

    budget_tokens: int
    tokens: int  # used, as four characters each
    files: tuple[ExploredFile, ...]
    passages: tuple[ExploredPassage, ...]
    definitions: tuple[ExploredDefinition, ...]
    left_out_at_least: bool
    notes: tuple[str, ...]


def explore(
    codebase: Codebase, question: str, options: ReadOptions, *, tokens: int = DEFAULT_TOKENS
) -> ExploreAnswer:
    """Raises UsageError for a budget out of range or a question without words, and what every gated read raises."""
    if not MIN_TOKENS <= tokens <= MAX_TOKENS:
        raise UsageError(f"tokens must be between {MIN_TOKENS} and {MAX_TOKENS:,}, found {tokens:,}")
    request = Request(question, limit=_MAX_FILES)
    with (
        open_reading(codebase, options) as read,
        use_engine(codebase, read.view, open_cached_embedder) as engine,
    ):
        result = engine.search(request)
        budget = tokens * _CHARS_PER_TOKEN
        files = _take_fitting(map(_describe_file, result.hits), int(_FILES_SHARE * budget))
        passages = _take_fitting(
            map(_show_passage, result.hits[: len(files)]), int(_PASSAGES_SHARE * budget) - json_length(files)
        )
        rest = budget - json_length(files) - json_length(passages)
        definitions = _take_fitting(_list_definitions(read.layers(), result.hits[: len(passages)]), rest)
        used = sum(map(json_length, (files, passages, definitions)))
        left_out = {
            "files": len(result.hits) - len(files) + result.left_out,
            "passages": sum(1 + len(hit.places) for hit in result.hits) - len(passages),
        }
        return ExploreAnswer(
            status="ok",
            basis=read.basis(left_out={name: count for name, count in left_out.items() if count}),
            budget_tokens=tokens,
            tokens=-(-used // _CHARS_PER_TOKEN),
            files=files,
            passages=passages,
            definitions=definitions,
            left_out_at_least=result.at_least,
            notes=tuple(result.notes),
        )


def _take_fitting(items: Iterable[Item], budget: int) -> tuple[Item, ...]:
    """The first items whose JSON fits."""
    fitting: list[Item] = []
    used = 2  # the brackets
    for item in items:
        used += json_length(item) + 2  # the comma and the space between two items
        if used > budget:
            break
        fitting.append(item)
    return tuple(fitting)


def _describe_file(hit: Hit) -> ExploredFile:
    lines = (hit.start_line, *(place.start_line for place in hit.places))
    return ExploredFile(hit.path, round(hit.score, 2), lines)


def _show_passage(hit: Hit) -> ExploredPassage:
    return ExploredPassage(
        hit.path, hit.snippet_line, hit.snippet, hit.symbol, hit.kind if hit.symbol else ""
    )


def _list_definitions(layers: Layers, hits: Sequence[Hit]) -> Iterator[ExploredDefinition]:
    for hit in hits:
        if not hit.symbol:
            continue
        for site in layers.find_definitions(hit.symbol):
            if site.path != hit.path or not hit.start_line <= site.line <= hit.end_line:
                continue
            edges = layers.calls_to(site).edges
            callers = tuple(
                CallerPlace(edge.path, edge.line, edge.caller.qualified_name if edge.caller else "")
                for edge in edges[:_MAX_CALLERS]
            )
            yield ExploredDefinition(
                symbol=site.qualified_name,
                path=site.path,
                line=site.line,
                signature=site.signature,
                callers=callers,
                callers_left_out=len(edges) - len(callers),
            )
