"""Search without an index: missing or corrupt, it is no reason to fail (QU-5).

Reads the files that indexing would read, narrowed by ripgrep where it is installed, and says so: every answer is
marked degraded. Filters mean the same as with an index, except that nothing is known about symbols.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gitindex.extract import frontmatter
from gitindex.extract.tokens import subwords
from gitindex.files.language import language_of
from gitindex.files.policy import EligibilityPolicy
from gitindex.indexing.plan import PlannedFile
from gitindex.model.rows import Entity
from gitindex.model.settings import QuerySettings
from gitindex.search import hit, metadata, regex, ripgrep, snippet
from gitindex.search.candidate import Key, RetrievedChunk, ScoredChunk
from gitindex.search.chunkscore import ChunkEvidence
from gitindex.search.eligible import TextFile, list_eligible, read
from gitindex.search.hit import Hit, SearchAnswer, show_place
from gitindex.search.metadata import Note
from gitindex.search.parse import Query, parse_request
from gitindex.search.ranking import Ranking
from gitindex.search.request import REGEX, Request, validate_request
from gitindex.search.retrieve import Retrieved
from gitindex.search.scope import SearchScope, resolve
from gitindex.search.weights import choose_weights
from gitindex.source.source_file import SourceTree

_BLOCK = 40  # lines judged together
_MAX_BYTES = 512 * 1024 * 1024


class Scan:
    """One search over the files themselves."""

    def __init__(
        self, source: SourceTree, policy: EligibilityPolicy, root: Path, settings: QuerySettings
    ) -> None:
        self._source = source
        self._policy = policy
        self._root = root
        self._settings = settings

    def search(
        self, request: Request, reason: str, *, find_program: Callable[[], str | None] = ripgrep.find_program
    ) -> SearchAnswer:
        """Raises UsageError as the engine does."""
        request = validate_request(request)
        matches = metadata.make_matcher(request) if request.asks_metadata else None
        query = parse_request(request)
        if request.mode == REGEX and request.query.strip():
            regex.check(request.query)
        works = list_eligible(self._source, self._policy)
        scope = _drop_symbol_filters(
            resolve(request, query, None, lambda: {work.key: language_of(work.key) or "" for work in works})
        )
        if matches is not None:
            notes = list(self._find_notes(works, scope, matches))
            if not request.query.strip():
                return self._finish(_list_notes(notes, request, self._settings), reason)
            scope = scope._replace(paths=frozenset(note.path for note, _ in notes))
        narrowed = self._narrow(works, request, query, scope, find_program())
        return self._finish(self._scan(narrowed, request, query, scope), reason)

    def _scan(
        self, works: Sequence[PlannedFile], request: Request, query: Query, scope: SearchScope
    ) -> SearchAnswer:
        files = read(self._source, self._policy, works)
        admitted = _BoundedFiles(file for file in files if scope.admits(file.path, file.language, ""))
        found = list(self._find_matches(admitted, request, query))
        return admitted.add_cut_remark(self._rank_matches(found, request, query))

    def _rank_matches(
        self, matches: Sequence[tuple[ScoredChunk, tuple[int, ...]]], request: Request, query: Query
    ) -> SearchAnswer:
        lines = {item.candidate.key: numbers for item, numbers in matches}
        pool = [ChunkEvidence(item.candidate, item.score) for item, _ in matches]
        ranking = Ranking(
            Retrieved(pool), query, choose_weights(query, files=request.files, flat=request.flat)
        )
        if request.flat or request.mode == REGEX:
            ranked = ranking.rank_passages(self._settings.per_file)
            hits = [
                self._make_hit(item, lines[item.candidate.key], query) for item in ranked[: request.limit]
            ]
            return SearchAnswer(tuple(hits), left_out=len(ranked) - len(hits))
        return self._files_found(ranking, lines, request, query)

    def _files_found(
        self, ranking: Ranking, lines: Mapping[Key, tuple[int, ...]], request: Request, query: Query
    ) -> SearchAnswer:
        ranked = ranking.rank_files()
        hits = []
        for file in ranked[: request.limit]:
            best, *further = ranking.list_places(file)
            shown = self._make_hit(ScoredChunk(best, file.score, ("scan",)), lines[best.key], query)
            hits.append(replace(shown, chunks=file.matching, places=tuple(map(show_place, further))))
        return SearchAnswer(tuple(hits), left_out=len(ranked) - len(hits))

    def _find_matches(
        self, files: Iterable[TextFile], request: Request, query: Query
    ) -> Iterator[tuple[ScoredChunk, tuple[int, ...]]]:
        blocks = (block for file in files for block in _split_blocks(file, _list_needles(request, query)))
        if request.mode == REGEX:
            for match in regex.verify(request.query, blocks):
                yield ScoredChunk(match.chunk, 1.0, ("scan",)), match.lines
            return
        for block in blocks:
            score, numbers = _score_block(block, query)
            if score:
                yield ScoredChunk(block, score, ("scan",)), numbers

    def _narrow(
        self, works: Sequence[PlannedFile], request: Request, query: Query, scope: SearchScope, rg: str | None
    ) -> list[PlannedFile]:
        """Works that may match; a path that is not on disk (sparse checkout) is left for the scan."""
        inside = [work for work in works if scope.paths is None or work.key in scope.paths]
        patterns = [request.query] if request.mode == REGEX else query.terms
        if rg is None or not patterns:
            return inside
        present = [work.key for work in inside if os.path.lexists(self._root / work.key)]
        found = ripgrep.find_matching_files(rg, self._root, patterns, present, literal=request.mode != REGEX)
        if found is None:
            return inside
        out = set(present) - found
        return [work for work in inside if work.key not in out]

    def _find_notes(
        self, works: Sequence[PlannedFile], scope: SearchScope, matches: Callable[[Entity], bool]
    ) -> Iterator[tuple[Note, TextFile]]:
        for file in read(
            self._source, self._policy, works, lambda path: scope.paths is None or path in scope.paths
        ):
            matter = frontmatter.split_matter(file.data) if file.language in frontmatter.LANGUAGES else None
            entity = frontmatter.read_entity(matter) if matter else None
            if entity is not None and scope.admits(file.path, file.language, "") and matches(entity):
                yield Note(file.path, entity), file

    def _make_hit(self, item: ScoredChunk, numbers: tuple[int, ...], query: Query) -> Hit:
        found = item.candidate
        most = self._settings.snippet_lines
        text = found.text or ""
        cut = (
            snippet.excerpt(text, found.start_line, query.terms, most)
            if query.terms
            else snippet.excerpt_around(
                text, found.start_line, numbers[0] if numbers else found.start_line, most
            )
        )
        where = found.path, cut.start_line, cut.end_line
        return Hit(*where, item.score, ("scan",), hit.TEXT, cut.text, cut.start_line, matches=numbers)

    def _finish(self, answer: SearchAnswer, reason: str) -> SearchAnswer:
        bounded = hit.fit_to_budget(answer, self._settings.max_answer_chars)
        return replace(bounded, degraded=reason)


def _drop_symbol_filters(scope: SearchScope) -> SearchScope:
    return scope._replace(kinds=None, not_kinds=frozenset())


def _list_needles(request: Request, query: Query) -> list[str]:
    """Lower-case text of which a matching file has at least one piece; empty: any file may match."""
    return [] if request.mode == REGEX else query.terms


class _BoundedFiles:
    """As many files as somebody may be asked to wait for."""

    def __init__(self, files: Iterable[TextFile]) -> None:
        self._files = files
        self._is_cut = False

    def __iter__(self) -> Iterator[TextFile]:
        used = 0
        for file in self._files:
            used += len(file.data)
            self._is_cut = used > _MAX_BYTES
            if self._is_cut:
                return
            yield file

    def add_cut_remark(self, answer: SearchAnswer) -> SearchAnswer:
        if not self._is_cut:
            return answer
        note = f"the scan stopped after {_MAX_BYTES >> 20} MiB of text: narrow it with path:, or index"
        return replace(answer, at_least=True, notes=(*answer.notes, note))


def _split_blocks(file: TextFile, needles: Sequence[str]) -> Iterator[RetrievedChunk]:
    lowered = file.text.lower()
    if needles and not any(needle in lowered for needle in needles):
        return
    lines = file.text.split("\n")
    for at in range(0, len(lines), _BLOCK):
        text = "\n".join(lines[at : at + _BLOCK])
        if text.strip():
            last = min(at + _BLOCK, len(lines))
            yield RetrievedChunk(file.path, at // _BLOCK, "text", file.language, at + 1, last, "", "", text)


def _score_block(block: RetrievedChunk, query: Query) -> tuple[float, tuple[int, ...]]:
    """The share of wanted words in the block, 0 when a phrase is missing or an excluded one occurs."""
    terms = query.terms
    text = (block.text or "").lower()
    present = [term for term in terms if term in text]
    if not present:
        return 0.0, ()
    words = subwords(block.text or "")
    have = set(words)
    joined = f" {' '.join(words)} "
    if not all(f" {' '.join(subwords(phrase))} " in joined for phrase in query.phrases):
        return 0.0, ()
    if any(f" {' '.join(subwords(phrase))} " in joined for phrase in query.excluded):
        return 0.0, ()
    begun = sum(any(word.startswith(prefix) for word in have) for prefix in query.prefixes)
    score = (len(have & set(terms)) + begun) / (len(terms) + len(query.prefixes))
    numbers = [
        block.start_line + at
        for at, line in enumerate((block.text or "").split("\n"))
        if any(term in line.lower() for term in present)
    ]
    return score, tuple(numbers)


def _list_notes(
    notes: Sequence[tuple[Note, TextFile]], request: Request, settings: QuerySettings
) -> SearchAnswer:
    texts = {note.path: file.text for note, file in notes}
    ordered = metadata.sort_notes(note for note, _ in notes)
    shown = ordered[: request.limit]
    hits = []
    for note in shown:
        cut = snippet.excerpt(texts[note.path], 1, (), settings.snippet_lines)
        hits.append(Hit(note.path, 1, cut.end_line, 1.0, ("metadata", "scan"), hit.TEXT, cut.text, 1))
    return SearchAnswer(tuple(hits), left_out=len(ordered) - len(hits))
