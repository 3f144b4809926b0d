"""The query language: words, "phrases", prefix*, -negation, and `path:` `lang:` `kind:` `sym:` filters. Pure.

Nothing is a syntax error: an unknown field, a lone quote or a lone minus is plain text. Pasted text is no query
language at all: every word of it is wanted, none is demanded (QU-7).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gitindex.errors import UsageError
from gitindex.extract.tokens import subwords
from gitindex.search.clues import Clues, cut_pasted, find_clues, is_pasted
from gitindex.search.request import FILE_MODES, REGEX, Request, clean

# A field and its value, or a bare item; quotes group, an open quote reaches to the end.
_ITEM = re.compile(
    r"""(?P<minus>-?)
        (?:(?P<field>[A-Za-z]+):(?=\S))?
        (?:"(?P<quoted>[^"]*)(?:"|$)|(?P<bare>\S+))""",
    re.VERBOSE,
)
_FIELDS = {
    "path": "path",
    "file": "path",
    "lang": "lang",
    "language": "lang",
    "kind": "kind",
    "sym": "sym",
    "symbol": "sym",
}
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_NAME = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#|->)[^\W\d]\w*)*\(?\)?")
# Words that hold a sentence together. In code they stand in comments alone, where being rare makes them look telling.
_SMALL = frozenset({
    "a", "an", "and", "are", "as", "at", "be", "been", "by", "for", "from", "has", "have", "how", "if",
    "in", "into", "is", "it", "its", "of", "on", "or", "so", "than", "that", "the", "their", "then",
    "there", "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "which", "who",
    "will", "with", "you", "your",
})  # fmt: skip
_ALIASES = {
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "c++": "cpp",
    "c#": "csharp",
    "cs": "csharp",
    "golang": "go",
    "rs": "rust",
    "rb": "ruby",
    "kt": "kotlin",
    "sh": "bash",
    "shell": "bash",
    "md": "markdown",
    "yml": "yaml",
}


class Filters(NamedTuple):
    """Conditions on where a hit may lie, each with its negation."""

    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()


class Query(NamedTuple):
    text: str  # what a retriever of meaning sees: all wanted words and phrases
    words: tuple[str, ...]  # plain words as typed
    phrases: tuple[str, ...]
    prefixes: tuple[str, ...]  # lower-case, without the star
    excluded: tuple[str, ...]  # words and phrases that must not occur
    only: Filters = Filters()
    without: Filters = Filters()
    clues: Clues | None = None  # of pasted text

    @property
    def pasted(self) -> bool:
        return self.clues is not None

    @property
    def has_no_terms(self) -> bool:
        return not (self.text or self.only.symbols)

    @property
    def is_empty(self) -> bool:
        """Neither anything wanted nor any condition."""
        return self.has_no_terms and not (self.excluded or any(self.only) or any(self.without))

    @property
    def terms(self) -> list[str]:
        """Distinct sub-words of what is wanted, in order."""
        return list(dict.fromkeys(subwords(self.text)))

    @property
    def required_prefixes(self) -> tuple[str, ...]:
        """Prefixes of which a hit must have one: those of a query that wants nothing else."""
        return () if self.words or self.phrases else self.prefixes

    @property
    def has_conditions(self) -> bool:
        """Whether something besides the filters decides who may be a hit."""
        return bool(
            self.phrases
            or self.excluded
            or self.required_prefixes
            or self.only.symbols
            or self.without.symbols
        )

    @property
    def content_terms(self) -> list[str]:
        """The terms that tell chunks apart: without small words, unless there are no others."""
        return [term for term in self.terms if term not in _SMALL] or self.terms

    @property
    def identifiers(self) -> list[str]:
        """Distinct whole identifiers, lower-case, in order."""
        return list(dict.fromkeys(name.lower() for name in _IDENTIFIER.findall(self.text)))

    @property
    def symbol(self) -> str:
        """The name when the whole query is one: `Foo.bar`, `foo_bar()`; "" for anything else."""
        if self.only.symbols:
            return self.only.symbols[0]
        only = self.words[0] if len(self.words) == 1 and not self.phrases and not self.prefixes else ""
        return only.rstrip("()") if _NAME.fullmatch(only) else ""

    @property
    def names(self) -> list[str]:
        """Words that look like identifiers rather than prose, last part of a qualified name."""
        if self.clues is not None:
            return list(self.clues.names)
        shaped = (word for word in self.words if _NAME.fullmatch(word) and looks_like_code(word))
        return list(dict.fromkeys(last_name(word) for word in shaped))


