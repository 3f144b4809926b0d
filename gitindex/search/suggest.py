"""Help where the words were not found: other spellings from the index, and which filter left nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitindex.search.filekind import KINDS as FILE_KINDS
from gitindex.search.hit import SearchAnswer
from gitindex.search.lexical import IDENTIFIERS, MAX_TERMS, LexicalSearcher
from gitindex.search.parse import Query, parse
from gitindex.search.request import LONG_QUERY_CHARS, REGEX, SEMANTIC, SYMBOL, Request
from gitindex.search.scope import SearchScope
from gitindex.view.snapshot import SnapshotView

_MOST = 5
_NAMES = ("names",)


def add_suggestions(
    view: SnapshotView,
    lexical: LexicalSearcher,
    request: Request,
    query: Query,
    scope: SearchScope,
    answer: SearchAnswer,
) -> SearchAnswer:
    """`answer`, which is empty, with suggestions and notes."""
    filtered = (*_filter_remarks(view, scope), *_text_remarks(request, query))
    if filtered:  # where a filter was at fault, the spelling was not
        return replace(answer, notes=(*answer.notes, *filtered))
    notes = (*answer.notes, _reason(view, request, query, scope))
    if request.mode == REGEX:
        return replace(answer, notes=notes)
    fields = _NAMES if request.mode == SYMBOL else IDENTIFIERS
    return replace(answer, notes=notes, suggestions=_find_spellings(lexical, query, fields))


def add_relaxed_remark(query: Query, found: SearchAnswer) -> SearchAnswer:
    """`found`, the answer to the words of phrases that nothing has, with a note that says so."""
    phrases = " and ".join(f'"{phrase}"' for phrase in query.phrases)
    note = f"nothing has the phrase {phrases}: its words were searched one by one"
    return replace(found, relaxed=True, notes=(note, *found.notes))


def add_length_remark(request: Request, found: SearchAnswer) -> SearchAnswer:
    """`found`, with a note when a pasted text had more words than were searched."""
    if len(request.query) <= LONG_QUERY_CHARS:
        return found
    note = f"the text has {len(request.query):,} characters: its {MAX_TERMS} most telling words were searched"
    return replace(found, notes=(note, *found.notes))


def add_nearest_only_remark(
    lexical: LexicalSearcher, query: Query, scope: SearchScope, answer: SearchAnswer
) -> SearchAnswer:
    """`answer`, in which nothing has any of the words, with a note that says so and other spellings."""
    where = (
        "no indexed file"
        if scope.is_unrestricted and not query.has_conditions
        else "no file that passes the filters"
    )
    note = f"{where} contains {' or '.join(query.content_terms[:_MOST])}: these results are only nearest in meaning"
    spelled = _find_spellings(lexical, query, _NAMES) or _find_spellings(lexical, query, IDENTIFIERS)
    return replace(answer, notes=(note, *answer.notes), suggestions=spelled)


def add_exclusion_remarks(view: SnapshotView, scope: SearchScope, answer: SearchAnswer) -> SearchAnswer:
    """`answer`, with a note on each exclusion that can exclude nothing: perhaps it was misspelled."""
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
    return replace(answer, notes=(*answer.notes, *sorted(notes)))


def _reason(view: SnapshotView, request: Request, query: Query, scope: SearchScope) -> str:
    """Why an answer is empty, where no filter is known to be at fault (QU-7)."""
    files = (
        f"{view.manifest.counts.files_indexed:,} indexed files"
        if scope.is_unrestricted
        else "the files that pass the filters"
    )
    if request.mode == REGEX:
        return f"no line of {files} matches the pattern"
    if request.mode == SYMBOL:
        return f"nothing that {files} define is called like that"
    if query.has_conditions:
        return f"no passage of {files} meets all conditions of the query (phrases, -words, prefix*, sym:)"
    return f"{files} contain none of these words"


def _find_spellings(lexical: LexicalSearcher, query: Query, fields: Sequence[str]) -> tuple[str, ...]:
    found = [
        near for word in query.identifiers[:_MOST] for near in lexical.suggest_spellings(fields, word, _MOST)
    ]
    return tuple(dict.fromkeys(found))[:_MOST]


def _filter_remarks(view: SnapshotView, scope: SearchScope) -> Iterator[str]:
    if scope.paths is not None and not scope.paths:
        yield "no indexed file passes the path, kind, tag, date and session filters"
    known = view.manifest.counts.languages
    for name in sorted((scope.languages or frozenset()) - known.keys()):
        yield f"no indexed file is {name}; there are {', '.join(sorted(known)) or 'none'}"
    yield from _kind_remarks(scope)


def _kind_remarks(scope: SearchScope) -> Iterator[str]:
    from gitindex.model.rows import SYMBOL_KINDS  # late: few answers are empty (UI-3)

    for name in sorted((scope.kinds or frozenset()).difference(SYMBOL_KINDS)):
        yield f"no kind is called {name}; symbols: {', '.join(SYMBOL_KINDS)}; files: {', '.join(FILE_KINDS)}"


def _text_remarks(request: Request, query: Query) -> Iterator[str]:
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
