"""Reads a SCIP file document by document from a memory map, so memory is bounded by the largest document.

The top level is walked by hand: a file cut off mid-way still gives every complete document before the cut,
with `truncated` set. A document that does not parse is counted in `damaged` and left out.
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
_LENGTH_DELIMITED = 2
_RELEASE_BYTES = 4 * 1024 * 1024
_FIXED_SIZES = {1: 8, 5: 4}  # fixed64, fixed32


class Tool(NamedTuple):
    name: str
    version: str
    project_root: str
    encoding: int  # text_document_encoding, as stored


@dataclass(frozen=True, slots=True)
class ScipLayout:
    """Where the parts of the file lie; half-open byte spans."""

    metadata: tuple[tuple[int, int], ...]
    documents: tuple[tuple[int, int], ...]
    externals: tuple[tuple[int, int], ...]
    truncated: bool


def scan_parts(data: bytes | mmap.mmap) -> ScipLayout:
    """Spans of all complete top-level parts, and whether the file ends in the middle of one."""
    spans: dict[int, list[tuple[int, int]]] = {_METADATA: [], _DOCUMENT: [], _EXTERNAL: []}
    offset, size, truncated = 0, len(data), False
    while offset < size:
        part = _read_part(data, offset, size)
        if part is None:
            truncated = True
            break
        number, start, offset = part
        if number in spans:
            spans[number].append((start, offset))
    return ScipLayout(
        tuple(spans[_METADATA]), tuple(spans[_DOCUMENT]), tuple(spans[_EXTERNAL]), truncated=truncated
    )


def _read_part(data: bytes | mmap.mmap, offset: int, size: int) -> tuple[int, int, int] | None:
    """(field number, start, end) of the part at `offset`; None when it is cut off or not protobuf."""
    tag = _read_varint(data, offset, size)
    if tag is None:
        return None
    number, wire, offset = tag[0] >> 3, tag[0] & 7, tag[1]
    if number == 0:
        return None
    if wire == _LENGTH_DELIMITED:
        length = _read_varint(data, offset, size)
        if length is None or length[1] + length[0] > size:
            return None
        return number, length[1], length[1] + length[0]
    if wire == 0:
        value = _read_varint(data, offset, size)
        return None if value is None else (0, offset, value[1])
    end = offset + _FIXED_SIZES.get(wire, size)
    return (0, offset, end) if end <= size else None


def _read_varint(data: bytes | mmap.mmap, offset: int, size: int) -> tuple[int, int] | None:
    value = shift = 0
    while offset < size and shift < 64:
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, offset
        shift += 7
    return None


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
        """Parsed documents, one at a time, of the plain schema unless another rendering is given."""
        yield from self._parse(self.layout.documents, (messages or schema.plain_messages()).Document)

    def document(self, span: tuple[int, int], messages: Any) -> Any:
        """One document by its span; None, and one more damaged, when it does not parse."""
        return next(self._parse((span,), messages.Document), None)

    def read_path(self, span: tuple[int, int]) -> bytes:
        """The path a document gives itself, without reading more of it where the path comes first."""
        part = _read_part(self._map, *span)
        if part is not None and part[0] == 1:
            return bytes(self._map[part[1] : part[2]])
        message = self.document(span, schema.wire_messages())
        return b"" if message is None else bytes(message.relative_path)

    def externals(self, messages: Any = None) -> Iterator[Any]:
        """Symbols of other packages that the tool described."""
        yield from self._parse(self.layout.externals, (messages or schema.plain_messages()).SymbolInformation)

    def _parse(self, spans: tuple[tuple[int, int], ...], message: Any) -> Iterator[Any]:
        for start, end in spans:
            try:
                parsed = message.FromString(self._read(start, end))
            except DecodeError:
                self.damaged += 1
                continue
            yield parsed

    def _read(self, start: int, end: int) -> bytes:
        """Pages once read would stay in this process's memory: now and then all are given back."""
        self._bytes_since_release += end - start
        if self._bytes_since_release > _RELEASE_BYTES and isinstance(self._map, mmap.mmap):
            self._map.madvise(mmap.MADV_DONTNEED)
            self._bytes_since_release = 0
        return self._map[start:end]
