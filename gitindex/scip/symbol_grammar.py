"""The grammar of SCIP symbols: `<scheme> <manager> <package> <version> <descriptors>` or `local <id>`.

`parse` is the whole grammar, for people and tests. `tail` answers the one question asked a million times
during an import (what does the last descriptor call itself?) on bytes, without building anything.
Locals are opaque: their ids mean something to the tool that made them and to nobody else.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterable
from typing import NamedTuple

from gitindex.errors import ExactFactsError

OWN_VERSION = b"_"
_SIMPLE = (string.ascii_letters + string.digits + "_+-$").encode()
# Some tools forget the backticks around letters outside ASCII.
_LENIENT = _SIMPLE + bytes(range(128, 256))
_SUFFIXES = {"/": "namespace", "#": "type", ".": "term", ":": "meta", "!": "macro"}


class Descriptor(NamedTuple):
    name: str
    suffix: str  # namespace type term meta macro method type_parameter parameter
    disambiguator: str = ""


class Package(NamedTuple):
    scheme: str
    manager: str
    name: str
    version: str


class GlobalSymbol(NamedTuple):
    package: Package
    descriptors: tuple[Descriptor, ...]


class LocalSymbol(NamedTuple):
    id: str


class Tail(NamedTuple):
    """The last descriptor of a symbol: its name and where it starts and ends within the symbol."""

    name: bytes
    start: int  # everything before is the parent
    end: int  # everything from here is the suffix
    suffix: str


def is_local(symbol: bytes) -> bool:
    return symbol.startswith(b"local ")


def hash64(symbol: bytes) -> int:
    """Identity of a symbol in storage: 64 bits, signed as SQLite stores integers.

    Two of ten million symbols share it with a probability of 3 in a million.
    """
    return int.from_bytes(_digest(symbol), "little", signed=True)


def hash_all(symbols: Iterable[bytes]) -> bytes:
    """`hash64` of each, end to end as arrays hold them: little-endian."""
    return b"".join([_digest(symbol) for symbol in symbols])


def _digest(symbol: bytes) -> bytes:
    return hashlib.blake2b(symbol, digest_size=8).digest()


def parse(symbol: str) -> GlobalSymbol | LocalSymbol:
    """Raises SemanticError for text that is not a symbol."""
    if symbol.startswith("local "):
        return LocalSymbol(symbol[6:])
    fields, at = [], 0
    for _ in range(4):
        text, at = _field(symbol, at)
        fields.append("" if text == "." else text)
    descriptors = []
    while at < len(symbol):
        descriptor, at = _descriptor(symbol, at)
        descriptors.append(descriptor)
    if not descriptors:
        raise ExactFactsError(f"symbol without descriptors: {symbol!r}")
    return GlobalSymbol(Package(*fields), tuple(descriptors))


def _field(symbol: str, at: int) -> tuple[str, int]:
    """One space-terminated field; a doubled space is a space of the field."""
    out = []
    while True:
        end = symbol.find(" ", at)
        if end < 0:
            raise ExactFactsError(f"symbol with too few fields: {symbol!r}")
        out.append(symbol[at:end])
        if symbol[end + 1 : end + 2] != " ":
            return "".join(out), end + 1
        out.append(" ")
        at = end + 2


def _descriptor(symbol: str, at: int) -> tuple[Descriptor, int]:
    if symbol[at] in "([":
        close, kind = (")", "parameter") if symbol[at] == "(" else ("]", "type_parameter")
        name, at = _name(symbol, at + 1)
        if symbol[at : at + 1] != close:
            raise ExactFactsError(f"unclosed descriptor in symbol: {symbol!r}")
        return Descriptor(name, kind), at + 1
    name, at = _name(symbol, at)
    suffix = symbol[at : at + 1]
    if suffix in _SUFFIXES:
        return Descriptor(name, _SUFFIXES[suffix]), at + 1
    end = symbol.find(").", at)
    if suffix != "(" or end < 0:
        raise ExactFactsError(f"descriptor without a suffix in symbol: {symbol!r}")
    return Descriptor(name, "method", symbol[at + 1 : end]), end + 2


def _name(symbol: str, at: int) -> tuple[str, int]:
    if symbol[at : at + 1] != "`":
        end = at
        while end < len(symbol) and (symbol[end].isalnum() or symbol[end] in "_+-$"):
            end += 1
        if end == at:
            raise ExactFactsError(f"descriptor without a name in symbol: {symbol!r}")
        return symbol[at:end], end
    out, at = [], at + 1
    while True:
        end = symbol.find("`", at)
        if end < 0:
            raise ExactFactsError(f"unclosed backtick in symbol: {symbol!r}")
        out.append(symbol[at:end])
        if symbol[end + 1 : end + 2] != "`":
            return "".join(out), end + 1
        out.append("`")
        at = end + 2


def tail(symbol: bytes) -> Tail | None:
    """The last descriptor, read backwards; None for locals and for text outside the grammar."""
    last = symbol[-1:]
    end = len(symbol) - 1
    if is_local(symbol) or not last:
        return None
    if last in (b")", b"]"):
        opening, kind = (b"(", "parameter") if last == b")" else (b"[", "type_parameter")
        name = _tail_name(symbol, end)
        if name is None or symbol[name[1] - 1 : name[1]] != opening:
            return None
        return Tail(name[0], name[1] - 1, end, kind)
    suffix = _SUFFIXES.get(last.decode("ascii", "replace"))
    if suffix == "term" and symbol[-2:-1] == b")":
        suffix, end = "method", symbol.rfind(b"(", 0, end)
    name = _tail_name(symbol, end) if suffix and end > 0 else None
    return Tail(name[0], name[1], end, suffix) if name and suffix else None


def tail_name(symbol: bytes) -> bytes:
    """The name in the last descriptor of a global symbol, b"" outside the grammar: `tail` without the
    rest.
    """
    end = len(symbol) - 1
    last = symbol[-1:]
    if last == b"." and symbol[-2:-1] == b")":
        end = symbol.rfind(b"(")
    if end > 0 and symbol[end - 1] != 96 and last in b"#./:!)":
        start = len(symbol[:end].rstrip(_LENIENT))
        if last != b")" or symbol[start - 1] == 40:
            return symbol[start:end]
    found = tail(symbol)
    return found.name if found else b""


def _tail_name(symbol: bytes, end: int) -> tuple[bytes, int] | None:
    if symbol[end - 1 : end] != b"`":
        start = len(symbol[:end].rstrip(_LENIENT))
        return (symbol[start:end], start) if start < end else None
    start = symbol.rfind(b"`", 0, end - 1)
    while start > 0 and symbol[start - 1 : start] == b"`":
        start = symbol.rfind(b"`", 0, start - 1)
    return (symbol[start + 1 : end - 1].replace(b"``", b"`"), start) if start >= 0 else None


def quote(name: bytes) -> bytes:
    """`name` as a descriptor spells it."""
    if name and not name.strip(_SIMPLE):
        return name
    return b"`" + name.replace(b"`", b"``") + b"`"


def split_version(symbol: bytes) -> tuple[bytes, bytes, bytes] | None:
    """(everything up to the version, version, rest) of a global symbol."""
    if is_local(symbol):
        return None
    at = 0
    for _ in range(3):
        at = _bytes_field_end(symbol, at) + 1
        if at == 0:
            return None
    end = _bytes_field_end(symbol, at)
    return None if end < 0 else (symbol[:at], symbol[at:end], symbol[end:])


def _bytes_field_end(symbol: bytes, at: int) -> int:
    end = symbol.find(b" ", at)
    while end >= 0 and symbol[end + 1 : end + 2] == b" ":
        end = symbol.find(b" ", end + 2)
    return end


def without_version(symbol: bytes) -> bytes:
    """The symbol with its version replaced, so that a release or a commit does not rename everything."""
    parts = split_version(symbol)
    return symbol if parts is None else parts[0] + OWN_VERSION + parts[2]
