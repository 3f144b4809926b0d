"""Help for an empty answer: other spellings from the index, and which filter left nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gitindex.search.hit import Found
from gitindex.search.lexical import IDENTIFIERS, Words
from gitindex.search.parse import Query
from gitindex.search.request import REGEX, SYMBOL, Request
from gitindex.search.scope import Scope
from gitindex.view.snapshot import SnapshotView

_MOST = 5


def helped(
    view: SnapshotView, words: Words, request: Request, query: Query, scope: Scope, found: Found
) -> Found:
    """`found`, which is empty, with suggestions and notes."""
    notes = (*found.notes, *_filter_notes(view, scope))
    if request.mode == REGEX:
        return replace(found, notes=notes)
    fields = ("names",) if request.mode == SYMBOL else IDENTIFIERS
    spelled = [near for word in query.identifiers[:_MOST] for near in words.near(fields, word, _MOST)]
    return replace(found, notes=notes, suggestions=tuple(dict.fromkeys(spelled))[:_MOST])


def _filter_notes(view: SnapshotView, scope: Scope) -> Iterator[str]:
    if scope.paths is not None and not scope.paths:
        yield "no indexed file passes the path, kind, tag, date and session filters"
    known = view.manifest.counts.languages
    for name in sorted((scope.languages or frozenset()) - known.keys()):
        yield f"no indexed file is {name}; there are {', '.join(sorted(known)) or 'none'}"
