"""YAML front matter of notes → `Entity` (QU-5).

The text is composed into nodes, never constructed into objects: no tag can run anything, no alias can multiply,
and a date arrives as written. Malformed or oversized front matter is no error: the file just has no entity.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import NamedTuple

from gitindex.extract.depth import too_deep
from gitindex.model.rows import Entity

LANGUAGES = frozenset({"markdown", "mdx", "text", "rst", "asciidoc", "org", "html"})
MAX_BYTES = 16 * 1024
MAX_TOPICS = 64
_MAX_TEXT = 500
_MAX_DEPTH = 64  # of brackets: PyYAML takes quadratic time on them
_BOM = b"\xef\xbb\xbf"
_OPEN = re.compile(rb"---[ \t]*\r?\n")
_CLOSE = re.compile(rb"^(?:---|\.\.\.)[ \t]*\r?$", re.M)
# `2024-5-6 7:08 +0200` and relatives, which ISO-8601 would spell with zeros and without blanks.
_LOOSE = re.compile(
    r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[Tt\s]+(\d{1,2}):(\d{2})(?::(\d{2})(\.\d+)?)?\s*(Z|z|[+-]\d{2}:?(?:\d{2})?)?)?"
)


class Matter(NamedTuple):
    text: str
    lines: int  # with both fences


def split(data: bytes) -> Matter | None:
    """The block between the fences at the very start, or None."""
    data = data.removeprefix(_BOM)
    opened = _OPEN.match(data)
    if opened is None:
        return None
    closed = _CLOSE.search(data, opened.end(), opened.end() + MAX_BYTES)
    if closed is None:
        return None
    text = data[opened.end() : closed.start()].decode("utf-8", "replace")
    return Matter(text, data.count(b"\n", 0, closed.start()) + 1)


def entity(matter: Matter) -> Entity | None:
    """None when the block is no YAML mapping."""
    fields = _fields(matter.text)
    if fields is None:
        return None
    return Entity(
        topics=_topics(_first(fields, "topics", "tags")),
        summary=_text(_first(fields, "summary", "description", "title")),
        created_at=iso_date(_text(_first(fields, "created_at", "date", "created"))),
        session_id=_text(_first(fields, "session_id", "session")),
    )


_Value = str | list[str]


def _fields(text: str) -> dict[str, _Value] | None:
    """Top-level keys with scalar values or lists of scalars; everything else is left out."""
    if too_deep(text.encode("utf-8", "replace"), _MAX_DEPTH):
        return None
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    if not isinstance(root, yaml.MappingNode):
        return None
    fields: dict[str, _Value] = {}
    for key, value in root.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        name = key.value.strip().lower()
        if isinstance(value, yaml.ScalarNode):
            fields.setdefault(name, "" if value.tag.endswith(":null") else value.value)
        elif isinstance(value, yaml.SequenceNode):
            fields.setdefault(name, [item.value for item in value.value if isinstance(item, yaml.ScalarNode)])
    return fields


def _first(fields: dict[str, _Value], *names: str) -> _Value:
    return next((fields[name] for name in names if fields.get(name)), "")


def _text(value: _Value) -> str:
    return " ".join(value.split())[:_MAX_TEXT] if isinstance(value, str) else ""


def _topics(value: _Value) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    names = (" ".join(item.split())[:_MAX_TEXT] for item in items)
    return tuple(dict.fromkeys(name for name in names if name))[:MAX_TOPICS]


def iso_date(text: str) -> str:
    """ISO-8601 with what the text says and no more, or "" when it is no date."""
    match = _LOOSE.fullmatch(text.strip())
    if match is None:
        return ""
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        if hour is None:
            return date(int(year), int(month), int(day)).isoformat()
        clock = f"{int(hour):02}:{minute}:{second or '00'}{(fraction or '')[:7]}"
        offset = _offset(zone)
        return datetime.fromisoformat(f"{year}-{int(month):02}-{int(day):02}T{clock}{offset}").isoformat()
    except ValueError:
        return ""


def _offset(zone: str | None) -> str:
    if not zone or zone in "Zz":
        return "+00:00" if zone else ""
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return f"{zone[0]}{digits[:2]}:{digits[2:]}"
