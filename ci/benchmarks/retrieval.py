"""Retrieval quality: NDCG@10 of every mode against BM25 with the default tokenizer and a transformer, per project.

One relevant function per query; a hit counts when its lines touch the function's. All systems rank the same chunks:
those of the product's own index. Path and name of a chunk are part of what the word baseline sees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import history, pools, transformer
from benchmarks.measure import Row
from benchmarks.pools import Pool, Query
from benchmarks.systems import BASELINE, BEST_PLACE, DEPTH, MODES, TWO_PLACES, Encode, Result, systems
from benchmarks.transformer import Transformer
from gitindex.config import Environment
from gitindex.ops.codebase import open_codebase
from gitindex.ops.syncing.sync import sync
from gitindex.view.snapshot import open_active

PARTS = ("lexical", "dense")
# Held out: what passages found before files were results, and what two places of files must find.
LEAST = {
    ("named", "hybrid"): 0.646,
    ("anonymous", "hybrid"): 0.452,
    ("named", TWO_PLACES): 0.66,
    ("anonymous", TWO_PLACES): 0.47,
}
Projects = Mapping[str, tuple[str, ...]]


@dataclass
class Scores:
    """NDCG@10 of every query by (project, variant, system)."""

    cells: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)

    def of(self, project: str, variant: str, system: str) -> float:
        return float(np.mean(self.cells.get((project, variant, system), [math.nan])))

    def mean(self, projects: Sequence[str], variant: str, system: str) -> float:
        """Every project counts alike."""
        return float(np.mean([self.of(name, variant, system) for name in projects]))

    def queries(self, project: str, variant: str) -> int:
        return len(self.cells.get((project, variant, BASELINE), []))


def run(cache: Path, quick: bool) -> list[Row]:
    """What the release promises, on projects that neither training nor tuning saw."""
    # No promise is about the tuned ones.
    projects = pools.HELD_OUT if quick else {**pools.TUNED, **pools.HELD_OUT}
    scores = measure(cache, projects, pools.POOL_CHARS, log=_say)
    print(tables(scores, [BASELINE, *MODES, BEST_PLACE, TWO_PLACES]), flush=True)
    rows = list(promises(scores))
    if not quick and transformer.installed():
        encode = Transformer(cache, _say).encode
        compared = measure(cache, pools.HELD_OUT, pools.SMALL_CHARS, encode, _say)
        print(tables(compared, [BASELINE, *MODES, transformer.NAME]), flush=True)
        rows += against_transformer(compared)
    elif not quick:
        _say(f"no comparison with {transformer.NAME}: pip install {' '.join(transformer.PACKAGES)}")
    asked = history.measure(Path(__file__).resolve().parents[2], cache)
    print(asked.table(), flush=True)
    return [*rows, *asked.promises()]


def measure(
    cache: Path,
    projects: Projects,
    chars: int,
    encode: Encode | None = None,
    log: Callable[[str], Any] = lambda _: None,
) -> Scores:
    scores = Scores()
    for name, specs in projects.items():
        for variant in pools.VARIANTS:
            found = evaluate(pools.build(name, specs, variant, cache, chars), cache, encode)
            scores.cells.update({(name, variant, system): gains for system, gains in found.items()})
            told = ", ".join(f"{system} {scores.of(name, variant, system):.3f}" for system in found)
            log(f"{name} {variant}, {scores.queries(name, variant)} queries: {told}")
    return scores


def evaluate(pool: Pool, cache: Path, encode: Encode | None) -> dict[str, list[float]]:
    codebase = open_codebase(pool.root, Environment(cache / "homes" / "retrieval"))
    sync(codebase)
    view = open_active(codebase.layout)
    assert view is not None
    with view:
        return {
            system: [ndcg(query, ask(query.text)) for query in pool.queries]
            for system, ask in systems(codebase, view, encode)
        }


def ndcg(query: Query, found: Sequence[Result]) -> float:
    """By the first result of which one place is the function."""
    for rank, places in enumerate(found[:DEPTH], 1):
        for path, first, last in places:
            if path == query.path and first <= query.end_line and query.start_line <= last:
                return 1 / math.log2(rank + 1)
    return 0.0


def _say(text: str) -> None:
    print(text, flush=True)


# -- reports ------------------------------------------------------------------------------------------


def tables(scores: Scores, shown: Sequence[str]) -> str:
    """Markdown: one table per variant, tuned and held-out projects told apart."""
    parts = []
    for variant in pools.VARIANTS:
        lines = [
            f"| {variant} | | queries | " + " | ".join(shown) + " |",
            "|---|---|---|" + "---|" * len(shown),
        ]
        for group, projects in (("tuned", pools.TUNED), ("held out", pools.HELD_OUT)):
            here = [name for name in projects if scores.queries(name, variant)]
            for name in here:
                values = " | ".join(f"{scores.of(name, variant, system):.3f}" for system in shown)
                lines.append(f"| {name} | {group} | {scores.queries(name, variant)} | {values} |")
            if here:
                means = " | ".join(f"**{scores.mean(here, variant, system):.3f}**" for system in shown)
                total = sum(scores.queries(name, variant) for name in here)
                lines.append(f"| **mean** | {group} | {total:,} | {means} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def promises(scores: Scores) -> Iterator[Row]:
    held = list(pools.HELD_OUT)
    for (variant, system), least in LEAST.items():
        ours = scores.mean(held, variant, system)
        yield Row(f"{variant}: {system}, at least", f"{ours:.3f}", f"{least:.3f}", least / ours, 1.0)
    for variant in pools.VARIANTS:
        base, ours = scores.mean(held, variant, BASELINE), scores.mean(held, variant, "hybrid")
        what = f"{variant}: 1.2 × BM25, default tokenizer"
        yield Row(what, f"{ours:.3f}", f"{base:.3f}", 1.2 * base / ours, 1.0)
        for name in held:
            best = max(scores.of(name, variant, part) for part in PARTS)
            hybrid = scores.of(name, variant, "hybrid")
            what = f"{variant}, {name}: the better of its parts"
            yield Row(what, f"{hybrid:.3f}", f"{best:.3f}", best / hybrid, 1.0)


def against_transformer(scores: Scores) -> Iterator[Row]:
    held = list(pools.HELD_OUT)
    for variant in pools.VARIANTS:
        theirs, ours = (scores.mean(held, variant, system) for system in (transformer.NAME, "dense"))
        what = f"{variant}: 0.95 × {transformer.NAME}, dense alone"
        yield Row(what, f"{ours:.3f}", f"{theirs:.3f}", 0.95 * theirs / ours, 1.0)