def parse_request(request: Request) -> Query:
    """What the request's text asks for; a pattern asks for nothing here.

    Raises UsageError for signs alone: no word, no condition.
    """
    if request.mode in FILE_MODES and is_pasted(request.query):
        query = read_pasted(request.query)
    else:
        query = parse("" if request.mode == REGEX else request.query)
    if query.is_empty and request.mode != REGEX and not request.asks_metadata:
        from gitindex.model.foreign import quote_argument

        raise UsageError(
            f"nothing to search for: {request.query!r} has neither a word nor a filter",
            hint=f"gitindex search --mode regex {quote_argument(re.escape(request.query))}",
        )
    return query


def read_pasted(text: str) -> Query:
    """Every word is wanted; what points at code stands apart."""
    read = cut_pasted(clean(text))
    words = tuple(word for word in read.split() if subwords(word))
    return Query(" ".join(words), words, (), (), (), clues=find_clues(read))


def parse(text: str) -> Query:
    words: list[str] = []
    phrases: list[str] = []
    prefixes: list[str] = []
    excluded: list[str] = []
    wanted: list[str] = []
    filters: dict[tuple[bool, str], list[str]] = {}
    for item in _ITEM.finditer(clean(text)):
        negated = bool(item["minus"])
        field = _FIELDS.get((item["field"] or "").lower(), "")
        value = item["quoted"] if item["quoted"] is not None else item["bare"]
        if field and value.strip('"'):
            filters.setdefault((negated, field), []).append(_normalize_value(field, value.strip('"')))
            continue
        if item["field"]:  # an unknown field is text: std::string, http://…
            value = f"{item['field']}:{value}"
        quoted = item["quoted"] is not None and not item["field"]
        if not subwords(value):
            continue
        if negated:
            excluded.append(value)
        elif quoted:
            phrases.append(value)
            wanted.append(value)
        elif value.endswith("*") and _IDENTIFIER.fullmatch(value[:-1]):
            prefixes.append(value[:-1].lower())
            wanted.append(value[:-1])
        else:
            words.append(value)
            wanted.append(value)
    return Query(
        " ".join(wanted),
        tuple(words),
        tuple(phrases),
        tuple(prefixes),
        tuple(excluded),
        _build_filters(filters, False),
        _build_filters(filters, True),
    )


def relax(query: Query) -> Query:
    """The same without any demand for a phrase: its words are wanted like others."""
    words = (*query.words, *(word for phrase in query.phrases for word in phrase.split() if subwords(word)))
    return query._replace(words=words, phrases=())


def normalize_language(name: str) -> str:
    """A language as the index spells it."""
    lowered = name.strip().lower()
    return _ALIASES.get(lowered, lowered)


def looks_like_code(word: str) -> bool:
    """snake_case, camelCase, CONSTANT, a.b or a call: prose is none of these."""
    plain = word.strip("_")
    return bool(plain) and (
        "_" in word
        or any(sign in word for sign in (".", "::", "()", "#"))
        or (plain != plain.lower() and plain != plain.capitalize() and len(plain) > 1)
    )


def last_name(qualified: str) -> str:
    return re.split(r"\.|::|#|->", qualified.rstrip("()"))[-1]


def _normalize_value(field: str, value: str) -> str:
    if field == "lang":
        return normalize_language(value)
    return value.lower() if field == "kind" else value


def _build_filters(values: dict[tuple[bool, str], list[str]], negated: bool) -> Filters:
    return Filters(*(tuple(values.get((negated, field), ())) for field in ("path", "lang", "kind", "sym")))
