"""Help where the words were not found: other spellings from the index, and which filter left nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitindex.search.filekind import KINDS as FILE_KINDS
from gitindex.search.hit import Found
from gitindex.search.lexical import IDENTIFIERS, MAX_TERMS, Words
from gitindex.search.parse import Query, parse
from gitindex.search.request import LONG_QUERY_CHARS, REGEX, SEMANTIC, SYMBOL, Request
from gitindex.search.scope import Scope
from gitindex.view.snapshot import SnapshotView

_MOST = 5
_NAMES = ("names",)


def helped(
    view: SnapshotView, words: Words, request: Request, query: Query, scope: Scope, found: Found
) -> Found:
    """`found`, which is empty, with suggestions and notes."""
    filtered = (*_filter_notes(view, scope), *_text_notes(request, query))
    if filtered:  # where a filter was at fault, the spelling was not
        return replace(found, notes=(*found.notes, *filtered))
    notes = (*found.notes, _reason(view, request, query, scope))
    if request.mode == REGEX:
        return replace(found, notes=notes)
    fields = _NAMES if request.mode == SYMBOL else IDENTIFIERS
    return replace(found, notes=notes, suggestions=_spelled(words, query, fields))


def told_relaxed(query: Query, found: Found) -> Found:
    """`found`, the answer to the words of phrases that nothing has, with a note that says so."""
    phrases = " and ".join(f'"{phrase}"' for phrase in query.phrases)
    note = f"nothing has the phrase {phrases}: its words were searched one by one"
    return replace(found, relaxed=True, notes=(note, *found.notes))


def shortened(request: Request, found: Found) -> Found:
    """`found`, with a note when a pasted text had more words than were searched."""
    if len(request.query) <= LONG_QUERY_CHARS:
        return found
    note = f"the text has {len(request.query):,} characters: its {MAX_TERMS} most telling words were searched"
    return replace(found, notes=(note, *found.notes))


def doubted(words: Words, query: Query, scope: Scope, found: Found) -> Found:
    """`found`, in which nothing has any of the words, with a note that says so and other spellings."""
    where = "no indexed file" if scope.open and not query.conditional else "no file that passes the filters"
    note = f"{where} contains {' or '.join(query.telling[:_MOST])}: these results are only nearest in meaning"
    spelled = _spelled(words, query, _NAMES) or _spelled(words, query, IDENTIFIERS)
    return replace(found, notes=(note, *found.notes), suggestions=spelled)


def warned(view: SnapshotView, scope: Scope, found: Found) -> Found:
    """`found`, with a note on each exclusion that can exclude nothing: perhaps it was misspelled."""
    from gitindex.model.rows import SYMBOL_KINDS  # late: few questions exclude a kind (UI-3)

    notes = [
        *(
            f"-kind:{name} excludes nothing: no kind is called that"
            for name in scope.not_kinds - {*SYMBOL_KINDS}
        ),
        *(
            f"-lang:{name} excludes nothing: no indexed file is {name}"
            for name in scope.not_languages - view.manifest.counts.languages.keys()
        ),
    ]
    return replace(found, notes=(*found.notes, *sorted(notes)))


def _reason(view: SnapshotView, request: Request, query: Query, scope: Scope) -> str:
    """Why an answer is empty, where no filter is known to be at fault (QU-7)."""
    files = (
        f"{view.manifest.counts.files_indexed:,} indexed files"
        if scope.open
        else "the files that pass the filters"
    )
    if request.mode == REGEX:
        return f"no line of {files} matches the pattern"
    if request.mode == SYMBOL:
        return f"nothing that {files} define is called like that"
    if query.conditional:
        return f"no passage of {files} meets all conditions of the query (phrases, -words, prefix*, sym:)"
    return f"{files} contain none of these words"


def _spelled(words: Words, query: Query, fields: Sequence[str]) -> tuple[str, ...]:
    found = [near for word in query.identifiers[:_MOST] for near in words.near(fields, word, _MOST)]
    return tuple(dict.fromkeys(found))[:_MOST]


def _filter_notes(view: SnapshotView, scope: Scope) -> Iterator[str]:
    if scope.paths is not None and not scope.paths:
        yield "no indexed file passes the path, kind, tag, date and session filters"
    known = view.manifest.counts.languages
    for name in sorted((scope.languages or frozenset()) - known.keys()):
        yield f"no indexed file is {name}; there are {', '.join(sorted(known)) or 'none'}"
    yield from _kind_notes(scope)


def _kind_notes(scope: Scope) -> Iterator[str]:
    from gitindex.model.rows import SYMBOL_KINDS  # late: few answers are empty (UI-3)

    for name in sorted((scope.kinds or frozenset()).difference(SYMBOL_KINDS)):
        yield f"no kind is called {name}; symbols: {', '.join(SYMBOL_KINDS)}; files: {', '.join(FILE_KINDS)}"


def _text_notes(request: Request, query: Query) -> Iterator[str]:
    """How the text of the query was taken, where that is not what its filters suggest."""
    if request.mode == REGEX:
        meant = parse(request.query)
        if any(meant.only) or any(meant.without):
            yield (
                "the whole query is the pattern, so path: lang: kind: sym: in it are text; "
                "filter with --glob, --lang or --kind"
            )
    elif (
        request.mode in (SEMANTIC, SYMBOL)
        and not query.text
        and not (request.mode == SYMBOL and query.symbol)
    ):
        yield f"mode {request.mode} needs words, and this query has only filters; --mode hybrid takes them alone"
