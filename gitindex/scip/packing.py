"""Packs semantic facts for storage, whole arrays at a time. The forms are described in `postings`, which
unpacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from gitindex.scip.postings import AHEAD, READ

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


def pack_files(files: Sequence[tuple[Ints, int, npt.NDArray[np.int32]]]) -> list[bytes]:
    """A blob per file from (hashes, number of locals, occurrences); many at once, because calls cost more
    than work.

    `occurrences`: symbol, line, column, end line, end column, flags; sorted by line and column.
    """
    counts = np.array([len(found) for _, _, found in files], dtype=np.int64)
    heads = [encode(np.array([len(hashes), many, len(found)]))[0] for hashes, many, found in files]
    tables = [hashes.astype("<i8").tobytes() for hashes, _, _ in files]
    rows = np.concatenate([found for _, _, found in files]).astype(np.int64)
    symbol, line, column, end_line, end_column, flags = rows.T
    step = _steps(line, counts)
    shown = np.where(step == 0, np.diff(column, prepend=0), column)
    many_lines = end_line != line
    size = np.where(many_lines, (end_line - line) << 1 | 1, np.maximum(end_column - column, 0) << 1)
    values = np.stack((step, shown, size, end_column, symbol, flags), axis=1)
    wanted = np.ones(values.shape, dtype=np.bool_)
    wanted[:, 3] = many_lines
    parts = _encode_parts(values, wanted, counts)
    return [head + table + part for head, table, part in zip(heads, tables, parts, strict=True)]


def pack_definitions(files: Sequence[npt.NDArray[np.int32]]) -> list[bytes]:
    """A blob per file from rows of ten numbers (`Document.definitions`), sorted by line."""
    counts = np.array([len(found) for found in files], dtype=np.int64)
    values = np.concatenate(files).astype(np.int64)
    line = values[:, 1].copy()
    around = values[:, 5] > 0
    values[:, 1] = _steps(line, counts)
    values[:, 3] -= line
    # Enclosing ranges surround their definition, but for a file's, which starts with its first statement.
    values[:, 7] = np.where(around, values[:, 7] - values[:, 5], 0)
    back = line - values[:, 5]
    values[:, 5] = np.where(around, np.where(back < 0, AHEAD - back, back) + 1, 0)
    values[:, 9] += 1
    wanted = np.ones(values.shape, dtype=np.bool_)
    wanted[:, 6:9] = around[:, None]
    return _encode_parts(values, wanted, counts)


def _steps(line: Ints, counts: Ints) -> Ints:
    """Differences of lines, starting anew with each file."""
    out = np.diff(line, prepend=0)
    first = (np.cumsum(counts) - counts)[counts > 0]
    out[first] = line[first]
    return out


def _encode_parts(values: Ints, wanted: npt.NDArray[np.bool_], counts: Ints) -> list[bytes]:
    """Wanted values row by row as varints, cut into as many parts as there are counts of rows."""
    blob, ends = encode(values[wanted])
    numbers = np.concatenate(([0], np.cumsum(wanted.sum(axis=1))))[np.cumsum(counts)]
    stops = np.concatenate(([0], ends))[numbers].tolist()
    return [blob[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]
