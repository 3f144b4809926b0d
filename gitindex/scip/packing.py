"""Packs exact facts for storage, whole arrays at a time. `fact_postings` describes the forms and unpacks them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gitindex.scip import blocks
from gitindex.scip.fact_postings import AHEAD, DEFINITION_COLUMNS, READ

Ints = npt.NDArray[np.int64]
AnyInts = npt.NDArray[np.signedinteger[Any]]  # int32 where it suffices: half as wide is quicker
_MAX_BYTES = 5  # of a varint: 35 bits; lines, columns and numbers within a file stay far below


def encode_varints(values: AnyInts) -> tuple[bytes, Ints]:
    """All values as varints end to end, and where each one ends. Values must not be negative."""
    longer = np.flatnonzero(values > 127)  # few: most numbers take one byte
    size = np.ones(len(values), dtype=np.int64)  # one byte per 7 bits
    size[longer] += sum((values[longer] >> (7 * step) > 0).astype(np.int64) for step in range(1, _MAX_BYTES))
    ends = np.cumsum(size)
    encoded = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    starts = ends - size
    encoded[starts] = np.where(size > 1, values | 128, values).astype(np.uint8)
    for step in range(1, _MAX_BYTES):  # the second bytes of all values, then the third ones, ...
        longer = longer[size[longer] > step]
        if not len(longer):
            break
        continuation = np.where(size[longer] > step + 1, 128, 0)
        encoded[starts[longer] + step] = (values[longer] >> (7 * step)) & 127 | continuation
    return encoded.tobytes(), ends


def pack_symbols(
    numbers: Ints, ranks: Ints, files: AnyInts, lines: AnyInts, columns: AnyInts, flags: AnyInts
) -> tuple[bytes, Ints]:
    """Blobs of all symbols end to end, and where each ends.

    `numbers` are those of the symbols' names, one per symbol. The other arrays have one element per occurrence, in the
    order of symbol, file and position; `ranks` says which symbol occurs.
    """
    first = np.diff(ranks, prepend=-1) != 0
    file_step = np.where(first, files, np.diff(files, prepend=0))
    new_file = first | (file_step != 0)
    line_step = np.where(new_file, lines, np.diff(lines, prepend=0))
    new_flags = np.where(first, flags != READ, np.diff(flags, prepend=0) != 0)
    head = line_step << 2 | new_file.astype(np.int8) << 1 | new_flags
    every_row = np.ones(len(ranks), dtype=np.bool_)
    values = np.stack((head, file_step, flags, columns), axis=1)
    is_stored = np.stack((every_row, new_file, new_flags, every_row), axis=1)
    sizes = np.bincount(ranks, weights=is_stored.sum(axis=1), minlength=len(numbers)).astype(np.int64)
    blob, ends = encode_varints(np.insert(values[is_stored], np.cumsum(sizes) - sizes, numbers))
    return blob, ends[np.cumsum(sizes + 1) - 1]


def pack_blocks(keys: Ints, values: bytes, ends: Ints) -> Iterator[tuple[int, bytes]]:
    """(first key, block) from ascending keys and their values end to end; `blocks` describes a block."""
    if not len(keys):
        return
    size = blocks.KEYS_PER_BLOCK
    bounds = [0, *ends[size - 1 : -1 : size].tolist(), len(values)]
    cuts = ends - np.repeat(bounds[:-1], size)[: len(keys)]
    key_bytes, narrow_ends, wide_ends = (
        part.tobytes() for part in (keys.astype("<i8"), cuts.astype("<u2"), cuts.astype("<u4"))
    )
    for number, (first, (start, stop)) in enumerate(
        zip(keys[::size].tolist(), pairwise(bounds), strict=True)
    ):
        key_start = number * size
        key_end = min(key_start + size, len(keys))
        wide = blocks.WIDE if stop - start > 0xFFFF else 0
        end_bytes = (
            wide_ends[4 * key_start : 4 * key_end] if wide else narrow_ends[2 * key_start : 2 * key_end]
        )
        head = blocks.HEAD.pack(key_end - key_start | wide)
        yield first, b"".join((head, key_bytes[8 * key_start : 8 * key_end], end_bytes, values[start:stop]))


def pack_lists(keys: Ints, numbers: Ints) -> Iterator[tuple[int, bytes]]:
    """Blocks of ascending numbers as steps, from pairs sorted by key and number."""
    first = np.concatenate(([True], keys[1:] != keys[:-1])) if len(keys) else np.zeros(0, np.bool_)
    blob, ends = encode_varints(np.where(first, numbers, np.diff(numbers, prepend=0)))
    last = np.concatenate((first[1:], [True])) if len(keys) else first
    return pack_blocks(keys[first], blob, ends[last])


def pack_files(files: Sequence[tuple[Ints, int, npt.NDArray[np.int32]]]) -> list[bytes]:
    """A blob per file from (hashes, number of locals, occurrences).

    Packs many files at once: for one small file the calls of numpy cost more than the work. `occurrences` has the
    columns of `Occurrence` and is sorted by line and column.
    """
    sizes = np.array(
        [(len(hashes), local_count, len(rows)) for hashes, local_count, rows in files], dtype=np.int64
    )
    counts = sizes[:, 2]  # occurrences per file
    heads = _encode_parts(sizes, np.ones(sizes.shape, dtype=np.bool_), np.ones(len(files), dtype=np.int64))
    tables = [hashes.astype("<i8").tobytes() for hashes, _, _ in files]
    occurrences = np.concatenate([rows for _, _, rows in files])
    symbol, line, column, end_line, end_column, flags = np.ascontiguousarray(occurrences.T)
    step = _line_steps(line, counts)
    column_value = np.where(step == 0, np.diff(column, prepend=0), column)
    many_lines = end_line != line
    size = np.where(many_lines, (end_line - line) << 1 | 1, np.maximum(end_column - column, 0) << 1)
    values = np.stack((step, column_value, size, end_column, symbol, flags), axis=1)
    is_stored = np.ones(values.shape, dtype=np.bool_)
    is_stored[:, 3] = many_lines  # the end column; within a line the width gives it
    parts = _encode_parts(values, is_stored, counts)
    return [head + table + part for head, table, part in zip(heads, tables, parts, strict=True)]


def pack_definitions(files: Sequence[npt.NDArray[np.int32]]) -> list[bytes]:
    """A blob per file from arrays with the columns of `DefinitionRow`, sorted by line."""
    columns = DEFINITION_COLUMNS
    counts = np.array([len(rows) for rows in files], dtype=np.int64)
    values = np.concatenate(files).astype(np.int64)
    line, start_line = values[:, columns.line].copy(), values[:, columns.start_line].copy()
    has_enclosing = start_line > 0
    # An enclosing range surrounds its definition. That of a file alone starts below it: with the first statement.
    lines_back = np.where(start_line > line, AHEAD + start_line - line, line - start_line)
    values[:, columns.line] = _line_steps(line, counts)
    values[:, columns.end_line] -= line
    values[:, columns.start_line] = np.where(has_enclosing, lines_back + 1, 0)
    values[:, columns.stop_line] = np.where(has_enclosing, values[:, columns.stop_line] - start_line, 0)
    values[:, columns.description] += 1
    is_stored = np.ones(values.shape, dtype=np.bool_)
    is_stored[:, columns.start_column : columns.description] = has_enclosing[:, None]
    return _encode_parts(values, is_stored, counts)


def _line_steps(line: AnyInts, counts: Ints) -> AnyInts:
    """Differences between successive lines; the first line of each file stays as it is."""
    steps = np.diff(line, prepend=0)
    first = (np.cumsum(counts) - counts)[counts > 0]
    steps[first] = line[first]
    return steps


def _encode_parts(values: AnyInts, is_stored: npt.NDArray[np.bool_], counts: Ints) -> list[bytes]:
    """The values that `is_stored` selects, row by row as varints, cut into one part per element of `counts` (rows)."""
    blob, ends = encode_varints(values[is_stored])
    numbers = np.concatenate(([0], np.cumsum(is_stored.sum(axis=1))))[np.cumsum(counts)]
    stops = np.concatenate(([0], ends))[numbers].tolist()
    return [blob[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]
