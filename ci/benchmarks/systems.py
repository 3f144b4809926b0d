"""What is compared: systems that answer a sentence with places, all over the chunks of one product index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks import transformer
from gitindex.extract.embed.document import compose_embed_text
from gitindex.extract.embed.embedders import open_embedder
from gitindex.ops.codebase import Codebase
from gitindex.search.engine import Engine
from gitindex.search.filekind import file_kind
from gitindex.search.request import Request
from gitindex.view.snapshot import SnapshotView

DEPTH = 10
FILE_DEPTH = 400  # chunks that the baseline looks through for ten files, as many as the product does
BASELINE = "bm25"
MODES = {"lexical": "lexical", "dense": "semantic", "hybrid": "hybrid"}

BEST_PLACE, TWO_PLACES = "best place", "two places"  # of files, as the product answers by default

Place = tuple[str, int, int]  # path, first line, last line
Result = Sequence[Place]  # several places of one file, or one alone
Ask = Callable[[str], Sequence[Result]]
FileAsk = Callable[[str, Sequence[str]], Sequence[str]]  # a question, the kinds of files wanted → paths
Encode = Callable[[Sequence[str]], Any]


def systems(
    codebase: Codebase, view: SnapshotView, encode: Encode | None = None
) -> Iterator[tuple[str, Ask]]:
    """Name and system, the transformer only with `encode`."""
    chunks = [chunk for chunk in view.lexical.iter_documents() if chunk.text.strip()]
    yield BASELINE, _bm25(chunks)
    engine = _engine(codebase, view)
    for system, mode in MODES.items():
        yield system, _passages(engine, mode)
    yield BEST_PLACE, _places(engine, 1)
    yield TWO_PLACES, _places(engine, 2)
    if encode is not None:
        yield transformer.NAME, _nearest(chunks, encode, codebase.settings.query.per_file)


def file_systems(codebase: Codebase, view: SnapshotView) -> Iterator[tuple[str, FileAsk]]:
    """The same systems, asked for whole files."""
    chunks = [chunk for chunk in view.lexical.iter_documents() if chunk.text.strip()]
    yield BASELINE, _files_of(_bm25(chunks, FILE_DEPTH))
    engine = _engine(codebase, view)
    for system, mode in MODES.items():
        yield system, _product_files(engine, mode)


def _engine(codebase: Codebase, view: SnapshotView) -> Engine:
    settings = codebase.settings
    return Engine(view, codebase.root, settings.query, lambda: open_embedder(settings.embedding))


def _passages(engine: Engine, mode: str) -> Ask:
    """What a user gets with --flat: the answer of the mode, as it comes."""

    def ask(text: str) -> list[Result]:
        hits = engine.search(Request(_plain(text), mode=mode, limit=DEPTH, flat=True)).hits
        return [[(hit.path, hit.start_line, hit.end_line)] for hit in hits]

    return ask


def _places(engine: Engine, most: int) -> Ask:
    """What a user gets by default: files, each with its first places."""

    def ask(text: str) -> list[Result]:
        hits = engine.search(Request(_plain(text), limit=DEPTH)).hits
        return [
            [
                (hit.path, hit.start_line, hit.end_line),
                *((hit.path, place.start_line, place.end_line) for place in hit.places),
            ][:most]
            for hit in hits
        ]

    return ask


def _product_files(engine: Engine, mode: str) -> FileAsk:
    def ask(text: str, kinds: Sequence[str]) -> list[str]:
        request = Request(_plain(text), mode=mode, limit=DEPTH, kinds=tuple(kinds), files=True)
        return [hit.path for hit in engine.search(request).hits]

    return ask


def _files_of(ask: Ask) -> FileAsk:
    """Files in the order of their best chunks."""

    def files(text: str, kinds: Sequence[str]) -> list[str]:
        paths = dict.fromkeys(path for result in ask(text) for path, _, _ in result)
        return [path for path in paths if not kinds or file_kind(path) in kinds][:DEPTH]

    return files


def _plain(text: str) -> str:
    """A sentence, not the query language: quotes and colons in a docstring are no operators."""
    return " ".join(text.replace('"', " ").replace(":", " ").replace(" -", " ").split())


def _bm25(chunks: Sequence[Any], depth: int = DEPTH) -> Ask:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="default")
    builder.add_unsigned_field("at", stored=True)
    index = tantivy.Index(builder.build())
    writer = index.writer(50_000_000, 1)
    for at, chunk in enumerate(chunks):
        writer.add_document(tantivy.Document(text=f"{chunk.path} {chunk.symbol}\n{chunk.text}", at=at))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(text: str) -> list[Result]:
        query, _ = index.parse_query_lenient(_plain(text), ["text"])
        found = [searcher.doc(address)["at"][0] for _, address in searcher.search(query, depth).hits]
        return [[_place(chunks[at])] for at in found]

    return ask


def _nearest(chunks: Sequence[Any], encode: Encode, per_file: int) -> Ask:
    """By cosine of the documents that the product embeds too, under the product's rule of so many hits per file."""
    matrix = encode([compose_embed_text(chunk.symbol, chunk.text) for chunk in chunks])

    def ask(text: str) -> list[Result]:
        seen: Counter[str] = Counter()
        found: list[Result] = []
        for at in np.argsort(-(matrix @ encode([text])[0]), kind="stable"):
            seen[chunks[at].path] += 1
            if seen[chunks[at].path] <= per_file:
                found.append([_place(chunks[at])])
        return found[:DEPTH]

    return ask


def _place(chunk: Any) -> Place:
    return chunk.path, chunk.start_line, chunk.end_line
