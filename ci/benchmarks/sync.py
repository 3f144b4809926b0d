"""Incremental sync in a fresh process, its growth with the repository, the no-op, and the second worktree."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from benchmarks import corpus
from benchmarks.measure import Row, child, environment, gitindex, show, summary, timed


def run(cache: Path, quick: bool) -> list[Row]:
    runs = 3 if quick else 9
    one = _Indexed(corpus.DJANGO, cache, 1)
    # Four copies of Django take a minute to build: the short form compares a smaller repository with its own copies.
    grown = corpus.TYPESCRIPT if quick else corpus.DJANGO
    base = _Indexed(grown, cache, 1) if quick else one
    four = _Indexed(grown, cache, 4)
    small = one.change(runs)
    before, large = (base.change(runs) if quick else small), four.change(runs)
    noop = timed(lambda: child(gitindex("sync"), one.root, one.env), runs)
    status = timed(lambda: corpus.git(one.root, "status"), runs)
    rows = [
        Row("sync of one changed file", str(small), "1 s", small.median / 1.0, 1.0, "fresh process"),
        Row(
            "the same, repository 4 × larger",
            str(large),
            show(before.median),
            large.median / before.median,
            1.3,
            grown if quick else "",
        ),
        Row(
            "sync with nothing to do",
            str(noop),
            f"git status {show(status.median)}",
            noop.median / status.median,
            5.0,
        ),
        one.worktree(),
    ]
    for count in (10, 100) if quick else (10, 100, 1000):
        many = one.change(1 if quick else 3, count)
        rows.append(Row(f"sync of {count} changed files", str(many), show(small.median), None, None))
    return rows


class _Indexed:
    def __init__(self, what: str, cache: Path, copies: int) -> None:
        self.root = corpus.repository(what, cache, copies)
        self.home = cache / "homes" / f"sync-{corpus.label(what)}-x{copies}"
        self.env = environment(self.home)
        shutil.rmtree(self.home, ignore_errors=True)
        self.build = child(gitindex("sync", "--json"), self.root, self.env)
        names = corpus.git(self.root, "ls-files", "-z").split("\0")
        self.files = [name for name in names if name.endswith((".py", ".ts"))]
        self._turn = 0

    def change(self, runs: int, count: int = 1):
        samples = []
        for _ in range(runs):
            self._turn += 1
            for at in range(count):
                name = self.files[(self._turn * 7919 + at * 31) % len(self.files)]
                corpus.edit(self.root / name, f"bench_{self._turn}_{at}")
            started = time.perf_counter()
            done = child(gitindex("sync", "--json"), self.root, self.env)
            samples.append(time.perf_counter() - started)
            assert not json.loads(done.out)["noop"]
        return summary(samples)

    def worktree(self) -> Row:
        """A second worktree starts from the first by hard links (ST-4)."""
        corpus.git(self.root, "checkout", "-q", ".")
        child(gitindex("sync"), self.root, self.env)
        other = self.root.parent / f"{self.root.name}-second"
        shutil.rmtree(other, ignore_errors=True)
        corpus.git(self.root, "worktree", "prune")
        corpus.git(self.root, "worktree", "add", "-q", "--detach", str(other))
        try:
            done = child(gitindex("sync", "--json"), other, self.env)
        finally:
            corpus.git(self.root, "worktree", "remove", "--force", str(other))
        return Row(
            "first sync of a second worktree", show(done.wall), f"full build {show(self.build.wall)}",
            done.wall / self.build.wall, None,
        )  # fmt: skip
