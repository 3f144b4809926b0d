"""Reads a SCIP file document by document from a memory map, so memory is bounded by the largest document.

`scan_parts` walks the top level of the file without protobuf: a file that is cut off still gives every complete
document before the cut, with `truncated` set. A document that does not parse is counted in `damaged` and left out.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from gitindex.errors import ExactFactsError
from gitindex.scip import schema

_METADATA, _DOCUMENT, _EXTERNAL = 1, 2, 3
_PATH = 1  # field of a document
_VARINT, _LENGTH_DELIMITED = 0, 2  # wire types
_FIXED_SIZES = {1: 8, 5: 4}  # wire types fixed64 and fixed32
_RELEASE_BYTES = 4 * 1024 * 1024

ByteSpan = tuple[int, int]  # start and end, half-open


class _Part(NamedTuple):
    """One field of a message. `number` is 0 for a field that is not length-delimited: nothing here reads those."""

    number: int
    start: int  # of the value
    end: int


class Tool(NamedTuple):
    name: str
    version: str
    project_root: str
    encoding: int  # text_document_encoding, as stored


@dataclass(frozen=True, slots=True)
class ScipLayout:
    """Where the parts of the file lie."""

    metadata: tuple[ByteSpan, ...]
    documents: tuple[ByteSpan, ...]
    externals: tuple[ByteSpan, ...]
    truncated: bool


def scan_parts(data: bytes | mmap.mmap) -> ScipLayout:
    """Spans of all complete top-level parts, and whether the file ends in the middle of one."""
    spans: dict[int, list[ByteSpan]] = {_METADATA: [], _DOCUMENT: [], _EXTERNAL: []}
    offset, size, truncated = 0, len(data), False
    while offset < size:
        part = _read_part(data, offset, size)
        if part is None:
            truncated = True
            break
        offset = part.end
        if part.number in spans:
            spans[part.number].append((part.start, part.end))
    return ScipLayout(
        tuple(spans[_METADATA]), tuple(spans[_DOCUMENT]), tuple(spans[_EXTERNAL]), truncated=truncated
    )


def _read_part(data: bytes | mmap.mmap, offset: int, size: int) -> _Part | None:
    """The field at `offset`; None when it is cut off or not protobuf. The data ends at `size`."""
    tag, start = _read_varint(data, offset, size)
    number, wire = tag >> 3, tag & 7  # a varint that is cut off is -1: its number is negative
    if number <= 0:
        return None
    if wire == _LENGTH_DELIMITED:
        length, start = _read_varint(data, start, size)
        return _Part(number, start, start + length) if length >= 0 and start + length <= size else None
    if wire == _VARINT:
        value, end = _read_varint(data, start, size)
        return _Part(0, start, end) if value >= 0 else None
    end = start + _FIXED_SIZES.get(wire, size)
    return _Part(0, start, end) if end <= size else None


def _read_varint(data: bytes | mmap.mmap, offset: int, size: int) -> tuple[int, int]:
    """(value, where it ends); the value is -1 for one that is cut off or longer than 64 bits."""
    value = shift = 0
    while offset < size and shift < 64:
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, offset
        shift += 7
    return -1, offset


class IndexFile:
    """One open SCIP file. Use as a context manager; `damaged` grows while documents are read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        try:
            with path.open("rb") as file:
                self._map: bytes | mmap.mmap = (
                    mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
                )
        except OSError as error:
            raise ExactFactsError(f"no readable SCIP file at {path.name}: {error.strerror}") from error
        self.layout = scan_parts(self._map)
        self.truncated = self.layout.truncated
        self._bytes_since_release = _RELEASE_BYTES

    def __enter__(self) -> IndexFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(self._map, mmap.mmap):
            self._map.close()

    def tool(self) -> Tool:
        """Who wrote the file; later metadata parts override earlier ones, as protobuf merges them."""
        message = schema.plain_messages().Metadata()
        for start, end in self.layout.metadata:
            try:
                message.MergeFromString(self._map[start:end])
            except DecodeError:
                self.damaged += 1
        info = message.tool_info
        return Tool(info.name, info.version, message.project_root, message.text_document_encoding)

    def documents(self, messages: Any = None) -> Iterator[Any]:
        """Parsed documents, one at a time, of the plain schema unless `messages` gives other classes."""
        yield from self._parse(self.layout.documents, (messages or schema.plain_messages()).Document)

    def document(self, span: ByteSpan, messages: Any) -> Any:
        """One document by its span; None when it does not parse, which `damaged` counts."""
        return next(self._parse((span,), messages.Document), None)

    def read_path(self, span: ByteSpan) -> bytes:
        """The document's relative path. Parses the whole document only where the path is not its first field."""
        part = _read_part(self._map, *span)
        if part is not None and part.number == _PATH:
            return bytes(self._map[part.start : part.end])
        message = self.document(span, schema.wire_messages())
        return b"" if message is None else bytes(message.relative_path)

    def externals(self, messages: Any = None) -> Iterator[Any]:
        """Symbols of other packages that the tool described."""
        yield from self._parse(self.layout.externals, (messages or schema.plain_messages()).SymbolInformation)

    def _parse(self, spans: tuple[ByteSpan, ...], message: Any) -> Iterator[Any]:
        for start, end in spans:
            try:
                parsed = message.FromString(self._read(start, end))
            except DecodeError:
                self.damaged += 1
                continue
            yield parsed

    def _read(self, start: int, end: int) -> bytes:
        """Releases the mapped pages after every 4 MiB read: they would count as memory of this process."""
        self._bytes_since_release += end - start
        if self._bytes_since_release > _RELEASE_BYTES and isinstance(self._map, mmap.mmap):
            self._map.madvise(mmap.MADV_DONTNEED)
            self._bytes_since_release = 0
        return self._map[start:end]
