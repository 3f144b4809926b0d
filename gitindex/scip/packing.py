"""Packs semantic facts for storage, whole arrays at a time. The forms are described in `postings`, which
unpacks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from gitindex.scip.postings import READ

Ints = npt.NDArray[np.int64]
_MAX_BYTES = 5  # 35 bits; lines, columns and numbers of a file stay far below


def encode(values: npt.NDArray[np.int64]) -> tuple[bytes, npt.NDArray[np.int64]]:
    """All values end to end, and where each one ends. Values must not be negative."""
    size = np.ones(len(values), dtype=np.int64)
    for step in range(1, _MAX_BYTES):
        size += values >= (1 << (7 * step))
    ends = np.cumsum(size)
    out = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    starts = ends - size
    for step in range(_MAX_BYTES):
        which = size > step
        if not which.any():
            break
        more = np.where(size[which] > step + 1, 128, 0)
        out[starts[which] + step] = (values[which] >> (7 * step)) & 127 | more
    return out.tobytes(), ends


def pack_symbols(
    hashes: Ints, files: Ints, lines: Ints, columns: Ints, flags: Ints
) -> Iterator[tuple[int, bytes]]:
    """(hash, blob) per symbol, ascending by hash, from parallel arrays of global occurrences in any order."""
    if not len(hashes):
        return
    order = np.lexsort((flags, columns, lines, files, hashes))
    hashes, files, lines = hashes[order], files[order], lines[order]
    columns, flags = columns[order], flags[order]
    first = np.concatenate(([True], hashes[1:] != hashes[:-1]))
    file_step = np.where(first, files, np.diff(files, prepend=0))
    new_file = first | (file_step != 0)
    line_step = np.where(new_file, lines, np.diff(lines, prepend=0))
    new_flags = np.where(first, flags != READ, np.diff(flags, prepend=0) != 0)
    head = line_step << 2 | new_file.astype(np.int64) << 1 | new_flags
    always = np.ones(len(hashes), dtype=np.bool_)
    values = np.stack((head, file_step, flags, columns), axis=1)
    wanted = np.stack((always, new_file, new_flags, always), axis=1)
    blob, ends = encode(values[wanted])
    # The last value of each symbol's last row ends its part of the stream.
    last_rows = np.concatenate((np.flatnonzero(first)[1:] - 1, [len(hashes) - 1]))
    stops = ends[np.cumsum(wanted.sum(axis=1))[last_rows] - 1].tolist()
    start = 0
    for value, stop in zip(hashes[first].tolist(), stops, strict=True):
        yield value, blob[start:stop]
        start = stop


def pack_file(hashes: Ints, local_count: int, occurrences: npt.NDArray[np.int32]) -> bytes:
    """`occurrences`: symbol, line, column, end line, end column, flags; sorted by line and column."""
    head, _ = encode(np.array([len(hashes), local_count, len(occurrences)], dtype=np.int64))
    table = hashes.astype("<i8").tobytes()
    if not len(occurrences):
        return head + table
    symbol, line, column, end_line, end_column, flags = (occurrences[:, i].astype(np.int64) for i in range(6))
    step = np.diff(line, prepend=0)
    same = step == 0
    shown = np.where(same, np.diff(column, prepend=0), column)
    many = end_line != line
    size = np.where(many, (end_line - line) << 1 | 1, np.maximum(end_column - column, 0) << 1)
    values = np.stack((step, shown, size, end_column, symbol, flags), axis=1)
    wanted = np.ones(values.shape, dtype=np.bool_)
    wanted[:, 3] = many
    return head + table + encode(values[wanted])[0]


def pack_definitions(definitions: npt.NDArray[np.int32]) -> bytes:
    """Rows of `Document.definitions`: ten numbers each, lines as steps; what is unknown is 0."""
    if not len(definitions):
        return b""
    values = definitions.astype(np.int64)
    line, end_line = values[:, 1].copy(), values[:, 3].copy()
    around = values[:, 5] > 0
    values[:, 1] = np.diff(line, prepend=0)
    values[:, 3] = end_line - line
    # Enclosing ranges surround their definition: store how far they reach, and 0 for none.
    values[:, 7] = np.where(around, values[:, 7] - values[:, 5], 0)
    values[:, 5] = np.where(around, np.maximum(line - values[:, 5], 0) + 1, 0)
    values[:, 9] += 1
    wanted = np.ones(values.shape, dtype=np.bool_)
    wanted[:, 6:9] = around[:, None]
    return encode(values[wanted])[0]
