"""Growth: cost against size, for everything that grows. Each curve comes with the slope of its logarithms.

Repository × 1, 2, 4, 8; changed files 1 … 1,000; segments 1 … 64; exact occurrences 10⁵ … 5·10⁶; writers 1 … 8.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import corpus, madescip, semantic
from benchmarks.measure import SECONDS, Curve, Section, child, environment, gitindex, summary, timed

WORDS = ("provide", "Effect", "schedule", "makeRuntime", "decodeUnknown")


def run(cache: Path, quick: bool) -> Section:
    what = corpus.TYPESCRIPT if quick else corpus.DJANGO
    runs = 2 if quick else 5
    grown = {copies: Store(cache, what, copies) for copies in ((1, 2, 4) if quick else (1, 2, 4, 8))}
    curves = [
        *_repository(grown, runs),
        # A thousand files are more than one copy of the smaller corpus has.
        _changes(grown[4 if quick else 1], 1 if quick else 3),
        *_segments(cache, runs),
        *_occurrences(cache, (100_000, 300_000) if quick else (100_000, 300_000, 1_000_000, 5_000_000)),
        _writers(cache, runs),
    ]
    text = (
        f"Repository and changed files: {what}, copied side by side. Segments and writers: {corpus.TYPESCRIPT}. "
        "Occurrences: made by `ci/benchmarks/madescip.py`. Times of the repository, changed files and writers are "
        "those of fresh processes."
    )
    return Section(curves=curves, text=text)


class Store:
    """A repository and an index home of its own."""

    def __init__(self, cache: Path, what: str, copies: int = 1, name: str = "scale") -> None:
        self.root = corpus.repository(what, cache, copies)
        self.home = cache / "homes" / f"{name}-{corpus.label(what)}-x{copies}"
        shutil.rmtree(self.home, ignore_errors=True)
        self.env = environment(self.home)
        self.built = child(gitindex("sync", "--json"), self.root, self.env).wall
        names = corpus.git(self.root, "ls-files", "-z").split("\0")
        self.files = [name for name in names if name.endswith((".py", ".ts"))]
        self._turn = 0

    def edit(self, count: int = 1) -> None:
        self._turn += 1
        for at in range(count):
            name = self.files[(self._turn * 7919 + at * 31) % len(self.files)]
            corpus.edit(self.root / name, f"grown_{self._turn}_{at}")

    def changed(self, runs: int, count: int = 1) -> float:
        samples = []
        for _ in range(runs):
            self.edit(count)
            samples.append(child(gitindex("sync"), self.root, self.env).wall)
        return summary(samples).median

    def asked(self, runs: int, *arguments: str) -> float:
        return timed(lambda: child(gitindex(*arguments), self.root, self.env), runs).median


def _repository(grown: dict[int, Store], runs: int) -> Iterator[Curve]:
    names = ("full build", "sync of one file", "sync with nothing to do", "cold lexical search")
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for copies, store in grown.items():
        found = (
            store.built,
            store.changed(runs + 1),
            store.asked(runs, "sync"),
            store.asked(runs, "search", "provide", "--mode", "lexical"),
        )
        for name, seconds in zip(names, found, strict=True):
            costs[name].append((float(copies), seconds))
    return (Curve(name, "copies of the repository", SECONDS, tuple(points)) for name, points in costs.items())


def _changes(store: Store, runs: int) -> Curve:
    points = [(float(count), store.changed(runs, count)) for count in (1, 10, 100, 1000)]
    return Curve("sync", "changed files", SECONDS, tuple(points))


def _segments(cache: Path, runs: int) -> Iterator[Curve]:
    """Every publish adds a segment; without compaction there are as many as publishes."""
    from gitindex.config import Environment
    from gitindex.ops.codebase import open_codebase
    from gitindex.ops.syncing.sync import sync
    from gitindex.ops.syncing.sync_plan import SyncOptions

    store = Store(cache, corpus.TYPESCRIPT, name="segments")
    codebase = open_codebase(store.root, Environment(store.home))
    names = (
        "sync of one file, same process",
        "cold lexical search",
        "warm lexical search",
        "warm hybrid search",
    )
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    spent: list[float] = []
    for number in range(1, 65):
        if number > 1:
            store.edit()
            started = time.perf_counter()
            sync(codebase, SyncOptions(workers=1))
            spent.append(time.perf_counter() - started)
        if number in (1, 2, 4, 8, 16, 32, 64):
            cold = store.asked(runs, "search", "provide", "--mode", "lexical")
            figures = (statistics.median(spent[-3:]) if spent else None, cold, *_warm(codebase, runs))
            for name, seconds in zip(names, figures, strict=True):
                if seconds is not None:
                    costs[name].append((float(number), seconds))
    return (Curve(name, "segments", SECONDS, tuple(points)) for name, points in costs.items())


def _warm(codebase, runs: int) -> tuple[float, float]:
    """Medians of a lexical and a hybrid search in one process."""
    from gitindex.extract.embed.embedders import open_embedder
    from gitindex.search.engine import Engine
    from gitindex.search.request import Request
    from gitindex.view.snapshot import open_active

    with open_active(codebase.layout) as view:
        embed = lambda: open_embedder(codebase.settings.embedding)  # noqa: E731
        engine = Engine(view, codebase.root, codebase.settings.query, embed)

        def median(mode: str) -> float:
            times = [
                timed(lambda word=word: engine.search(Request(word, mode=mode)), runs + 2).median
                for word in WORDS
            ]
            return statistics.median(times)

        return median("lexical"), median("hybrid")


def _occurrences(cache: Path, sizes: Sequence[int]) -> Iterator[Curve]:
    costs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for size in sizes:
        root, index = madescip.project(cache, size)
        home = cache / "homes" / f"occurrences-{size}"
        shutil.rmtree(home, ignore_errors=True)
        child(gitindex("sync"), root, environment(home))
        done = semantic._measure("import", root, home, index)
        asked = semantic._measure("refs", root, home, index, "300")
        found = {
            ("import, processor time", SECONDS): done["cpu"],
            ("import, peak memory", "MiB"): done["memory"] / 2**20,
            ("exact facts on disk", "MiB"): done["bytes"] / 2**20,
            ("find references, p95", SECONDS): asked["p95"],
        }
        for key, value in found.items():
            costs.setdefault(key, []).append((float(done["occurrences"]), value))
        shutil.rmtree(home, ignore_errors=True)
    return (Curve(name, "exact occurrences", unit, tuple(points)) for (name, unit), points in costs.items())


def _writers(cache: Path, runs: int) -> Curve:
    """So many processes at once, each after an edit of its own: the time until all of them are done."""
    store = Store(cache, corpus.TYPESCRIPT, name="writers")
    command = gitindex("sync", "--json", "--wait", "600")
    points = []
    for writers in (1, 2, 4, 8):
        samples = []
        for _ in range(runs):
            store.edit(writers)
            started = time.perf_counter()
            processes = [
                subprocess.Popen(command, cwd=store.root, env=store.env, stdout=subprocess.DEVNULL)
                for _ in range(writers)
            ]
            codes = [process.wait() for process in processes]
            samples.append(time.perf_counter() - started)
            assert codes == [0] * writers, codes
        points.append((float(writers), statistics.median(samples)))
    return Curve("all of them done", "writers at once", SECONDS, tuple(points))
