"""Notes by tag, date and session (QU-5): front matter narrows, text search runs only among what is left.

FTS5 (or LIKE, where SQLite or a segment has no FTS5) only proposes; the decision is made here on the values, so
both ways give the same answer. A note without a date matches no date range. Candidates must still exist.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple

from gitindex.errors import UsageError
from gitindex.model.rows import Entity
from gitindex.search.request import Request
from gitindex.view.snapshot import SnapshotView

_SELECT = "SELECT f.path, e.topics, e.summary, e.created_at, e.session_id FROM entity e JOIN file f ON f.id = e.file "
_BY_WORD = _SELECT + "JOIN entity_fts t ON t.rowid = e.file WHERE entity_fts MATCH :match"
_LIKE = _SELECT + "WHERE e.topics LIKE :like"
_DATED = _SELECT + "WHERE e.created_at != ''"
_SESSION = _SELECT + "WHERE e.session_id = ?"
_PLAIN = re.compile(r"[A-Za-z0-9]+(?:[ _-][A-Za-z0-9]+)*")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?)?")


class Note(NamedTuple):
    path: str
    entity: Entity


class DateRange(NamedTuple):
    since: date | datetime | None = None
    until: date | datetime | None = None


def parse_date_range(request: Request) -> DateRange:
    """Raises UsageError for anything that is no ISO-8601 date or moment."""
    return DateRange(_parse_moment("since", request.since), _parse_moment("until", request.until))


def find_notes(view: SnapshotView, root: Path, request: Request) -> list[Note]:
    """Every note that meets all filters and still exists, newest first, then by path."""
    test = make_matcher(request)
    found = (note for note in _select_notes(view, request) if test(note.entity))
    return sort_notes(note for note in found if os.path.lexists(root / note.path))


def make_matcher(request: Request) -> Callable[[Entity], bool]:
    """All tags, the date range and the session must hold."""
    span = parse_date_range(request)
    tags = [_normalize_tag(tag) for tag in request.tags]

    def matches(entity: Entity) -> bool:
        have = {_normalize_tag(topic) for topic in entity.topics}
        return (
            all(tag in have for tag in tags)
            and (not request.session or entity.session_id == request.session)
            and (span == DateRange() or is_within(entity.created_at, span))
        )

    return matches


def sort_notes(unsorted: Iterable[Note]) -> list[Note]:
    by_path = sorted(unsorted, key=lambda note: note.path)
    return sorted(by_path, key=lambda note: note.entity.created_at, reverse=True)


def is_within(created: str, span: DateRange) -> bool:
    """A bound that is a day is compared with the day as written; a moment is compared with the moment."""
    if not created:
        return False
    return (span.since is None or _is_at_least(created, span.since)) and (
        span.until is None or _is_at_most(created, span.until)
    )


def _select_notes(view: SnapshotView, request: Request) -> list[Note]:
    """A superset of the answer, by the cheapest filter."""
    if request.session:
        rows = view.select(_SESSION, (request.session,))
    elif plain := [tag for tag in map(_normalize_tag, request.tags) if _PLAIN.fullmatch(tag)]:
        parameters = {"match": f'topics : "{plain[0]}"', "like": f"%{plain[0].replace('_', '!_')}%"}
        rows = view.select_with_fallback(_BY_WORD, f"{_LIKE} ESCAPE '!'", parameters)
    else:
        rows = view.select(_SELECT if request.tags else _DATED)
    return [
        Note(row.path, Entity(tuple(json.loads(row.values[0])), *map(str, row.values[1:]))) for row in rows
    ]


def _normalize_tag(text: str) -> str:
    return " ".join(text.casefold().split()).lstrip("#")


def _parse_moment(name: str, text: str) -> date | datetime | None:
    if not text:
        return None
    try:
        if not _DATE.fullmatch(text):
            raise ValueError(text)
        return date.fromisoformat(text) if len(text) == 10 else _assume_utc(datetime.fromisoformat(text))
    except ValueError:
        raise UsageError(
            f"--{name} {text!r} is no ISO-8601 date",
            hint=f"--{name} 2024-05-31 or --{name} 2024-05-31T12:00:00Z",
        ) from None


def _is_at_least(created: str, bound: date | datetime) -> bool:
    return (
        _parse_created(created) >= bound if isinstance(bound, datetime) else created[:10] >= bound.isoformat()
    )


def _is_at_most(created: str, bound: date | datetime) -> bool:
    return (
        _parse_created(created) <= bound if isinstance(bound, datetime) else created[:10] <= bound.isoformat()
    )


def _parse_created(created: str) -> datetime:
    return _assume_utc(datetime.fromisoformat(created))


def _assume_utc(moment: datetime) -> datetime:
    """A moment without a zone is taken as UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
