"""Regular expressions: identifiers that must occur narrow by index, RE2 verifies line by line.

RE2 (Arrow's) takes time linear in the text, so no pattern can run away; what it lacks (look-around, back
references) is a named error. Narrowing never loses a match: without a sure identifier every chunk is read.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from gitindex.errors import UsageError
from gitindex.extract.tokens import MAX_TOKEN
from gitindex.search.candidate import RetrievedChunk

# The parser of `re` under its 3.11+ name; the syntax tree is what we are after, not the matcher.
from re import _parser as sre  # type: ignore[attr-defined]  # isort: skip
from re import _constants as sre_constants  # type: ignore[attr-defined]  # isort: skip

_MIN_PIECE = 3
_PIECES = 2  # each costs a walk through the dictionary, and the longest leave little for the others
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BATCH_LINES = 20_000
LONG_IDENTIFIER = (
    f".{{{MAX_TOKEN}}}"  # identifiers are indexed cut: one of this length may go on with anything
)


class RegexMatch(NamedTuple):
    chunk: RetrievedChunk
    lines: tuple[int, ...]  # matching line numbers


def check(pattern: str) -> None:
    """Raises UsageError for a pattern RE2 does not take."""
    match_lines(pattern, ["x"])


def derive_index_patterns(pattern: str) -> list[str]:
    """Expressions over identifiers; a chunk with a match has an identifier for each, or one of unknown end."""
    pieces: set[str] = set()
    for literal in find_required_literals(pattern):
        pieces |= {piece.lower() for piece in _WORD.findall(literal) if len(piece) >= _MIN_PIECE}
    longest = sorted(
        (piece for piece in pieces if len(piece) <= MAX_TOKEN), key=lambda piece: (-len(piece), piece)
    )
    return [f".*{piece}.*" for piece in longest[:_PIECES]]


def find_required_literals(pattern: str) -> list[str]:
    """ASCII literals that every match contains."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = sre.parse(pattern)
    except (re.error, RecursionError, OverflowError, ValueError):
        return []  # RE2 may still know the syntax
    return _collect_literals(tree)


def verify(pattern: str, chunks: Iterable[RetrievedChunk]) -> Iterator[RegexMatch]:
    """Candidates with at least one matching line, in the order given."""
    batch: list[RetrievedChunk] = []
    lines = 0
    for candidate in chunks:
        batch.append(candidate)
        lines += (candidate.text or "").count("\n") + 1
        if lines >= _BATCH_LINES:
            yield from _verify_batch(pattern, batch)
            batch, lines = [], 0
    yield from _verify_batch(pattern, batch)


def join_long_lines(chunks: Sequence[RetrievedChunk]) -> Iterator[RetrievedChunk]:
    """Pieces of one long line as one candidate again; `chunks` are in order of path and position."""
    whole: RetrievedChunk | None = None
    for chunk in chunks:
        if whole is not None and _is_same_line(whole, chunk):
            whole = whole._replace(text=(whole.text or "") + (chunk.text or ""))
            continue
        if whole is not None:
            yield whole
        whole = chunk
    if whole is not None:
        yield whole


def _is_same_line(first: RetrievedChunk, then: RetrievedChunk) -> bool:
    return first.path == then.path and first.start_line == first.end_line == then.start_line == then.end_line


def match_lines(pattern: str, lines: Sequence[str]) -> list[bool]:
    """Which lines match. Raises UsageError for a pattern RE2 does not take."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        found = pc.match_substring_regex(pa.array(lines, pa.string()), pattern)
    except pa.ArrowInvalid as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(
            f"bad pattern {pattern!r}: {reason}", hint="RE2 syntax: no look-around, no back references"
        ) from None
    result: list[bool] = found.to_pylist()
    return result


def _verify_batch(pattern: str, batch: list[RetrievedChunk]) -> Iterator[RegexMatch]:
    texts = [[line.rstrip("\r") for line in (candidate.text or "").split("\n")] for candidate in batch]
    hits = iter(match_lines(pattern, list(chain.from_iterable(texts)))) if batch else iter(())
    for candidate, lines in zip(batch, texts, strict=True):
        numbers = tuple(candidate.start_line + at for at, _ in enumerate(lines) if next(hits))
        if numbers:
            yield RegexMatch(candidate, numbers)


def _collect_literals(tree: Any) -> list[str]:
    """Runs of literal characters at the top level and inside groups that always take part."""
    found: list[str] = []
    run: list[str] = []

    def end_run() -> None:
        if run:
            found.append("".join(run))
            run.clear()

    for operation, argument in tree:
        if operation is sre_constants.LITERAL and argument < 128:
            run.append(chr(argument))
            continue
        end_run()
        if operation is sre_constants.SUBPATTERN:
            found += _collect_literals(argument[3])
        elif operation in (sre_constants.MAX_REPEAT, sre_constants.MIN_REPEAT) and argument[0] >= 1:
            found += _collect_literals(argument[2])
    end_run()
    return found
