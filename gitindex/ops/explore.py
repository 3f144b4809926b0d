"""`explore`: one question, one answer within a token budget: files, passages, definitions with their callers (QU-8).

What is cheap comes first: the paths of all files that may matter, then the passages of the best, then who calls what
they define. Whatever did not fit is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gitindex.errors import UsageError
from gitindex.navigate.layer import Layers
from gitindex.ops.budget import size
from gitindex.ops.codebase import Codebase
from gitindex.ops.engines import engine
from gitindex.ops.query import load_embedder
from gitindex.ops.reading import Reading, ReadOptions, reading
from gitindex.search.hit import Found, Hit
from gitindex.search.request import Request

DEFAULT_TOKENS = 4000
MIN_TOKENS, MAX_TOKENS = 200, 100_000
_FILES = 50
_CHARS_PER_TOKEN = 4
_LISTED = 0.4  # most of the budget that paths may take
_SHOWN = 0.85  # most that paths and passages may take together
_CALLERS = 8  # of one definition


def explore(
    codebase: Codebase, question: str, options: ReadOptions, *, tokens: int = DEFAULT_TOKENS
) -> dict[str, Any]:
    """Raises UsageError for a budget out of range or a question without words, and what every gated read raises."""
    if not MIN_TOKENS <= tokens <= MAX_TOKENS:
        raise UsageError(f"tokens must be between {MIN_TOKENS} and {MAX_TOKENS:,}, found {tokens:,}")
    request = Request(question, limit=_FILES)
    with reading(codebase, options) as read, engine(codebase, read.view, load_embedder) as searcher:
        found = searcher.search(request)
        budget = tokens * _CHARS_PER_TOKEN
        files = list(_fit(map(_list_file, found.hits), int(_LISTED * budget)))
        passages = list(_fit(_list_passages(found.hits[: len(files)]), int(_SHOWN * budget) - size(files)))
        rest = budget - size(files) - size(passages)
        definitions = list(_fit(_list_definitions(read.layers(), found.hits[: len(passages)]), rest))
        return _answer(read, found, tokens, files, passages, definitions)


def _answer(
    read: Reading,
    found: Found,
    tokens: int,
    files: list[dict[str, Any]],
    passages: list[dict[str, Any]],
    definitions: list[dict[str, Any]],
) -> dict[str, Any]:
    every = sum(1 + len(hit.places) for hit in found.hits)
    left = {
        "files": len(found.hits) - len(files) + found.left_out,
        "files_at_least": found.at_least,
        "passages": every - len(passages),
    }
    used = -(-(size(files) + size(passages) + size(definitions)) // _CHARS_PER_TOKEN)
    return read.answer(
        "ok",
        budget_tokens=tokens,
        tokens=used,
        files=files,
        passages=passages,
        definitions=definitions,
        left_out=left,
        notes=list(found.notes),
    )


def _fit(items: Iterator[dict[str, Any]], budget: int) -> Iterator[dict[str, Any]]:
    """The first that fit."""
    used = 2
    for item in items:
        used += size(item) + 2
        if used > budget:
            return
        yield item


def _list_file(hit: Hit) -> dict[str, Any]:
    lines = [hit.start_line, *(place.start_line for place in hit.places)]
    return {"path": hit.path, "score": round(hit.score, 2), "lines": lines}


def _list_passages(hits: Sequence[Hit]) -> Iterator[dict[str, Any]]:
    """The best passage of each file."""
    for hit in hits:
        named = {"symbol": hit.symbol, "kind": hit.kind} if hit.symbol else {}
        yield {"path": hit.path, "line": hit.snippet_line, **named, "text": hit.snippet}


def _list_definitions(layers: Layers, hits: Sequence[Hit]) -> Iterator[dict[str, Any]]:
    """What the passages define, and who calls it."""
    for hit in hits:
        if not hit.symbol:
            continue
        for item in layers.definitions(hit.symbol):
            if item.path != hit.path or not hit.start_line <= item.line <= hit.end_line:
                continue
            edges = layers.calls_to(item).edges
            callers = [
                {
                    "path": edge.path,
                    "line": edge.line,
                    "symbol": edge.caller.qualified_name if edge.caller else "",
                }
                for edge in edges[:_CALLERS]
            ]
            yield {
                "symbol": item.qualified_name,
                "path": item.path,
                "line": item.line,
                "signature": item.signature,
                "callers": callers,
                "callers_left_out": len(edges) - len(callers),
            }


def show_exploration(answer: dict[str, Any]) -> str:
    """The answer as text."""
    parts = [f"{file['path']}:{file['lines'][0]}" for file in answer["files"]]
    blocks = ["\n".join(parts)] if parts else ["nothing found"]
    for passage in answer["passages"]:
        named = f"  {passage['symbol']}" if "symbol" in passage else ""
        blocks.append(f"{passage['path']}:{passage['line']}{named}\n{passage['text']}")
    for item in answer["definitions"]:
        called = [
            f"  {caller['path']}:{caller['line']} {caller['symbol']}".rstrip() for caller in item["callers"]
        ]
        more = [f"  and {item['callers_left_out']:,} more"] if item["callers_left_out"] else []
        if called:
            blocks.append("\n".join([f"callers of {item['symbol']}", *called, *more]))
    left = answer["left_out"]
    at_least = "at least " if left["files_at_least"] else ""
    blocks.append(f"left out: {at_least}{left['files']:,} files, {left['passages']:,} passages")
    return "\n\n".join(blocks)
