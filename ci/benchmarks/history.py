"""Commit subject → changed files, over the history of a repository that is at hand (by default our own)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import git
from benchmarks.measure import Row
from benchmarks.systems import BASELINE, DEPTH, MODES, FileAsk, file_systems
from gitindex.config import Environment
from gitindex.ops.codebase import open_codebase
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.search.filekind import file_kind
from gitindex.view.snapshot import open_active

COMMITS, MOST_FILES, MIN_WORDS = 300, 8, 3
ALL = "all changed files"
SOURCE = "source code, asked for with kind:code"  # no tests, docs or settings
AMONG = "source code, among all files"  # the same commits, every test and page in the way


class Change(NamedTuple):
    subject: str
    paths: frozenset[str]


class Asked(NamedTuple):
    """Mean NDCG@10 of each system's files, by what is looked for."""

    repository: str
    commits: dict[str, int]
    means: dict[str, dict[str, float]]  # of what → system → mean

    def table(self) -> str:
        names = list(next(iter(self.means.values())))
        lines = [
            f"| subject → files of {self.repository} | commits | {' | '.join(names)} |",
            "|---|---|" + "---|" * len(names),
        ]
        for what, means in self.means.items():
            values = " | ".join(f"{value:.3f}" for value in means.values())
            lines.append(f"| {what} | {self.commits[what]} | {values} |")
        return "\n".join(lines)

    def promises(self) -> Iterator[Row]:
        """Hybrid is bound to its parts. BM25 is only shown: of all changed files here it finds as much."""
        for what in (ALL, SOURCE):
            means = self.means[what]
            parts = max(means[name] for name in MODES if name != "hybrid")
            yield _row(f"subject → {what}: the better of its parts", means["hybrid"], parts, 1.0)
            yield _row(f"subject → {what}: BM25, default tokenizer", means["hybrid"], means[BASELINE], None)


def _row(name: str, hybrid: float, other: float, bound: float | None) -> Row:
    return Row(name, f"{hybrid:.3f}", f"{other:.3f}", other / hybrid if hybrid else None, bound)


def measure(root: Path, cache: Path) -> Asked:
    codebase = open_codebase(root, Environment(cache / "homes" / "history"))
    sync(codebase, SyncOptions(commit_only=True))
    view = open_active(codebase.layout)
    assert view is not None
    with view:
        indexed = {record.path for record in view.records() if not record.skip}
        code = {path for path in indexed if file_kind(path) == "code"}
        everything = list(changes(root, indexed))[:COMMITS]
        source = list(changes(root, code))[:COMMITS]
        groups = {ALL: (everything, ()), SOURCE: (source, ("code",)), AMONG: (source, ())}
        compared = list(file_systems(codebase, view))
        means = {
            what: {system: _mean(asked, ask, kinds) for system, ask in compared}
            for what, (asked, kinds) in groups.items()
        }
    return Asked(codebase.root.name, {what: len(asked) for what, (asked, _) in groups.items()}, means)


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


def _mean(asked: Sequence[Change], ask: FileAsk, kinds: Sequence[str]) -> float:
    gains = [ndcg(change, ask(change.subject, kinds)) for change in asked]
    return sum(gains) / max(1, len(gains))


def ndcg(change: Change, found: Sequence[str]) -> float:
    ranked = list(dict.fromkeys(found))[:DEPTH]
    gain = sum(1 / math.log2(at + 1) for at, path in enumerate(ranked, 1) if path in change.paths)
    ideal = sum(1 / math.log2(at + 1) for at in range(1, min(DEPTH, len(change.paths)) + 1))
    return gain / ideal
