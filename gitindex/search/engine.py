"""One question against one snapshot: retrieve, rank files and places, cut out the lines.

An engine lives as long as its view and keeps what is costly to load. It reads through the view alone (SN-6) and
changes nothing (EN-5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gitindex.errors import UsageError
from gitindex.model.settings import QuerySettings
from gitindex.search import hit, snippet, suggest, symbols
from gitindex.search.candidate import Key, RetrievedChunk, ScoredChunk
from gitindex.search.hit import Hit, SearchAnswer, show_place
from gitindex.search.lexical import LexicalSearcher
from gitindex.search.mentions import PathTable, find_mentions
from gitindex.search.parse import Query, parse, parse_request, relax
from gitindex.search.ranking import Ranking, limit_per_file, order_chunks
from gitindex.search.request import HYBRID, LEXICAL, REGEX, SEMANTIC, SYMBOL, Request, validate_request
from gitindex.search.retrieve import Retriever
from gitindex.search.scope import SearchScope, resolve
from gitindex.search.weights import choose_weights
from gitindex.view.snapshot import SnapshotView

if TYPE_CHECKING:
    from gitindex.extract.embed.protocol import Embedder
    from gitindex.search.metadata import Note

_REGEX_CHUNKS = 200_000
_FETCH = 500
_NO_VECTORS = "this index has no vectors: words alone were searched"


class NoVectors(UsageError):
    """A question of meaning to an index without vectors."""

    code = "no_vectors"


class Engine:
    def __init__(
        self,
        view: SnapshotView,
        root: Path,
        settings: QuerySettings,
        embedder: Callable[[], Embedder | None] = lambda: None,
    ) -> None:
        self.view = view
        self._root = root
        self._settings = settings
        self._retriever = Retriever(view, embedder)

    def search(self, request: Request) -> SearchAnswer:
        """Raises UsageError (a question without meaning, a bad date or pattern, no vectors)."""
        request = validate_request(request)
        noted = self._find_notes(request) if request.asks_metadata else None
        if noted is not None and not request.query.strip():
            return self._list_notes(noted, request)
        query = parse_request(request)
        scope = resolve(
            request, query, [note.path for note in noted] if noted is not None else None, self._file_languages
        )
        found = SearchAnswer() if scope.is_empty else self._answer(request, query, scope)
        if query.phrases and not found.hits and not scope.is_empty:
            found = self._search_relaxed(request, query, scope, found)
        found = hit.fit_to_budget(found, self._settings.max_answer_chars)
        if scope.not_kinds or scope.not_languages:
            found = suggest.add_exclusion_remarks(self.view, scope, found)
        if query.pasted:
            found = suggest.add_length_remark(request, found)
        if found.nearest_only:
            return suggest.add_nearest_only_remark(self._lexical, query, scope, found)
        return (
            found
            if found.hits
            else suggest.add_suggestions(self.view, self._lexical, request, query, scope, found)
        )

    def _find_notes(self, request: Request) -> list[Note]:
        from gitindex.search import metadata  # late, as `regex` below: few questions are of that kind (UI-3)

        return metadata.find_notes(self.view, self._root, request)

    def _answer(self, request: Request, query: Query, scope: SearchScope) -> SearchAnswer:
        if request.mode == REGEX:
            return self._search_regex(request, scope)
        if request.mode == SYMBOL:
            return self._search_symbols(request, query, scope)
        if request.mode == SEMANTIC:
            self._require_vectors()
        ranking = self._rank(request, query, scope)
        found = (
            self._passages(request, query, ranking)
            if request.flat
            else self._files_found(request, query, ranking)
        )
        silent = self._retriever.has_vectors or request.mode == LEXICAL
        meant = request.mode == HYBRID and ranking.nearest_only and bool(query.text)
        return replace(found, notes=() if silent else (_NO_VECTORS,), nearest_only=meant)

    def _rank(self, request: Request, query: Query, scope: SearchScope) -> Ranking:
        retrieved = self._retriever.retrieve(request.mode, query, scope, count=request.flat)
        mentioned = self._find_mentions(query, scope) if query.clues is not None else {}
        if mentioned:
            retrieved = self._retriever.add_files(retrieved, mentioned)
        return Ranking(
            retrieved, query, choose_weights(query, files=request.files, flat=request.flat), mentioned
        )

    def _find_mentions(self, query: Query, scope: SearchScope) -> dict[str, float]:
        assert query.clues is not None
        found = find_mentions(query.clues, self._paths)
        return {path: strength for path, strength in found.items() if scope.admits_path(path)}

    def _search_relaxed(
        self, request: Request, query: Query, scope: SearchScope, found: SearchAnswer
    ) -> SearchAnswer:
        """The same question with its phrases as plain words, if that finds anything."""
        again = self._answer(request, relax(query), scope)
        return suggest.add_relaxed_remark(query, again) if again.hits else found

    def _files_found(self, request: Request, query: Query, ranking: Ranking) -> SearchAnswer:
        """Files with their best places."""
        ranked = ranking.rank_files()
        kept = ranked[: request.limit]
        shown = self._load_texts([item for file in kept for item in ranking.list_places(file)])
        hits = []
        for file in kept:
            best, *further = (shown[item.key] for item in ranking.list_places(file))
            made = self._make_excerpt_hit(ScoredChunk(best, file.score, file.layers), query)
            hits.append(replace(made, chunks=file.matching, places=tuple(map(show_place, further))))
        left = len(ranked) - len(kept) + ranking.retrieved.beyond
        return SearchAnswer(tuple(hits), left, at_least=ranking.retrieved.open)

    def _passages(self, request: Request, query: Query, ranking: Ranking) -> SearchAnswer:
        """Chunks one by one, a few of each file first."""
        ranked = ranking.rank_passages(self._settings.per_file, by_meaning=request.mode == SEMANTIC)
        kept = ranked[: request.limit]
        shown = self._load_texts([item.candidate for item in kept])
        hits = tuple(
            self._make_excerpt_hit(item._replace(candidate=shown[item.candidate.key]), query) for item in kept
        )
        left = len(ranked) - len(kept) + ranking.retrieved.beyond
        return SearchAnswer(hits, left, at_least=ranking.retrieved.open)

    def _search_symbols(self, request: Request, query: Query, scope: SearchScope) -> SearchAnswer:
        wanted = query.symbol or query.text
        every = symbols.find(self.view, self._open_lexical, wanted, scope, request.limit)
        hits = tuple(_make_definition_hit(item) for item in every.items[: request.limit])
        return SearchAnswer(
            hits, left_out=len(every.items) - len(hits) + every.further_count, at_least=every.maybe_more
        )

    def _search_regex(self, request: Request, scope: SearchScope) -> SearchAnswer:
        from gitindex.search import regex

        pattern = request.query
        regex.check(pattern)
        chunks = self._lexical.find_with_identifiers(
            regex.derive_index_patterns(pattern), regex.LONG_IDENTIFIER, scope, _REGEX_CHUNKS
        )
        matches = list(regex.verify(pattern, regex.join_long_lines(self._complete_lines(chunks))))
        found = [ScoredChunk(item.chunk, float(len(item.lines)), ("regex",)) for item in matches]
        lines = {item.chunk.key: item.lines for item in matches}
        kept = limit_per_file(order_chunks(found), self._settings.per_file)[: request.limit]
        hits = tuple(self._make_regex_hit(item, lines[item.candidate.key], scope) for item in kept)
        return SearchAnswer(hits, left_out=len(found) - len(hits), at_least=len(chunks) >= _REGEX_CHUNKS)

    def _complete_lines(self, chunks: list[RetrievedChunk]) -> list[RetrievedChunk]:
        """The chunks, with every piece of a line that is cut into several, in order."""
        found = {chunk.key: chunk for chunk in chunks}
        single = [chunk for chunk in chunks if chunk.start_line == chunk.end_line]
        for at in range(0, len(single), _FETCH):
            batch = single[at : at + _FETCH]
            sides = self._lexical.fetch([(c.path, c.ordinal + step) for c in batch for step in (-1, 1)])
            cut = {c.path for c in batch if any(_continues(c, sides, step) for step in (-1, 1))}
            found.update((chunk.key, chunk) for chunk in self._lexical.read_texts(cut, _REGEX_CHUNKS))
        return [found[key] for key in sorted(found)]

    # -- hits ----------------------------------------------------------------------------------

    def _load_texts(self, chunks: Sequence[RetrievedChunk]) -> dict[Key, RetrievedChunk]:
        texts = self._lexical.fetch([chunk.key for chunk in chunks if chunk.text is None])
        return {
            chunk.key: chunk._replace(text=texts[chunk.key].text) if chunk.key in texts else chunk
            for chunk in chunks
        }

    def _make_excerpt_hit(self, item: ScoredChunk, query: Query) -> Hit:
        found = item.candidate
        cut = snippet.excerpt(found.text or "", found.start_line, query.terms, self._settings.snippet_lines)
        return _make_hit(item, cut)

    def _make_regex_hit(self, item: ScoredChunk, lines: tuple[int, ...], scope: SearchScope) -> Hit:
        found = item.candidate
        symbol, kind = symbols.find_enclosing(self.view, found.path, lines[0])
        if scope.kinds is None or kind in scope.kinds:  # else the chunk's own is what passed the filter
            item = item._replace(candidate=found._replace(symbol=symbol, symbol_kind=kind))
        cut = snippet.excerpt_around(
            found.text or "", found.start_line, lines[0], self._settings.snippet_lines
        )
        return _make_hit(item, cut, lines)

    def _list_notes(self, notes: Sequence[Note], request: Request) -> SearchAnswer:
        """Metadata alone is the answer: the notes with their heads (QU-5)."""
        query = parse("")
        scope = resolve(request, query, [note.path for note in notes], self._file_languages)
        kept = [note for note in notes if scope.paths is None or note.path in scope.paths]
        shown = kept[: request.limit]
        first = self._lexical.fetch([(note.path, 1) for note in shown])
        hits = [
            _make_note_hit(note, first.get((note.path, 1)), self._settings.snippet_lines) for note in shown
        ]
        found = SearchAnswer(tuple(hits), left_out=len(kept) - len(hits))
        return hit.fit_to_budget(found, self._settings.max_answer_chars)

    # -- what is loaded late --------------------------------------------------------------------

    @property
    def _lexical(self) -> LexicalSearcher:
        return self._retriever.words

    def _open_lexical(self) -> LexicalSearcher:
        return self._lexical

    @cached_property
    def _languages(self) -> dict[str, str]:
        rows = self.view.select("SELECT f.path, f.language FROM file f WHERE f.skip = ''")
        return {row.path: str(row.values[0]) for row in rows}

    def _file_languages(self) -> dict[str, str]:
        return self._languages

    @cached_property
    def _paths(self) -> PathTable:
        return PathTable(self._languages)

    def _require_vectors(self) -> None:
        if not self._retriever.has_vectors:
            raise NoVectors(
                "this index has no vectors, so it cannot answer by meaning",
                hint='set provider = "static" under [embedding] in .gitindex.toml, then run: gitindex sync',
            )


def _continues(chunk: RetrievedChunk, sides: Mapping[Key, RetrievedChunk], step: int) -> bool:
    """Is the chunk before or after part of the same line?"""
    other = sides.get((chunk.path, chunk.ordinal + step))
    return (
        other is not None
        and other.chunk_kind == "text"
        and other.start_line == chunk.start_line == other.end_line
    )


def _make_hit(item: ScoredChunk, cut: snippet.Snippet, matches: tuple[int, ...] = ()) -> Hit:
    found = item.candidate
    return Hit(
        found.path,
        found.start_line,
        found.end_line,
        item.score,
        item.layers,
        hit.SYNTACTIC if found.symbol else hit.TEXT,
        cut.text,
        cut.start_line,
        found.symbol,
        found.symbol_kind,
        matches,
    )


def _make_definition_hit(definition: symbols.ScoredDefinition) -> Hit:
    shown = f"{definition.signature}\n    {definition.doc}" if definition.doc else definition.signature
    return Hit(
        definition.path,
        definition.line,
        definition.end_line,
        definition.score,
        ("symbol",),
        hit.SYNTACTIC,
        shown or definition.name,
        definition.line,
        definition.qualified_name,
        definition.kind,
    )


def _make_note_hit(note: Note, first: RetrievedChunk | None, max_lines: int) -> Hit:
    text = first.text if first and first.text else note.entity.summary
    cut = snippet.excerpt(text, first.start_line if first else 1, (), max_lines)
    return Hit(
        note.path, cut.start_line, cut.end_line, 1.0, ("metadata",), hit.TEXT, cut.text, cut.start_line
    )
