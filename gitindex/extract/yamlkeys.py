"""Keys of YAML block mappings as symbols, from a scan of lines.

No grammar: the packaged one crashes the process on a few hundred levels of indentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gitindex.extract.config_keys import MAX_KEYS, SCANNED_BYTES
from gitindex.extract.definitions import ParsedDefinition
from gitindex.extract.source_text import SourceText

_KEY = re.compile(
    rb"([ ]*(?:-[ ]+)*)"
    rb"(?:\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'|([^\s#&*!|>%@`\[\]{},\"'-][^\n#\"'{\[]{0,200}?))"
    rb"[ ]*:(?=\s|$)[ ]*"
)
_BLOCK_SCALAR = re.compile(rb"(?:![^ ]* |&[^ ]* )*[|>][-+0-9]*[ \t]*(?:#.*)?\r?$")
_DOCUMENT = re.compile(rb"(?:---|\.\.\.)(?:\s|$)")
_MAX_LINE = 1000


class _Key(NamedTuple):
    row: int
    column: int  # of the key, which is the indentation of its mapping
    start: int
    name: str
    signature: str


def read_yaml_keys(source: SourceText) -> list[ParsedDefinition]:
    """Outer before inner."""
    named_keys: list[_Key] = []
    ends: list[int] = []
    stack: list[int] = []
    for key in _scan_keys(source):
        while stack and named_keys[stack[-1]].column >= key.column:
            ends[stack.pop()] = source.starts[key.row]
        if not key.name:
            continue
        stack.append(len(named_keys))
        named_keys.append(key)
        ends.append(len(source.data))
        if len(named_keys) == MAX_KEYS:
            break
    return [_make_definition(source, key, end) for key, end in zip(named_keys, ends, strict=True)]


def _make_definition(source: SourceText, key: _Key, end: int) -> ParsedDefinition:
    end = key.start + len(source.data[key.start : max(end, key.start)].rstrip())
    return ParsedDefinition(
        start=key.start,
        end=end,
        kind="key",
        name=key.name,
        name_start=key.start,
        signature=key.signature,
        lead_row=key.row,
    )


def _scan_keys(source: SourceText) -> Iterator[_Key]:
    """Keys in order; a nameless one at column 0 ends a document."""
    scalar = -1  # indentation of the key whose block scalar the line belongs to, -1 outside one
    for row, start in enumerate(source.starts):
        if start > SCANNED_BYTES:
            return
        line = source.data[start : start + _MAX_LINE].split(b"\n", 1)[0]
        if scalar >= 0:
            if not line.strip() or len(line) - len(line.lstrip(b" ")) > scalar:
                continue
            scalar = -1
        if _DOCUMENT.match(line):
            yield _Key(row, 0, start, "", "")
            continue
        match = _KEY.match(line)
        if match is None:
            continue
        column = len(match[1])
        if _BLOCK_SCALAR.match(line, match.end()):
            scalar = column
        name = (match[2] or match[3] or match[4]).decode("utf-8", "replace").strip()
        signature = " ".join(line[column:].decode("utf-8", "replace").split())[:240]
        yield _Key(row, column, start + column, name, signature)
