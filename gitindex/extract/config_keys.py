"""Keys of TOML and JSON as symbols with dotted paths, the first few hundred of a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gitindex.extract.definition_names import first_named_child
from gitindex.extract.definitions import ParsedDefinition
from gitindex.extract.source_text import SourceText

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_KEYS = 500
SCANNED_BYTES = 256 * 1024  # keys further down are not looked for
_MAX_NAME = 200


def read_keys(source: SourceText, pairs: Iterable[Node], dotted: bool) -> list[ParsedDefinition]:
    """Outer before inner; `dotted`: a dot outside quotes separates the parts of a key."""
    key_nodes = sorted(pairs, key=lambda node: (node.start_byte, -node.end_byte))[:MAX_KEYS]
    rows = source.rows(node.start_byte for node in key_nodes)
    definitions = (
        _make_definition(source, node, row, dotted) for node, row in zip(key_nodes, rows, strict=True)
    )
    return [item for item in definitions if item is not None]


def _make_definition(source: SourceText, pair: Node, row: int, dotted: bool) -> ParsedDefinition | None:
    key = pair.child_by_field_name("key") or first_named_child(pair)
    if key is None or key.end_byte - key.start_byte > _MAX_NAME:
        return None
    text = source.text(key.start_byte, key.end_byte)
    parts = _split_key(text) if dotted else [text.strip().strip("\"'")]
    if not parts or not parts[-1]:
        return None
    start, end = pair.start_byte, pair.end_byte
    end = start + len(source.data[start:end].rstrip())
    signature = " ".join(source.text(start, min(end, start + 240)).partition("\n")[0].split())
    return ParsedDefinition(
        start=start,
        end=end,
        kind="key",
        name=parts[-1],
        owner=".".join(parts[:-1]),
        name_start=key.start_byte,
        signature=signature,
        lead_row=row,
    )


def _split_key(key: str) -> list[str]:
    """The parts of a dotted key; a dot inside quotes belongs to its part."""
    parts: list[str] = []
    quote = word = ""
    for character in key:
        if quote:
            quote = "" if character == quote else quote
            word += "" if not quote else character
        elif character in "\"'":
            quote = character
        elif character == ".":
            parts.append(word)
            word = ""
        else:
            word += character
    parts.append(word)
    return [part.strip() for part in parts if part.strip()]
