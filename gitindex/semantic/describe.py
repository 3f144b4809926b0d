"""Hover text, kinds and relationships of one document's symbols. Pure.

An import stores millions of descriptions and few are ever shown. They therefore stay in protobuf form, without
their symbols, which have a table (`serialize_descriptions`); `parse_descriptions` reads them on request.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from gitindex.scip import schema, symbol_grammar
from gitindex.scip.kinds import kind_of

MAX_SIGNATURE = 1000
MAX_DOCUMENTATION = 4000
_MAX_EXTERNAL_DOCUMENTATION = 600
REFERENCE, IMPLEMENTATION, TYPE_DEFINITION, DEFINITION = 1, 2, 4, 8

_FENCE = re.compile(rb"^```[^\n]*\n(.*?)\n?```[ \t]*(?:\n|$)", re.DOTALL | re.MULTILINE)


class Description(NamedTuple):
    kind: str
    name: str
    signature: str
    documentation: str


def pack_external(description: Description) -> bytes:
    """The stored form of a description of another package's symbol; its documentation is cut."""
    documentation = description.documentation[:_MAX_EXTERNAL_DOCUMENTATION]
    return "\0".join(description._replace(documentation=documentation)).encode()


def unpack_external(stored: bytes) -> Description:
    return Description(*stored.decode("utf-8", "replace").split("\0", 3))


def describe(symbol: bytes, info: Any) -> Description:
    """`info` is the indexer's message about the symbol, or None: then the symbol's own text must do."""
    last_descriptor = symbol_grammar.parse_last_descriptor(symbol)
    name = last_descriptor.name if last_descriptor else b""
    if info is None:
        return Description(kind_of(0, symbol, last_descriptor), name.decode("utf-8", "replace"), "", "")
    display_name = (info.display_name or name).decode("utf-8", "replace")
    return Description(kind_of(info.kind, symbol, last_descriptor), display_name, *extract_hover(info))


def extract_hover(info: Any) -> tuple[str, str]:
    """(signature, documentation). Tools that set no signature put it into the first fenced block."""
    parts = list(info.documentation)
    signature = info.signature_documentation.text if info.HasField("signature_documentation") else b""
    if not signature:
        for index, part in enumerate(parts):
            fenced = _FENCE.search(part) if b"```" in part else None
            if fenced:
                signature = fenced[1]
                parts[index] = part[: fenced.start()] + part[fenced.end() :]
                break
    text = b"\n\n".join(part.strip() for part in parts if part.strip())
    return _truncate(signature.strip(), MAX_SIGNATURE), _truncate(text, MAX_DOCUMENTATION)


class Relationship(NamedTuple):
    target: bytes
    flags: int  # REFERENCE | IMPLEMENTATION | TYPE_DEFINITION | DEFINITION


def list_relationships(info: Any) -> list[Relationship]:
    """A symbol's relationships to global symbols."""
    return [
        Relationship(link.symbol, _relationship_flags(link))
        for link in info.relationships
        if not symbol_grammar.is_local(link.symbol)
    ]


def _relationship_flags(link: Any) -> int:
    return int(
        REFERENCE * link.is_reference
        | IMPLEMENTATION * link.is_implementation
        | TYPE_DEFINITION * link.is_type_definition
        | DEFINITION * link.is_definition
    )


def serialize_descriptions(message: Any) -> bytes:
    """The descriptions of a document message, in order, without everything else. Changes the message."""
    for name in ("occurrences", "relative_path", "text", "language"):
        message.ClearField(name)
    for info in message.symbols:
        info.ClearField("symbol")
    return bytes(message.SerializeToString())


def parse_descriptions(blob: bytes) -> list[Any]:
    """The descriptions that `serialize_descriptions` wrote; `describe` turns one of them into text."""
    return list(schema.raw_messages().Document.FromString(blob).symbols)


def _truncate(text: bytes, limit: int) -> str:
    return text.decode("utf-8", "replace")[:limit]
