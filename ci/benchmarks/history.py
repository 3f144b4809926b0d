"""Commit subject → changed files, over the history of a repository that is at hand (by default our own)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import git
from benchmarks.systems import DEPTH, Ask, systems
from gitindex.config import Environment
from gitindex.ops.codebase import open_codebase
from gitindex.ops.sync import sync
from gitindex.ops.target import SyncOptions
from gitindex.view.snapshot import open_active

COMMITS, MOST_FILES, MIN_WORDS = 300, 8, 3


class Change(NamedTuple):
    subject: str
    paths: frozenset[str]


class Asked(NamedTuple):
    """Mean NDCG@10 of the files of each system's hits."""

    repository: str
    commits: int
    means: dict[str, float]

    def table(self) -> str:
        head = f"| subject → files, {self.commits} commits of {self.repository} | " + " | ".join(self.means)
        values = " | ".join(f"{value:.3f}" for value in self.means.values())
        return f"{head} |\n|---|{'---|' * len(self.means)}\n| NDCG@10 | {values} |"


def measure(root: Path, cache: Path) -> Asked:
    codebase = open_codebase(root, Environment(cache / "homes" / "history"))
    sync(codebase, SyncOptions(commit_only=True))
    view = open_active(codebase.layout)
    assert view is not None
    with view:
        indexed = {record.path for record in view.records() if not record.skip}
        asked = list(changes(root, indexed))[:COMMITS]
        means = {system: _mean(asked, ask) for system, ask in systems(codebase, view)}
    return Asked(codebase.root.name, len(asked), means)


def changes(root: Path, indexed: set[str]) -> Iterator[Change]:
    """Commits without merges that touch a few files which are still there, newest first, each subject once."""
    log = git(root, "log", "--no-merges", "--name-only", "--format=%x00%s")
    seen: set[str] = set()
    for entry in log.split("\0")[1:]:
        subject, _, names = entry.partition("\n")
        paths = frozenset(name for name in names.split("\n") if name in indexed)
        told = len(subject.split()) >= MIN_WORDS and subject not in seen
        seen.add(subject)
        if told and 1 <= len(paths) <= MOST_FILES:
            yield Change(subject, paths)


def _mean(asked: Sequence[Change], ask: Ask) -> float:
    gains = [ndcg(change, [path for path, _, _ in ask(change.subject)]) for change in asked]
    return sum(gains) / max(1, len(gains))


def ndcg(change: Change, found: Sequence[str]) -> float:
    ranked = list(dict.fromkeys(found))[:DEPTH]
    gain = sum(1 / math.log2(at + 1) for at, path in enumerate(ranked, 1) if path in change.paths)
    ideal = sum(1 / math.log2(at + 1) for at in range(1, min(DEPTH, len(change.paths)) + 1))
    return gain / ideal
