"""Packs semantic facts for storage, whole arrays at a time. The forms are described in `postings`, which
unpacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from gitindex.scip import blocks
from gitindex.scip.fact_postings import AHEAD, READ

Ints = npt.NDArray[np.int64]
AnyInts = npt.NDArray[np.signedinteger[Any]]  # half as wide is quicker
_MAX_BYTES = 5  # 35 bits; lines, columns and numbers of a file stay far below


def encode_varints(values: AnyInts) -> tuple[bytes, Ints]:
    """All values end to end, and where each one ends. Values must not be negative."""
    longer = np.flatnonzero(values > 127)  # few: most numbers take one byte
    size = np.ones(len(values), dtype=np.int64)
    size[longer] += sum((values[longer] >> (7 * step) > 0).astype(np.int64) for step in range(1, _MAX_BYTES))
    ends = np.cumsum(size)
    encoded = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    starts = ends - size
    encoded[starts] = np.where(size > 1, values | 128, values).astype(np.uint8)
    for step in range(1, _MAX_BYTES):
        longer = longer[size[longer] > step]
        if not len(longer):
            break
        continuation = np.where(size[longer] > step + 1, 128, 0)
        encoded[starts[longer] + step] = (values[longer] >> (7 * step)) & 127 | continuation
    return encoded.tobytes(), ends


def pack_symbols(
    numbers: Ints, ranks: Ints, files: AnyInts, lines: AnyInts, columns: AnyInts, flags: AnyInts
) -> tuple[bytes, Ints]:
    """Blobs of all symbols end to end, and where each ends, from the numbers of their names and parallel arrays
    of occurrences. `ranks` says whose occurrence it is; rows are in the order of symbol, file, position.
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
    """(first key, block) from ascending keys and their values end to end; `blocks` tells what a block is."""
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
    """A blob per file from (hashes, number of locals, occurrences); many at once, because calls cost more
    than work.

    `occurrences`: symbol, line, column, end line, end column, flags; sorted by line and column.
    """
    sizes = np.array([(len(hashes), many, len(found)) for hashes, many, found in files], dtype=np.int64)
    counts = sizes[:, 2]
    heads = _encode_parts(sizes, np.ones(sizes.shape, dtype=np.bool_), np.ones(len(files), dtype=np.int64))
    tables = [hashes.astype("<i8").tobytes() for hashes, _, _ in files]
    rows = np.concatenate([found for _, _, found in files])
    symbol, line, column, end_line, end_column, flags = np.ascontiguousarray(rows.T)
    step = _line_steps(line, counts)
    column_value = np.where(step == 0, np.diff(column, prepend=0), column)
    many_lines = end_line != line
    size = np.where(many_lines, (end_line - line) << 1 | 1, np.maximum(end_column - column, 0) << 1)
    values = np.stack((step, column_value, size, end_column, symbol, flags), axis=1)
    is_stored = np.ones(values.shape, dtype=np.bool_)
    is_stored[:, 3] = many_lines
    parts = _encode_parts(values, is_stored, counts)
    return [head + table + part for head, table, part in zip(heads, tables, parts, strict=True)]


def pack_definitions(files: Sequence[npt.NDArray[np.int32]]) -> list[bytes]:
    """A blob per file from rows of ten numbers (`Document.definitions`), sorted by line."""
    counts = np.array([len(rows) for rows in files], dtype=np.int64)
    values = np.concatenate(files).astype(np.int64)
    line = values[:, 1].copy()
    has_enclosing = values[:, 5] > 0
    values[:, 1] = _line_steps(line, counts)
    values[:, 3] -= line
    # Enclosing ranges surround their definition, but for a file's, which starts with its first statement.
    values[:, 7] = np.where(has_enclosing, values[:, 7] - values[:, 5], 0)
    lines_back = line - values[:, 5]
    values[:, 5] = np.where(has_enclosing, np.where(lines_back < 0, AHEAD - lines_back, lines_back) + 1, 0)
    values[:, 9] += 1
    is_stored = np.ones(values.shape, dtype=np.bool_)
    is_stored[:, 6:9] = has_enclosing[:, None]
    return _encode_parts(values, is_stored, counts)


def _line_steps(line: AnyInts, counts: Ints) -> AnyInts:
    """Differences of lines, starting anew with each file."""
    steps = np.diff(line, prepend=0)
    first = (np.cumsum(counts) - counts)[counts > 0]
    steps[first] = line[first]
    return steps


def _encode_parts(values: AnyInts, is_stored: npt.NDArray[np.bool_], counts: Ints) -> list[bytes]:
    """Wanted values row by row as varints, cut into as many parts as there are counts of rows."""
    blob, ends = encode_varints(values[is_stored])
    numbers = np.concatenate(([0], np.cumsum(is_stored.sum(axis=1))))[np.cumsum(counts)]
    stops = np.concatenate(([0], ends))[numbers].tolist()
    return [blob[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]
