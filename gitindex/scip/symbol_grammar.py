"""The grammar of SCIP symbols: `<scheme> <manager> <package> <version> <descriptors>` or `local <id>`.

`parse` reads the whole grammar. An import asks millions of times for the last descriptor alone: `parse_last_descriptor`
and `parse_last_name` read it backwards from the bytes. Ids of locals are opaque: only the tool that made them can
interpret them.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Iterable
from typing import NamedTuple

from gitindex.errors import ExactFactsError

OWN_VERSION = b"_"
_BACKTICK, _OPENING_PARENTHESIS = b"`("
_SIMPLE_BYTES = (string.ascii_letters + string.digits + "_+-$").encode()
# Some tools forget the backticks around letters outside ASCII.
_LENIENT_BYTES = _SIMPLE_BYTES + bytes(range(128, 256))
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


class _Name(NamedTuple):
    name: bytes
    start: int  # of its text within the symbol, a backtick included


class SplitSymbol(NamedTuple):
    """The parts of a global symbol; joined they are the symbol."""

    package: bytes  # scheme, manager, name, and the space before the version
    version: bytes
    rest: bytes  # a space, then the descriptors


class LastDescriptor(NamedTuple):
    """The last descriptor of a symbol: its name and where it starts and ends within the symbol."""

    name: bytes
    start: int  # the text before it is the parent symbol
    end: int  # the text from here on is the suffix
    suffix: str


def is_local(symbol: bytes) -> bool:
    return symbol.startswith(b"local ")


def hash64(symbol: bytes) -> int:
    """Identity of a symbol in storage: 64 bits, signed as SQLite stores integers.

    Two of ten million symbols share it with a probability of 3 in a million.
    """
    return int.from_bytes(_hash_bytes(symbol), "little", signed=True)


def hash_all(symbols: Iterable[bytes]) -> bytes:
    """`hash64` of each, end to end, as little-endian int64 for an array."""
    return b"".join([_hash_bytes(symbol) for symbol in symbols])


def _hash_bytes(symbol: bytes) -> bytes:
    return hashlib.blake2b(symbol, digest_size=8).digest()


def parse(symbol: str) -> GlobalSymbol | LocalSymbol:
    """Raises ExactFactsError for text that is not a symbol."""
    if symbol.startswith("local "):
        return LocalSymbol(symbol[6:])
    fields, offset = [], 0
    for _ in range(4):
        text, offset = _parse_field(symbol, offset)
        fields.append("" if text == "." else text)
    descriptors = []
    while offset < len(symbol):
        descriptor, offset = _parse_descriptor(symbol, offset)
        descriptors.append(descriptor)
    if not descriptors:
        raise ExactFactsError(f"symbol without descriptors: {symbol!r}")
    return GlobalSymbol(Package(*fields), tuple(descriptors))


def _parse_field(symbol: str, offset: int) -> tuple[str, int]:
    """One space-terminated field; a doubled space is a space of the field."""
    parts = []
    while True:
        end = symbol.find(" ", offset)
        if end < 0:
            raise ExactFactsError(f"symbol with too few fields: {symbol!r}")
        parts.append(symbol[offset:end])
        if symbol[end + 1 : end + 2] != " ":
            return "".join(parts), end + 1
        parts.append(" ")
        offset = end + 2


def _parse_descriptor(symbol: str, offset: int) -> tuple[Descriptor, int]:
    if symbol[offset] in "([":
        close, kind = (")", "parameter") if symbol[offset] == "(" else ("]", "type_parameter")
        name, offset = _parse_name(symbol, offset + 1)
        if symbol[offset : offset + 1] != close:
            raise ExactFactsError(f"unclosed descriptor in symbol: {symbol!r}")
        return Descriptor(name, kind), offset + 1
    name, offset = _parse_name(symbol, offset)
    suffix = symbol[offset : offset + 1]
    if suffix in _SUFFIXES:
        return Descriptor(name, _SUFFIXES[suffix]), offset + 1
    end = symbol.find(").", offset)
    if suffix != "(" or end < 0:
        raise ExactFactsError(f"descriptor without a suffix in symbol: {symbol!r}")
    return Descriptor(name, "method", symbol[offset + 1 : end]), end + 2


def _parse_name(symbol: str, offset: int) -> tuple[str, int]:
    if symbol[offset : offset + 1] != "`":
        end = offset
        while end < len(symbol) and (symbol[end].isalnum() or symbol[end] in "_+-$"):
            end += 1
        if end == offset:
            raise ExactFactsError(f"descriptor without a name in symbol: {symbol!r}")
        return symbol[offset:end], end
    parts, offset = [], offset + 1
    while True:
        end = symbol.find("`", offset)
        if end < 0:
            raise ExactFactsError(f"unclosed backtick in symbol: {symbol!r}")
        parts.append(symbol[offset:end])
        if symbol[end + 1 : end + 2] != "`":
            return "".join(parts), end + 1
        parts.append("`")
        offset = end + 2


def parse_last_descriptor(symbol: bytes) -> LastDescriptor | None:
    """The last descriptor, read backwards; None for locals and for text outside the grammar."""
    last_byte = symbol[-1:]
    end = len(symbol) - 1
    if is_local(symbol) or not last_byte:
        return None
    if last_byte in (b")", b"]"):
        opening, kind = (b"(", "parameter") if last_byte == b")" else (b"[", "type_parameter")
        name = _parse_name_before(symbol, end)
        if name is None or symbol[name.start - 1 : name.start] != opening:
            return None
        return LastDescriptor(name.name, name.start - 1, end, kind)
    suffix = _SUFFIXES.get(last_byte.decode("ascii", "replace"))
    if suffix == "term" and symbol[-2:-1] == b")":
        suffix, end = "method", symbol.rfind(b"(", 0, end)
    name = _parse_name_before(symbol, end) if suffix and end > 0 else None
    return LastDescriptor(name.name, name.start, end, suffix) if name and suffix else None


def parse_last_name(symbol: bytes) -> bytes:
    """The name in the last descriptor of a global symbol, b"" outside the grammar.

    The same name as that of `parse_last_descriptor`. Plain names take a short cut, because an import asks for the name
    of every symbol.
    """
    end = len(symbol) - 1
    last_byte = symbol[-1:]
    if last_byte == b"." and symbol[-2:-1] == b")":
        end = symbol.rfind(b"(")
    if end > 0 and symbol[end - 1] != _BACKTICK and last_byte in b"#./:!)":
        start = len(symbol[:end].rstrip(_LENIENT_BYTES))
        if last_byte != b")" or symbol[start - 1] == _OPENING_PARENTHESIS:
            return symbol[start:end]
    descriptor = parse_last_descriptor(symbol)
    return descriptor.name if descriptor else b""


def _parse_name_before(symbol: bytes, end: int) -> _Name | None:
    """The name that ends at `end`."""
    if symbol[end - 1 : end] != b"`":
        start = len(symbol[:end].rstrip(_LENIENT_BYTES))
        return _Name(symbol[start:end], start) if start < end else None
    start = symbol.rfind(b"`", 0, end - 1)
    while start > 0 and symbol[start - 1 : start] == b"`":  # a doubled backtick is part of the name
        start = symbol.rfind(b"`", 0, start - 1)
    return _Name(symbol[start + 1 : end - 1].replace(b"``", b"`"), start) if start >= 0 else None


def quote(name: bytes) -> bytes:
    """`name` as a descriptor writes it: in backticks unless it is plain."""
    if name and not name.strip(_SIMPLE_BYTES):
        return name
    return b"`" + name.replace(b"`", b"``") + b"`"


def split_version(symbol: bytes) -> SplitSymbol | None:
    """Cut a global symbol at its version; None for locals and for text outside the grammar."""
    if is_local(symbol):
        return None
    offset = 0
    for _ in range(3):
        offset = _find_field_end(symbol, offset) + 1
        if offset == 0:
            return None
    end = _find_field_end(symbol, offset)
    return None if end < 0 else SplitSymbol(symbol[:offset], symbol[offset:end], symbol[end:])


def _find_field_end(symbol: bytes, offset: int) -> int:
    """Where the space that ends the field at `offset` is, -1 without one; doubled spaces belong to the field."""
    end = symbol.find(b" ", offset)
    while end >= 0 and symbol[end + 1 : end + 2] == b" ":
        end = symbol.find(b" ", end + 2)
    return end


def replace_version(symbol: bytes) -> bytes:
    """The symbol with `OWN_VERSION` as its version, so that a new release or commit does not rename every symbol."""
    parts = split_version(symbol)
    return symbol if parts is None else parts.package + OWN_VERSION + parts.rest
