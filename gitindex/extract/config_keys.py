"""Keys of TOML and JSON as symbols with dotted paths, the first few hundred of a file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gitindex.extract.definition_names import first_named
from gitindex.extract.definitions import Definition
from gitindex.extract.source_text import Source

if TYPE_CHECKING:
    from tree_sitter import Node

MOST_KEYS = 500
SCANNED_BYTES = 256 * 1024  # keys further down are not looked for
_MAX_NAME = 200


def keys(source: Source, pairs: Iterable[Node], dotted: bool) -> list[Definition]:
    """Outer before inner; `dotted`: a bare dot parts a key."""
    found = sorted(pairs, key=lambda node: (node.start_byte, -node.end_byte))[:MOST_KEYS]
    rows = source.rows(node.start_byte for node in found)
    made = (_definition(source, node, row, dotted) for node, row in zip(found, rows, strict=True))
    return [item for item in made if item is not None]


def _definition(source: Source, pair: Node, row: int, dotted: bool) -> Definition | None:
    key = pair.child_by_field_name("key") or first_named(pair)
    if key is None or key.end_byte - key.start_byte > _MAX_NAME:
        return None
    text = source.text(key.start_byte, key.end_byte)
    parts = _parts(text) if dotted else [text.strip().strip("\"'")]
    if not parts or not parts[-1]:
        return None
    start, end = pair.start_byte, pair.end_byte
    end = start + len(source.data[start:end].rstrip())
    signature = " ".join(source.text(start, min(end, start + 240)).partition("\n")[0].split())
    return Definition(
        start, end, "key", parts[-1], ".".join(parts[:-1]), key.start_byte, signature, "", row, True
    )


def _parts(key: str) -> list[str]:
    """The segments of a key; dots inside quotes do not part it."""
    parts: list[str] = []
    quote = word = ""
    for sign in key:
        if quote:
            quote = "" if sign == quote else quote
            word += "" if not quote else sign
        elif sign in "\"'":
            quote = sign
        elif sign == ".":
            parts.append(word)
            word = ""
        else:
            word += sign
    parts.append(word)
    return [part.strip() for part in parts if part.strip()]
