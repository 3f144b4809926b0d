"""Many large syncs over the history of a real repository: distant commits, with small steps between them.

A distant commit deletes hundreds of paths and adds thousands of chunks at once; the small steps leave the many small
lexical segments that Tantivy merges just then. No publish may be refused, not even at its first try.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

from gitindex.config import load_environment
from gitindex.errors import GitindexError
from gitindex.lifecycle.digest import Digest, compute_digest
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.syncing.maintenance import maintain_after_sync
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_report import SyncReport
from gitindex.store import log
from gitindex.view.snapshot import open_active
from soaking.world import Violation

_SMALL_STEPS = 2  # between two distant commits
_NEAR = 20  # commits
_FAR = 300
_REBUILD_EVERY = 50  # large syncs
_RECENT = 6000  # commits: older ones have few files


class Walk:
    """A clone of `repository` below `base`, its index, and what was counted on the way."""

    def __init__(self, repository: Path, base: Path, seed: int) -> None:
        self.root, self.home, self.clean_home = base / "clone", base / "home", base / "clean"
        self.counts: Counter[str] = Counter()
        self._dice = random.Random(seed)
        _git(base, "clone", "--quiet", "--shared", "--no-checkout", str(repository), str(self.root))
        first_parents = ("rev-list", "--first-parent", f"--max-count={_RECENT}", "HEAD")
        self._commits = _git(self.root, *first_parents).split()
        self._place = 0

    def step_near(self) -> None:
        """Sync a commit close by."""
        moved = self._place + self._dice.randint(-_NEAR, _NEAR)
        self._place = min(len(self._commits) - 1, max(0, moved))
        self.counts["small syncs"] += not self._sync().noop

    def step_far(self) -> None:
        """Sync a commit at least `_FAR` commits away."""
        far = [place for place in range(len(self._commits)) if abs(place - self._place) >= _FAR]
        self._place = self._dice.choice(far or range(len(self._commits)))
        report = self._sync()
        self.counts["large syncs"] += not report.noop
        self.counts["files changed by them"] += sum(report.changes.values())

    def compare_with_clean_build(self) -> None:
        """Raises Violation when they differ."""
        incremental = self._digest(self.home)
        sync(self._codebase(self.clean_home))
        if self._digest(self.clean_home) != incremental:
            raise Violation(f"the index of {self._commits[self._place]} differs from a clean build")
        shutil.rmtree(self.clean_home)
        self.counts["clean builds compared"] += 1

    def _sync(self) -> SyncReport:
        commit = self._commits[self._place]
        _git(self.root, "checkout", "--quiet", "--force", "--detach", commit)
        codebase = self._codebase(self.home)
        retried = len(log.read_entries(codebase.layout, "publish_retried"))
        try:
            report = sync(codebase)
        except GitindexError as error:
            raise Violation(f"the sync of {commit} failed: {error}") from error
        if len(log.read_entries(codebase.layout, "publish_retried")) > retried:
            raise Violation(f"the gate refused the first try of {commit}")
        self.counts["compactions"] += maintain_after_sync(codebase).compacted
        return report

    def _digest(self, home: Path) -> Digest:
        view = open_active(self._codebase(home).layout)
        assert view is not None
        with view:
            return compute_digest(view)

    def _codebase(self, home: Path) -> Codebase:
        os.environ["GITINDEX_HOME"] = str(home)
        return open_codebase(self.root, load_environment())


def live(repository: Path, base: Path, seed: int, syncs: int) -> str | None:
    """Make `syncs` large syncs; the violation in words, or None."""
    started = time.monotonic()
    walk = Walk(repository, base, seed)
    for number in range(1, syncs + 1):
        try:
            for _ in range(_SMALL_STEPS):
                walk.step_near()
            walk.step_far()
            if number % _REBUILD_EVERY == 0:
                walk.compare_with_clean_build()
        except Violation as violation:
            return f"at large sync {number}: {violation}"
        if number % 10 == 0 or number == syncs:
            said = ", ".join(f"{name} {count:,}" for name, count in sorted(walk.counts.items()))
            print(f"{number} of {syncs} in {time.monotonic() - started:.0f} s: {said}", flush=True)
    return None


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout
