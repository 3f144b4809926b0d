"""Every identifier of a file, grouped by name, with its positions packed as `model.postings` does.

There are millions of them in a build, so positions are computed and packed with arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gitindex.extract.native import scan
from gitindex.extract.source_text import SourceText
from gitindex.model import postings
from gitindex.model.rows import Identifier

if TYPE_CHECKING:
    from tree_sitter import Node

_ONE_BYTE = 128  # a varint has seven bits of the number per byte
_TWO_BYTES = 1 << 14
_BLANK = 32
# A translation table: letters, digits and `_` stay, and every byte beyond ASCII; the rest becomes blank.
_WORD_BYTES = bytes(c if c > 127 or chr(c).isalnum() or c == ord("_") else _BLANK for c in range(256))
_FIRST_BYTES = frozenset(c for c in range(256) if c > 127 or chr(c).isalpha() or c in b"_@$#")
_MAX_NAME = 200  # bytes; a longer word is data, such as base64


def group_captured(source: SourceText, nodes: Sequence[Node]) -> tuple[Identifier, ...]:
    """Groups the texts of nodes; one captured twice counts once."""
    spans = {node.start_byte: node.end_byte for node in nodes}
    starts = sorted(start for start, end in spans.items() if end > start)
    words = [source.data[start : spans[start]] for start in starts]
    return _group_by_name(source, words, np.array(starts, dtype=np.int64), frozenset())


def group_unmasked(
    source: SourceText, hidden_nodes: list[Node], code_nodes: list[Node], keywords: frozenset[bytes]
) -> tuple[Identifier, ...]:
    """Groups the words outside `hidden_nodes` (literals, comments); `code_nodes` inside those count again.

    The same answer as capturing every identifier node, for a fraction of the time: most nodes are identifiers.
    """
    if scan is not None:
        return tuple(scan.names(source.data, hidden_nodes, code_nodes, keywords, _MAX_NAME))
    masked = bytearray(source.data)
    # Sorted by start and negated end: an outer node comes before the nodes inside it, which then overwrite it.
    spans = [(node.start_byte, -node.end_byte, True) for node in hidden_nodes]
    spans.extend((node.start_byte, -node.end_byte, False) for node in code_nodes)
    if code_nodes:
        spans.sort()
    for start, negated_end, is_hidden in spans:
        end = -negated_end
        masked[start:end] = b" " * (end - start) if is_hidden else source.data[start:end]
    plain = bytes(masked).translate(_WORD_BYTES)
    inside = np.frombuffer(plain, dtype=np.uint8) != _BLANK
    starts = np.flatnonzero(inside[1:] > inside[:-1]) + 1  # where a word follows a blank
    if len(inside) and inside[0]:
        starts = np.concatenate(([0], starts))
    return _group_by_name(source, plain.split(), starts, keywords)


def _group_by_name(
    source: SourceText, words: list[bytes], starts: NDArray[np.int64], excluded: frozenset[bytes]
) -> tuple[Identifier, ...]:
    """Sorted by name; positions ascend, as `starts` do. Drops over-long words and those that start like no name."""
    names = sorted(
        word for word in set(words) - excluded if len(word) <= _MAX_NAME and word[0] in _FIRST_BYTES
    )
    if not names:
        return ()
    rank = dict.fromkeys(words, -1)  # of dropped words: they sort before all names
    rank.update(zip(names, range(len(names)), strict=True))
    # NumPy sorts 16-bit numbers by counting, which is quicker than by comparing.
    number_type = np.int16 if len(names) < 1 << 15 else np.int32
    groups = np.fromiter(map(rank.__getitem__, words), number_type, len(words))
    order = groups.argsort(kind="stable")
    groups = groups[order]
    bounds = groups.searchsorted(np.arange(len(names) + 1, dtype=number_type))
    lines, columns = map(np.array, source.locate(starts[order[bounds[0] :]].tolist()))
    blobs = _pack_groups(bounds - bounds[0], lines, columns)
    return tuple((name.decode("utf-8", "replace"), blob) for name, blob in zip(names, blobs, strict=True))


def _pack_groups(
    bounds: NDArray[np.int64], lines: NDArray[np.int64], columns: NDArray[np.int64]
) -> list[bytes]:
    """What `postings.pack` gives for each group between two bounds: line steps and columns in turn, as varints."""
    values = np.empty(2 * len(lines), dtype=np.int64)
    values[0] = 0
    np.subtract(lines[1:], lines[:-1], out=values[2::2])
    first = bounds[:-1]
    values[2 * first] = lines[first]  # each group starts with a line, not with a step
    values[1::2] = columns
    if int(values.max()) >= _TWO_BYTES:
        return _pack_slowly(bounds.tolist(), lines.tolist(), columns.tolist())
    wide = values >= _ONE_BYTE
    if not wide.any():
        edges = (bounds * 2).tolist()
        packed = values.astype(np.uint8).tobytes()
    else:
        ends = np.cumsum(wide + 1)  # a wide value takes two bytes
        out = np.empty(int(ends[-1]), dtype=np.uint8)
        out[ends - 1] = np.where(wide, values >> 7, values)  # the last byte of each: the high bits
        out[ends[wide] - 2] = values[wide] & 127 | 128  # before it the low bits, marked "more follows"
        edges = np.concatenate(([0], ends))[bounds * 2].tolist()
        packed = out.tobytes()
    return [packed[begin:end] for begin, end in pairwise(edges)]


def _pack_slowly(bounds: list[int], lines: list[int], columns: list[int]) -> list[bytes]:
    pairs = list(zip(lines, columns, strict=True))
    return [postings.pack(pairs[begin:end]) for begin, end in pairwise(bounds)]
