"""What is asked, and what may be asked: values only.

Every text is a valid query; what cannot be answered is a named error, never a surprise below.
"""

from __future__ import annotations

from dataclasses import replace

from gitindex.errors import UsageError
from gitindex.model.frozen import frozen

HYBRID, LEXICAL, SEMANTIC, SYMBOL, REGEX = "hybrid", "lexical", "semantic", "symbol", "regex"
MODES = (HYBRID, LEXICAL, SEMANTIC, SYMBOL, REGEX)
FILE_MODES = (HYBRID, LEXICAL, SEMANTIC)  # those that rank whole files too
LONG_QUERY_CHARS = 4000  # of longer text only the most telling words are searched
MAX_QUERY_CHARS = 1_000_000
MAX_LIMIT = 200


@frozen
class Request:
    """One question (QU-1). Empty filters do not filter."""

    query: str = ""
    mode: str = HYBRID
    limit: int = 10
    globs: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    session: str = ""
    files: bool = False  # tests, pages and settings count no less than code
    flat: bool = False  # chunks one by one instead of files with their places

    @property
    def asks_metadata(self) -> bool:
        return bool(self.tags or self.since or self.until or self.session)


def validate_request(request: Request) -> Request:
    """The request in text that every index below can take.

    Raises UsageError for a question that has no meaning.
    """
    if request.mode not in MODES:
        raise UsageError(f"unknown mode {request.mode!r}", hint=f"use one of {', '.join(MODES)}")
    if request.files and request.flat:
        raise UsageError("whole files cannot be listed as chunks", hint="use --files or --flat, not both")
    if request.files and request.mode not in FILE_MODES:
        raise UsageError(
            f"mode {request.mode} does not rank whole files", hint=f"use one of {', '.join(FILE_MODES)}"
        )
    if not 1 <= request.limit <= MAX_LIMIT:
        raise UsageError(f"limit must be between 1 and {MAX_LIMIT}, found {request.limit}")
    most = MAX_QUERY_CHARS if request.mode in FILE_MODES else LONG_QUERY_CHARS
    if len(request.query) > most:
        raise UsageError(f"the query has {len(request.query):,} characters, more than {most:,}")
    if not request.query.strip() and not request.asks_metadata:
        raise UsageError(
            "nothing to search for: no query and no tag, date or session filter",
            hint="gitindex search QUERY",
        )
    return replace(
        request,
        query=clean(request.query),
        globs=_clean_all(request.globs),
        languages=_clean_all(request.languages),
        kinds=_clean_all(request.kinds),
        tags=_clean_all(request.tags),
        session=clean(request.session),
    )


def clean(text: str) -> str:
    """No lone surrogates, no NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


def _clean_all(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for text in map(clean, texts) if text.strip())
