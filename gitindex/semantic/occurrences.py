"""Occurrences from the bytes of their messages, most of them without parsing.

Indexers write the range first, and what follows it (symbol, roles) repeats for every use of a symbol. So a
message is cut behind its range, and only a rest never seen before goes through protobuf; an `entry` is such
a rest by number. Messages in any other shape are parsed whole: slower, same result.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from gitindex.scip import schema
from gitindex.scip.ranges import Ints, Ranges, decode_all
from gitindex.semantic.interning import Interner

_RANGE_FIRST = 10  # the tag of field 1, length-delimited
_SYMBOL_FIRST = 18


class _Typed(NamedTuple):
    single: bytes
    multi: bytes


class _Ending(NamedTuple):
    """What follows the symbol, parsed; `symbol` when it was not at the front."""

    symbol: bytes
    roles: int
    typed: _Typed | None = None
    plain: list[int] | None = None
    around: tuple[bytes, bytes, bytes] | None = None
    special: bool = False


class _Entries(dict[bytes, int]):
    def __init__(self, owner: Occurrences) -> None:
        super().__init__()
        self._owner = owner

    def __missing__(self, rest: bytes) -> int:
        number, repeats = self._owner.read(rest)
        if repeats:
            self[rest] = number
        return number


class Occurrences:
    def __init__(self, interner: Interner) -> None:
        self._interner = interner
        self._entries = _Entries(self)
        self._ids = array("i")
        self._roles = array("i")
        self._typed: dict[int, _Typed] = {}  # entries with a range of their own inside the rest
        self._plain: dict[int, list[int]] = {}
        self._around: dict[int, tuple[bytes, bytes, bytes]] = {}  # enclosing ranges of definitions
        self._endings: dict[bytes, _Ending] = {}
        self._message = schema.raw().Occurrence

    def split(self, messages: list[bytes]) -> tuple[list[bytes], Ints]:
        """Packed ranges (b"" where there is none at the front) and entries."""
        packed = [raw[2 : 2 + raw[1]] if raw[0] == _RANGE_FIRST else b"" for raw in messages]
        rests = [raw[2 + raw[1] :] if raw[0] == _RANGE_FIRST else raw for raw in messages]
        entries = np.fromiter(map(self._entries.__getitem__, rests), dtype=np.int64, count=len(rests))
        return packed, entries

    def read(self, rest: bytes) -> tuple[int, bool]:
        """A new entry, and whether the same rest may come again."""
        number = len(self._ids)
        symbol, ending = _cut(rest)
        known = self._endings.get(ending)
        if known is None:
            known = self._endings[ending] = self._parse(ending)
        self._ids.append(self._interner.ids[symbol or known.symbol])
        self._roles.append(known.roles)
        if known.special:
            if known.typed:
                self._typed[number] = known.typed
            if known.plain:
                self._plain[number] = known.plain
            if known.around:
                self._around[number] = known.around
        return number, not (known.typed or known.plain)

    def _parse(self, ending: bytes) -> _Ending:
        try:
            message = self._message.FromString(ending)
        except DecodeError:
            return _Ending(b"", 0)  # without a symbol: dropped
        roles = message.symbol_roles & 127
        single, multi = message.single_line_range, message.multi_line_range
        typed = _Typed(single, multi) if single or multi else None
        # Separate integers instead of a packed range: valid, though no indexer writes them.
        plain = list(schema.plain().Occurrence.FromString(ending).range) if ending[:1] == b"\x08" else None
        around = None
        if (
            roles & schema.DEFINITION
        ):  # on references rust-analyzer means something else by an enclosing range
            parts = (
                message.enclosing_range,
                message.single_line_enclosing_range,
                message.multi_line_enclosing_range,
            )
            around = parts if any(parts) else None
        return _Ending(message.symbol, roles, typed, plain, around, special=bool(typed or plain or around))

    def columns(self, entries: Ints) -> tuple[npt.NDArray[np.int32], Ints]:
        """Interned symbols and roles."""
        ids = np.array(self._ids, dtype=np.int32)[entries]
        return ids, np.array(self._roles, dtype=np.int64)[entries]

    def ranges(self, packed: list[bytes], entries: Ints) -> Ranges:
        if not self._typed and not self._plain:
            empty = [b""] * len(packed)
            return decode_all(packed, empty, empty)
        found = [self._typed.get(entry, _Typed(b"", b"")) for entry in entries.tolist()]
        ranges = decode_all(packed, [typed.single for typed in found], [typed.multi for typed in found])
        for at, entry in enumerate(entries.tolist()) if self._plain else ():
            _set(ranges, at, self._plain.get(entry, []))
        return ranges

    def enclosing(self, entries: Ints) -> tuple[Ranges, npt.NDArray[np.bool_]]:
        """Enclosing ranges, and where there is one."""
        none = (b"", b"", b"")
        found = [self._around.get(entry, none) for entry in entries.tolist()]
        given = np.fromiter(map(any, found), dtype=np.bool_, count=len(found))
        packed, single, multi = ([part[i] for part in found] for i in range(3))
        return decode_all(packed, single, multi), given


def _cut(rest: bytes) -> tuple[bytes, bytes]:
    """A leading symbol field and what follows it; (b"", everything) in any other shape."""
    if len(rest) < 3 or rest[0] != _SYMBOL_FIRST:
        return b"", rest
    size, at = rest[1], 2
    if size > 127:
        size, at = size & 127 | rest[2] << 7, 3
        if rest[2] > 127:
            return b"", rest
    return rest[at : at + size], rest[at + size :]


def _set(ranges: Ranges, at: int, values: list[int]) -> None:
    if len(values) in (3, 4):
        line, column, *end = values
        for target, value in zip(
            ranges, (line, column, *(end if len(end) == 2 else (line, *end))), strict=True
        ):
            target[at] = value
