"""One question against one snapshot: retrieve, fuse, rank, cut out the lines.

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
from gitindex.search import fuse, hit, rank, snippet, suggest, symbols
from gitindex.search.candidate import Candidate, Key, Pool, Scored
from gitindex.search.hit import Found, Hit
from gitindex.search.lexical import MAX_TERMS, Words
from gitindex.search.parse import Query, parse, understood
from gitindex.search.request import HYBRID, LEXICAL, REGEX, SEMANTIC, SYMBOL, Request, checked
from gitindex.search.scope import Scope, resolve
from gitindex.view.snapshot import SnapshotView

if TYPE_CHECKING:
    from gitindex.extract.embed.protocol import Embedder
    from gitindex.search import files
    from gitindex.search.dense import DenseIndex, Nearness
    from gitindex.search.metadata import Note

_DEPTH = 100  # candidates of each retriever
_NARROW_DEPTH = 400  # before conditions only the lexical index can check
_REGEX_CHUNKS = 200_000
_DEFINITIONS = 20
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
        self._open_embedder = embedder

    def search(self, request: Request) -> Found:
        """Raises UsageError (a question without meaning, a bad date or pattern, no vectors)."""
        request = checked(request)
        noted = self._noted(request) if request.asks_metadata else None
        if noted is not None and not request.query.strip():
            return self._listed(noted, request)
        query = understood(request)
        scope = resolve(
            request, query, [note.path for note in noted] if noted is not None else None, self._files
        )
        found = Found() if scope.nothing else self._answer(request, query, scope)
        found = hit.within_budget(found, self._settings.max_answer_chars)
        if scope.not_kinds or scope.not_languages:
            found = suggest.warned(self.view, scope, found)
        if found.nearest_only:
            return suggest.doubted(self._words, query, scope, found)
        return found if found.hits else suggest.helped(self.view, self._words, request, query, scope, found)

    def _noted(self, request: Request) -> list[Note]:
        from gitindex.search import metadata  # late, as `regex` below: few questions are of that kind (UI-3)

        return metadata.notes(self.view, self._root, request)

    def _answer(self, request: Request, query: Query, scope: Scope) -> Found:
        if request.mode == REGEX:
            return self._regex(request, scope)
        if request.mode == SYMBOL:
            return self._symbols(request, query, scope)
        if request.files:
            return self._whole_files(request, query, scope)
        pool, notes = self._ranked(request, query, scope)
        limited = rank.limit_per_file(pool.items, self._settings.per_file)
        kept = self._with_text(limited[: request.limit])
        hits = tuple(self._hit(item, query) for item in kept)
        left = len(limited) - len(kept) + pool.beyond
        meant = request.mode == HYBRID and _nearest_only(pool.items, query)
        return Found(hits, left, notes, nearest_only=meant, at_least=pool.open)

    def _ranked(self, request: Request, query: Query, scope: Scope) -> tuple[Pool, tuple[str, ...]]:
        if request.mode == SEMANTIC:
            self._need_vectors()
            near, _, more = self._near(query, scope) if query.text else ([], None, False)
            items = rank.order(Scored(found, score, ("dense",)) for score, found in near)
            return Pool(items, int(more and not query.conditional), more), ()
        pool = self._found(query, scope, request.limit, meaning=request.mode == HYBRID)
        items = self._with_definitions(pool.items, query, scope)
        added = min(pool.beyond, len(items) - len(pool.items))  # these may be among those counted
        ranked = Pool(rank.rank(items, query), pool.beyond - added, pool.open or added > 0)
        return ranked, self._notes(request)

    def _notes(self, request: Request) -> tuple[str, ...]:
        return () if self._has_vectors or request.mode == LEXICAL else (_NO_VECTORS,)

    def _whole_files(self, request: Request, query: Query, scope: Scope) -> Found:
        from gitindex.search import files  # late, as `regex` below (UI-3)

        evidence, more = self._evidence(request, query, scope)
        ranked = files.rank(evidence, query)
        kept = ranked[: request.limit]
        shown = self._with_text([item.best for item in kept])
        hits = tuple(
            replace(self._hit(best, query), chunks=item.chunks)
            for best, item in zip(shown, kept, strict=True)
        )
        meant = request.mode == HYBRID and _nearest_only([item.best for item in ranked], query)
        left = len(ranked) - len(kept)
        return Found(hits, left, self._notes(request), nearest_only=meant, at_least=more)

    def _evidence(self, request: Request, query: Query, scope: Scope) -> tuple[list[files.Evidence], bool]:
        """What words, vectors and definitions say of chunks, as far as the mode asks them; whether they know more."""
        from gitindex.search import files

        found: list[tuple[float, Candidate]] = []
        near: list[tuple[float, Candidate]] = []
        middle, more = 0.0, False
        if request.mode == SEMANTIC:
            self._need_vectors()
        else:
            found = self._words.find(query, scope, files.DEPTH + 1)
            found, more = found[: files.DEPTH], len(found) > files.DEPTH
        if request.mode != LEXICAL and query.text and self._has_vectors:
            near, scores, further_off = self._near(query, scope, files.DEPTH)
            middle = scores.middle
            more = more or (further_off and not (query.conditional and request.mode == HYBRID))
        pool = files.gather(found, near, middle)
        shown = self._defining(query, scope)
        further = [key for key in shown if key not in pool]
        pool.update((key, files.Evidence(shown[key])) for key in self._allowed(further, query, scope))
        marked = [
            item._replace(candidate=shown[key], defines=True) if key in shown else item
            for key, item in pool.items()
        ]
        return marked, more

    # -- retrievers ----------------------------------------------------------------------------

    def _found(self, query: Query, scope: Scope, limit: int, *, meaning: bool) -> Pool:
        """What the words find and, with `meaning`, the vectors; each candidate with both of its scores."""
        depth = max(_DEPTH, limit)
        found = self._words.find(query, scope, depth)
        full = len(found) >= depth
        words = {item.key: score for score, item in found}
        candidates = {item.key: item for _, item in found}
        if not meaning or not query.text or not self._has_vectors:
            pool = Pool(fuse.fuse(candidates, words, {}), open=full)
            # Counting is cheap without words, and without it an answer of the whole pool would look complete.
            if full and (not query.text or limit >= _DEPTH):
                return pool._replace(beyond=self._words.count(query, scope) - len(found), open=False)
            return pool
        near, scores, more = self._near(query, scope)
        further = [item.key for _, item in near if item.key not in candidates]
        candidates.update((item.key, item) for _, item in near if item.key not in candidates)
        words.update(self._words.scores(query, further))
        weight = fuse.weight_of(min(len(query.telling), MAX_TERMS), symbol=bool(query.symbol))
        items = fuse.fuse(candidates, words, scores.of(candidates), weight, scores.middle)
        # Whatever meets a condition has its words, so words that were not cut know all of it.
        return Pool(items, open=full or (more and not query.conditional))

    def _near(
        self, query: Query, scope: Scope, most: int = _DEPTH
    ) -> tuple[list[tuple[float, Candidate]], Nearness, bool]:
        """The nearest chunks that meet all conditions, how near any other is, and whether others may meet them."""
        assert self._embedder is not None, "an index with vectors names its embedder"
        scores = self._vectors.nearness(self._embedder.embed_query(query.text))
        depth = max(most, _NARROW_DEPTH) if query.conditional else most
        nearest = scores.nearest(scope, depth + 1)
        found = nearest[:depth]
        if query.conditional:
            kept = self._words.fetch([item.key for _, item in found], self._words.conditions(query, scope))
            found = [(score, kept[item.key]) for score, item in found if item.key in kept]
        return found[:most], scores, len(nearest) > depth or len(found) > most

    def _with_definitions(self, items: list[Scored], query: Query, scope: Scope) -> list[Scored]:
        """Definitions of what the query names take part even if neither retriever found them."""
        shown = self._defining(query, scope)
        if not shown:
            return items
        marked = [
            Scored(shown.pop(item.candidate.key), item.score, (*item.layers, "symbol"))
            if item.candidate.key in shown
            else item
            for item in items
        ]
        return marked + [
            Scored(shown[key], 0.0, ("symbol",)) for key in self._allowed(list(shown), query, scope)
        ]

    def _defining(self, query: Query, scope: Scope) -> dict[Key, Candidate]:
        """Chunks under the names that they define, those in the query."""
        names = [query.symbol] if query.symbol else query.names
        definitions = symbols.exact(self.view, names, scope)[:_DEFINITIONS] if names else []
        if not definitions:
            return {}
        chunks = self._words.defining(
            {item.name for item in definitions}, {item.path for item in definitions}, 200
        )
        return {chunk.key: showing for chunk in chunks if (showing := _showing(chunk, definitions))}

    def _allowed(self, keys: Sequence[Key], query: Query, scope: Scope) -> list[Key]:
        """Those that meet the conditions."""
        return list(self._words.fetch(keys, self._words.conditions(query, scope))) if keys else []

    def _symbols(self, request: Request, query: Query, scope: Scope) -> Found:
        wanted = query.symbol or query.text
        every = symbols.find(self.view, self._words_later, wanted, scope, request.limit)
        hits = tuple(_definition_hit(item) for item in every.found[: request.limit])
        return Found(hits, left_out=len(every.found) - len(hits) + every.beyond, at_least=every.open)

    def _regex(self, request: Request, scope: Scope) -> Found:
        from gitindex.search import regex

        pattern = request.query
        regex.check(pattern)
        chunks = self._words.having(regex.narrowing(pattern), regex.LONG_IDENTIFIER, scope, _REGEX_CHUNKS)
        matches = list(regex.verify(pattern, regex.joined(self._whole_lines(chunks))))
        items = rank.order(Scored(item.candidate, float(len(item.lines)), ("regex",)) for item in matches)
        lines = {item.candidate.key: item.lines for item in matches}
        kept = rank.limit_per_file(items, self._settings.per_file)[: request.limit]
        hits = tuple(self._regex_hit(item, lines[item.candidate.key], scope) for item in kept)
        return Found(hits, left_out=len(items) - len(hits), at_least=len(chunks) >= _REGEX_CHUNKS)

    def _whole_lines(self, chunks: list[Candidate]) -> list[Candidate]:
        """The chunks, with every piece of a line that is cut into several, in order."""
        found = {chunk.key: chunk for chunk in chunks}
        single = [chunk for chunk in chunks if chunk.start_line == chunk.end_line]
        for at in range(0, len(single), _FETCH):
            batch = single[at : at + _FETCH]
            sides = self._words.fetch([(c.path, c.ordinal + step) for c in batch for step in (-1, 1)])
            cut = {c.path for c in batch if any(_continues(c, sides, step) for step in (-1, 1))}
            found.update((chunk.key, chunk) for chunk in self._words.texts(cut, _REGEX_CHUNKS))
        return [found[key] for key in sorted(found)]

    # -- hits ----------------------------------------------------------------------------------

    def _with_text(self, items: Sequence[Scored]) -> list[Scored]:
        missing = [item.candidate.key for item in items if item.candidate.text is None]
        texts = self._words.fetch(missing)
        return [item._replace(candidate=texts.get(item.candidate.key, item.candidate)) for item in items]

    def _hit(self, item: Scored, query: Query) -> Hit:
        found = item.candidate
        cut = snippet.excerpt(found.text or "", found.start_line, query.terms, self._settings.snippet_lines)
        return _hit(item, cut)

    def _regex_hit(self, item: Scored, lines: tuple[int, ...], scope: Scope) -> Hit:
        found = item.candidate
        symbol, kind = symbols.around(self.view, found.path, lines[0])
        if scope.kinds is None or kind in scope.kinds:  # else the chunk's own is what passed the filter
            item = item._replace(candidate=found._replace(symbol=symbol, symbol_kind=kind))
        cut = snippet.around(found.text or "", found.start_line, lines[0], self._settings.snippet_lines)
        return _hit(item, cut, lines)

    def _listed(self, noted: Sequence[Note], request: Request) -> Found:
        """Metadata alone is the answer: the notes with their heads (QU-5)."""
        query = parse("")
        scope = resolve(request, query, [note.path for note in noted], self._files)
        kept = [note for note in noted if scope.paths is None or note.path in scope.paths]
        shown = kept[: request.limit]
        first = self._words.fetch([(note.path, 1) for note in shown])
        hits = [_note_hit(note, first.get((note.path, 1)), self._settings.snippet_lines) for note in shown]
        found = Found(tuple(hits), left_out=len(kept) - len(hits))
        return hit.within_budget(found, self._settings.max_answer_chars)

    # -- what is loaded late --------------------------------------------------------------------

    @cached_property
    def _words(self) -> Words:
        return Words(self.view.lexical)

    def _words_later(self) -> Words:
        return self._words

    @cached_property
    def _vectors(self) -> DenseIndex:
        from gitindex.search.dense import DenseIndex

        return DenseIndex.load(self.view)

    @cached_property
    def _embedder(self) -> Embedder | None:
        return self._open_embedder()

    @cached_property
    def _languages(self) -> dict[str, str]:
        rows = self.view.select("SELECT f.path, f.language FROM file f WHERE f.skip = ''")
        return {row.path: str(row.values[0]) for row in rows}

    def _files(self) -> dict[str, str]:
        return self._languages

    @property
    def _has_vectors(self) -> bool:
        return self.view.manifest.dimension > 0

    def _need_vectors(self) -> None:
        if not self._has_vectors:
            raise NoVectors(
                "this index has no vectors, so it cannot answer by meaning",
                hint='set provider = "static" under [embedding] in .gitindex.toml, then run: gitindex sync',
            )


def _nearest_only(items: Sequence[Scored], query: Query) -> bool:
    """Were words asked for that none of what was found has?"""
    return bool(items and query.text) and not any(
        layer in item.layers for item in items for layer in ("lexical", "symbol")
    )


def _continues(chunk: Candidate, sides: Mapping[Key, Candidate], step: int) -> bool:
    """Is the chunk before or after part of the same line?"""
    other = sides.get((chunk.path, chunk.ordinal + step))
    return (
        other is not None
        and other.chunk_kind == "text"
        and other.start_line == chunk.start_line == other.end_line
    )


def _showing(chunk: Candidate, definitions: Sequence[symbols.Definition]) -> Candidate | None:
    """The chunk under the name of the best of these definitions that starts in it, None without any."""
    if chunk.chunk_kind != "text":
        return None
    for found in definitions:
        if found.path == chunk.path and chunk.start_line <= found.line <= chunk.end_line:
            return chunk._replace(symbol=found.qualified_name, symbol_kind=found.kind)
    return None


def _hit(item: Scored, cut: snippet.Snippet, matches: tuple[int, ...] = ()) -> Hit:
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


def _definition_hit(found: symbols.Definition) -> Hit:
    shown = f"{found.signature}\n    {found.doc}" if found.doc else found.signature
    return Hit(
        found.path,
        found.line,
        found.end_line,
        found.score,
        ("symbol",),
        hit.SYNTACTIC,
        shown or found.name,
        found.line,
        found.qualified_name,
        found.kind,
    )


def _note_hit(note: Note, first: Candidate | None, most: int) -> Hit:
    text = first.text if first and first.text else note.entity.summary
    cut = snippet.excerpt(text, first.start_line if first else 1, (), most)
    return Hit(
        note.path, cut.start_line, cut.end_line, 1.0, ("metadata",), hit.TEXT, cut.text, cut.start_line
    )
