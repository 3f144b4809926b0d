"""Every identifier leaf of a syntax tree, grouped by name, positions packed as `model.postings` does.

There are millions of them in a build, so positions are computed and packed in bulk.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gitindex.extract.source import Source
from gitindex.model import postings
from gitindex.model.rows import Identifier

if TYPE_CHECKING:
    from tree_sitter import Node

_NARROW = 128
_TWO_BYTES = 1 << 14
_MAX_NAME = 200  # a "name" longer than that is data


def identifiers(source: Source, nodes: Sequence[Node]) -> tuple[Identifier, ...]:
    """Sorted by name; positions ascend; a node captured twice counts once."""
    data = source.data
    spans = {node.start_byte: node.end_byte for node in nodes}
    starts = [start for start, end in spans.items() if 0 < end - start <= _MAX_NAME]
    if not starts:
        return ()
    table: dict[bytes, int] = {}
    keys = [table.setdefault(data[start : spans[start]], len(table)) for start in starts]
    names = sorted(table)
    rank = np.empty(len(names), dtype=np.int64)
    rank[[table[name] for name in names]] = np.arange(len(names))
    where = np.array(starts, dtype=np.int64)
    groups = rank[keys]
    order = np.lexsort((where, groups))
    groups = groups[order]
    lines, columns = source.locate(where[order].tolist())
    blobs = _pack_groups(groups, lines, columns, len(names))
    return tuple(
        Identifier(name.decode("utf-8", "replace"), blob) for name, blob in zip(names, blobs, strict=True)
    )


def _pack_groups(
    groups: NDArray[np.int64], lines: NDArray[np.int64], columns: NDArray[np.int64], count: int
) -> list[bytes]:
    bounds = np.searchsorted(groups, np.arange(count + 1))
    deltas = np.diff(lines, prepend=0)
    deltas[bounds[:-1]] = lines[bounds[:-1]]
    values = np.stack((deltas, columns), axis=1).ravel()
    if int(values.max()) >= _TWO_BYTES:
        return _pack_slowly(bounds.tolist(), lines.tolist(), columns.tolist())
    wide = values >= _NARROW
    ends = np.cumsum(wide + 1)
    out = np.empty(int(ends[-1]), dtype=np.uint8)
    out[ends - 1] = np.where(wide, values >> 7, values)
    out[ends[wide] - 2] = values[wide] & 127 | 128
    edges = np.append(0, ends)[bounds * 2].tolist()
    packed = out.tobytes()
    return [packed[begin:end] for begin, end in pairwise(edges)]


def _pack_slowly(bounds: list[int], lines: list[int], columns: list[int]) -> list[bytes]:
    pairs = list(zip(lines, columns, strict=True))
    return [postings.pack(pairs[begin:end]) for begin, end in pairwise(bounds)]
