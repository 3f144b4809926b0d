"""YAML front matter of notes → `Entity` (QU-5).

PyYAML composes the text into nodes and never constructs objects: no tag can run anything, no alias can multiply, and
a date stays text. Malformed or oversized front matter is no error: the file just has no entity.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import NamedTuple

from gitindex.extract.depth import is_too_deep
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
_LOOSE_DATE = re.compile(
    r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[Tt\s]+(\d{1,2}):(\d{2})(?::(\d{2})(\.\d+)?)?\s*(Z|z|[+-]\d{2}:?(?:\d{2})?)?)?"
)


class FrontMatter(NamedTuple):
    text: str
    lines: int  # with both fences


def split_matter(data: bytes) -> FrontMatter | None:
    """The block between the fences at the very start, or None."""
    data = data.removeprefix(_BOM)
    opening = _OPEN.match(data)
    if opening is None:
        return None
    closing = _CLOSE.search(data, opening.end(), opening.end() + MAX_BYTES)
    if closing is None:
        return None
    text = data[opening.end() : closing.start()].decode("utf-8", "replace")
    return FrontMatter(text, data.count(b"\n", 0, closing.start()) + 1)


def read_entity(matter: FrontMatter) -> Entity | None:
    """None when the block is no YAML mapping."""
    fields = _parse_fields(matter.text)
    if fields is None:
        return None
    return Entity(
        topics=_parse_topics(_first_value(fields, "topics", "tags")),
        summary=_clean_text(_first_value(fields, "summary", "description", "title")),
        created_at=to_iso_date(_clean_text(_first_value(fields, "created_at", "date", "created"))),
        session_id=_clean_text(_first_value(fields, "session_id", "session")),
    )


_Value = str | list[str]


def _parse_fields(text: str) -> dict[str, _Value] | None:
    """Top-level keys with scalar values or lists of scalars; everything else is left out."""
    if is_too_deep(text.encode("utf-8", "replace"), _MAX_DEPTH):
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


def _first_value(fields: dict[str, _Value], *names: str) -> _Value:
    return next((fields[name] for name in names if fields.get(name)), "")


def _clean_text(value: _Value) -> str:
    return " ".join(value.split())[:_MAX_TEXT] if isinstance(value, str) else ""


def _parse_topics(value: _Value) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    names = (" ".join(item.split())[:_MAX_TEXT] for item in items)
    return tuple(dict.fromkeys(name for name in names if name))[:MAX_TOPICS]


def to_iso_date(text: str) -> str:
    """ISO-8601 with as much precision as the text has, or "" when it is no date."""
    match = _LOOSE_DATE.fullmatch(text.strip())
    if match is None:
        return ""
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        if hour is None:
            return date(int(year), int(month), int(day)).isoformat()
        clock = f"{int(hour):02}:{minute}:{second or '00'}{(fraction or '')[:7]}"
        offset = _format_offset(zone)
        return datetime.fromisoformat(f"{year}-{int(month):02}-{int(day):02}T{clock}{offset}").isoformat()
    except ValueError:
        return ""


def _format_offset(zone: str | None) -> str:
    if not zone or zone in "Zz":
        return "+00:00" if zone else ""
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return f"{zone[0]}{digits[:2]}:{digits[2:]}"
