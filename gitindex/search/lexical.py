"""Words → chunks, by Tantivy: sub-words of the text, of the names defined and of the path, whole identifiers exactly.

Scores come from wanted words alone; filters, phrases and negations only decide who may take part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import log1p
from typing import TYPE_CHECKING, Any

from gitindex.extract.tokens import MAX_TOKEN, subwords
from gitindex.search.candidate import Key, RetrievedChunk
from gitindex.search.parse import Query, last_name
from gitindex.search.scope import SearchScope
from gitindex.search.termchoice import choose_terms
from gitindex.segment.lexical_index import LexicalDocument, LexicalIndex

if TYPE_CHECKING:
    import tantivy

    Clause = tuple[tantivy.Occur, tantivy.Query]

NAMES = 0.5
PATHS = 0.5
EXACT = 0.5
IDENTIFIERS = ("idents", "terms")  # those of several sub-words, and the others
_POOL = 2000  # most frequent words to compare a misspelled one with
MAX_TERMS = 48  # a longer question gains nothing from its further words


class LexicalSearcher:
    """Builds queries for one index."""

    def __init__(self, index: LexicalIndex) -> None:
        import tantivy

        self._index = index
        self._schema = index.schema
        self._query = tantivy.Query
        self._occur = tantivy.Occur

    def find(self, query: Query, scope: SearchScope, limit: int) -> list[tuple[float, RetrievedChunk]]:
        """Best chunks for the wanted words; without any, the files that the filters leave."""
        return self.search(self._build_clauses(query, scope), limit)

    def count(self, query: Query, scope: SearchScope) -> int:
        """How many `find` would give without a limit. Reads every posting, so it is no step of a usual search."""
        return self._index.count(self._query.boolean_query(self._build_clauses(query, scope)))

    def _build_clauses(self, query: Query, scope: SearchScope) -> list[Clause]:
        clauses = self.build_conditions(query, scope)
        wanted = self._wanted_queries(query)
        if wanted:
            clauses.append((self._occur.Must, self._any_of(wanted)))
        else:  # a file's head stands for the file; with a kind of symbol asked for, the definitions do
            kind = "anchor" if scope.kinds is None else "text"
            clauses.append((self._occur.Must, self._unscored(self._term_query("kind", kind))))
        return clauses

    def search(self, clauses: Sequence[Clause], limit: int) -> list[tuple[float, RetrievedChunk]]:
        found = self._index.search(self._query.boolean_query(list(clauses)), limit)
        return [(score, chunk_from_document(document)) for score, document in found]

    def fetch(self, keys: Sequence[Key], conditions: Sequence[Clause] = ()) -> dict[Key, RetrievedChunk]:
        """The chunks of these names, those that also meet the conditions."""
        if not keys:
            return {}
        clauses = [*conditions, (self._occur.Must, self._key_query(keys))]
        return {found.key: found for _, found in self.search(clauses, len(keys))}

    def find_defining(self, names: Iterable[str], paths: Iterable[str], limit: int) -> list[RetrievedChunk]:
        """Chunks of these files in which one of the names is defined."""
        named = [self._term_query("names", name.lower()) for name in names]
        clauses = [
            (self._occur.Must, self._any_of(named)),
            (self._occur.Must, self._set_query("path", paths)),
        ]
        return [found for _, found in self.search(clauses, limit)] if named else []

    def find_named(self, parts: Sequence[str], scope: SearchScope, limit: int) -> list[RetrievedChunk]:
        """Chunks whose definitions have all these sub-words in their names."""
        clauses = self._filter_clauses(scope) + [
            (self._occur.Must, self._term_query("names", part)) for part in parts
        ]
        return [found for _, found in self.search(clauses, limit)] if parts else []

    def find_with_identifiers(
        self, patterns: Sequence[str], otherwise: str, scope: SearchScope, limit: int
    ) -> list[RetrievedChunk]:
        """Text chunks with an identifier for every pattern, or with one that matches `otherwise`."""
        clauses = [
            *self._filter_clauses(scope),
            (self._occur.Must, self._unscored(self._term_query("kind", "text"))),
        ]
        if patterns:
            every = [self._identifier_query(pattern) for pattern in patterns]
            either = self._any_of([self._all_of(every), self._identifier_query(otherwise)])
            clauses.append((self._occur.Must, self._unscored(either)))
        return [found for _, found in self.search(clauses, limit)]

    def read_texts(self, paths: Iterable[str], limit: int) -> list[RetrievedChunk]:
        """All text of these files."""
        wanted = sorted(paths)
        clauses = [
            (self._occur.Must, self._set_query("path", wanted)),
            (self._occur.Must, self._term_query("kind", "text")),
        ]
        return [found for _, found in self.search(clauses, limit)] if wanted else []

    def suggest_spellings(self, fields: Sequence[str], word: str, limit: int) -> list[str]:
        """Indexed words spelled much like this one and beginning alike."""
        from difflib import get_close_matches

        pool = {near for field in fields for near in self._index.terms_with_prefix(field, word[:2], _POOL)}
        return [near for near in get_close_matches(word, pool, n=limit + 1, cutoff=0.75) if near != word][
            :limit
        ]

    def build_conditions(self, query: Query, scope: SearchScope) -> list[Clause]:
        """What every hit must meet, whoever found it."""
        clauses = self._filter_clauses(scope)
        clauses += [(self._occur.Must, self._phrase_query(text)) for text in query.phrases]
        clauses += [(self._occur.MustNot, self._phrase_query(text)) for text in query.excluded]
        if query.required_prefixes:
            clauses.append(
                (
                    self._occur.Must,
                    self._unscored(self._any_of(self._prefix_queries(query.required_prefixes))),
                )
            )
        if query.only.symbols:
            named = [self._term_query("names", last_name(name).lower()) for name in query.only.symbols]
            clauses.append((self._occur.Must, self._any_of(named)))
        clauses += [
            (self._occur.MustNot, self._term_query("names", last_name(name).lower()))
            for name in query.without.symbols
        ]
        return clauses

    def _wanted_queries(self, query: Query) -> list[tantivy.Query]:
        found = []
        for term, weight in self.weigh_terms(query):
            found.append(self._boost(self._term_query("terms", term), weight))
            found.append(self._boost(self._term_query("names", term), weight * NAMES))
            found.append(self._boost(self._term_query("path_terms", term), weight * PATHS))
        for name, weight in self._weigh_identifiers(query):
            if subwords(name) != [name]:  # of several sub-words: the whole is rarer than its parts
                found.append(self._boost(self._term_query("idents", name[:MAX_TOKEN]), weight * EXACT))
                found.append(self._boost(self._term_query("names", name), weight * NAMES))
        found += [self._query.const_score_query(like, 1.0) for like in self._prefix_queries(query.prefixes)]
        return found

    def weigh_terms(self, query: Query) -> list[tuple[str, float]]:
        """The terms to look for: of pasted text the most telling, those said often or in its title before others."""
        if query.clues is None:
            return [(term, 1.0) for term in query.content_terms[:MAX_TERMS]]
        return choose_terms(
            subwords(query.text), subwords(query.clues.title), self._rarity("terms"), MAX_TERMS
        )

    def compare_rarity(self, query: Query) -> dict[str, float]:
        """How telling each word is, as a share of the most telling; one that no chunk has is as rare as that."""
        measure = self._rarity("terms")
        found = {word: weight * measure(word) for word, weight in self.weigh_terms(query)}
        rarest = max(found.values(), default=0.0)
        return {word: value / rarest if value else 1.0 for word, value in found.items()}

    def _weigh_identifiers(self, query: Query) -> list[tuple[str, float]]:
        if query.clues is None:
            return [(name, 1.0) for name in query.identifiers[:MAX_TERMS]]
        names = [name.lower()[:MAX_TOKEN] for name in query.clues.names]
        title = [name.lower() for name in query.clues.title.split()]
        return choose_terms(names, title, self._rarity("idents"), MAX_TERMS)

    def _rarity(self, field: str) -> Callable[[str], float]:
        """How rare a term is, 0.0 for one that no chunk has."""
        documents = max(1, self._index.document_count)

        def measure(term: str) -> float:
            count = self._index.count_with(field, term)
            return log1p(documents / count) if count else 0.0

        return measure

    def _prefix_queries(self, prefixes: Iterable[str]) -> list[tantivy.Query]:
        return [self._identifier_query(f"{prefix[:MAX_TOKEN]}.*") for prefix in prefixes]

    def _filter_clauses(self, scope: SearchScope) -> list[Clause]:
        must, must_not = self._occur.Must, self._occur.MustNot
        clauses: list[Clause] = []
        for field, allowed in (
            ("path", scope.paths),
            ("language", scope.languages),
            ("symbol_kind", scope.kinds),
        ):
            if allowed is not None:
                clauses.append((must, self._set_query(field, allowed)))
        for field, barred in (("language", scope.not_languages), ("symbol_kind", scope.not_kinds)):
            if barred:
                clauses.append((must_not, self._set_query(field, barred)))
        return clauses

    def _key_query(self, keys: Sequence[Key]) -> tantivy.Query:
        one = [
            self._all_of(
                [self._term_query("path", path), self._query.term_query(self._schema, "ordinal", ordinal)]
            )
            for path, ordinal in keys
        ]
        return self._unscored(self._any_of(one))

    def _phrase_query(self, text: str) -> tantivy.Query:
        words: list[Any] = subwords(text)
        return (
            self._query.phrase_query(self._schema, "terms", words)
            if len(words) > 1
            else self._term_query("terms", words[0])
        )

    def _identifier_query(self, pattern: str) -> tantivy.Query:
        """Identifiers by an expression: those of one sub-word stand among the terms, with the parts of the others."""
        return self._any_of([self._query.regex_query(self._schema, field, pattern) for field in IDENTIFIERS])

    def _term_query(self, field: str, value: str) -> tantivy.Query:
        return self._query.term_query(self._schema, field, value)

    def _set_query(self, field: str, values: Iterable[str]) -> tantivy.Query:
        return self._unscored(self._query.term_set_query(self._schema, field, sorted(values)))

    def _boost(self, query: tantivy.Query, factor: float) -> tantivy.Query:
        return self._query.boost_query(query, factor)

    def _unscored(self, query: tantivy.Query) -> tantivy.Query:
        return self._query.const_score_query(query, 0.0)

    def _any_of(self, queries: Sequence[tantivy.Query]) -> tantivy.Query:
        return self._query.boolean_query([(self._occur.Should, query) for query in queries])

    def _all_of(self, queries: Sequence[tantivy.Query]) -> tantivy.Query:
        return self._query.boolean_query([(self._occur.Must, query) for query in queries])


def chunk_from_document(document: LexicalDocument) -> RetrievedChunk:
    return RetrievedChunk(
        document.path,
        document.ordinal,
        document.kind,
        document.language,
        document.start_line,
        document.end_line,
        document.symbol,
        document.symbol_kind,
        document.text,
    )
