"""The report of a sync."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gitindex.model.change_set import ChangeSet
from gitindex.model.frozen import frozen
from gitindex.model.manifest import Counts, FileError, GitFailure, Manifest
from gitindex.model.skips import SkipReason

if TYPE_CHECKING:
    from gitindex.indexing.vectors import Vectors
    from gitindex.indexing.write import WriteResult


@frozen
class SyncReport:
    status: str
    snapshot_id: str
    parent_snapshot_id: str | None
    noop: bool
    changes: dict[str, int]
    counts: dict[str, int]
    elapsed_ms: int
    timings_ms: dict[str, int]  # of plan, write and publish
    phases_ms: dict[str, int]  # of the named steps, in their order
    embedded: int  # chunks whose vectors were computed
    reused: int  # chunks whose vectors came from the cache
    commit: str | None
    degraded: bool
    errors: tuple[FileError, ...]
    unreadable: int = 0  # files and directories left out because they could not be read
    seeded_from: str | None = None
    fallback: GitFailure | None = None  # how git failed, where the files were scanned instead
    damage: GitFailure | None = None  # an object that git cannot read, whose bytes the working tree still has


def make_noop_report(manifest: Manifest, started: float) -> SyncReport:
    return SyncReport(
        status="ok",
        snapshot_id=manifest.snapshot_id,
        parent_snapshot_id=manifest.parent_snapshot_id,
        noop=True,
        changes=ChangeSet().count_by_kind(),
        counts=_summarize_counts(manifest.counts),
        elapsed_ms=elapsed_ms(started),
        timings_ms={},
        phases_ms={},
        embedded=0,
        reused=0,
        commit=manifest.git.head_sha,
        degraded=manifest.degraded,
        errors=manifest.errors,
        unreadable=manifest.counts.skipped.get(SkipReason.UNREADABLE, 0),
        fallback=manifest.git.failure,
    )


def make_sync_report(
    manifest: Manifest,
    outcome: WriteResult,
    vectors: Vectors,
    phases: dict[str, int],
    started: float,
    written_at: float,
    seeded_from: str | None,
    damage: GitFailure | None,
) -> SyncReport:
    return SyncReport(
        status="ok",
        snapshot_id=manifest.snapshot_id,
        parent_snapshot_id=manifest.parent_snapshot_id,
        noop=False,
        changes=outcome.changes.count_by_kind(),
        counts=_summarize_counts(manifest.counts),
        elapsed_ms=elapsed_ms(started),
        timings_ms={**manifest.timings_ms, "publish": elapsed_ms(written_at)},
        phases_ms=phases,
        embedded=vectors.embedded,
        reused=vectors.reused,
        commit=manifest.git.head_sha,
        degraded=manifest.degraded,
        errors=manifest.errors,
        unreadable=manifest.counts.skipped.get(SkipReason.UNREADABLE, 0),
        seeded_from=seeded_from,
        fallback=manifest.git.failure,
        damage=damage,
    )


def _summarize_counts(counts: Counts) -> dict[str, int]:
    return {"files": counts.files_indexed, "chunks": counts.chunks_indexed}


def elapsed_ms(since: float) -> int:
    return round((time.monotonic() - since) * 1000)
