"""What a fetch tells: where it started, what travelled, who signed it, and what it saved."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from gitindex.git.repo import distance
from gitindex.model.manifest import GitFailure
from gitindex.ops.sharing.download_snapshot import Obtained
from gitindex.ops.sharing.published_snapshots import Finder, Published
from gitindex.ops.sharing.remote_session import Share
from gitindex.ops.syncing.sync_report import SyncReport


@dataclass(frozen=True, slots=True)
class FetchReport:
    status: str
    base_commit: str
    target_commit: str
    distance: int | None
    objects: dict[str, int]
    bytes: dict[str, int]
    caught_up: dict[str, int]
    signer: str
    elapsed_ms: int
    snapshot_id: str
    remote: str
    repository: str
    built_ms: int  # what building took, as the publisher signed it
    builder: str
    saved_ms: int
    rotated: tuple[str, ...]  # keys trusted from now on, because trusted ones handed over to them
    passed_over: tuple[dict[str, Any], ...]
    fallback: GitFailure | None = None  # git failed so: the files were scanned to catch up


def report(
    share: Share,
    target: str,
    found: Published,
    obtained: Obtained | None,
    done: SyncReport,
    finder: Finder,
    started: float,
) -> FetchReport:
    elapsed = round((time.monotonic() - started) * 1000)
    claim = found.claim
    return FetchReport(
        status="ok",
        base_commit=found.commit,
        target_commit=target,
        distance=0 if found.commit == target else distance(share.repo, found.commit, target),
        objects=obtained.objects if obtained else {"downloaded": 0, "reused": claim.totals.artifacts},
        bytes=obtained.bytes if obtained else {"downloaded": 0, "reused": claim.totals.size},
        caught_up=done.changes,
        signer=found.signer,
        elapsed_ms=elapsed,
        snapshot_id=done.snapshot_id,
        remote=share.url,
        repository=share.repository,
        built_ms=claim.build_ms,
        builder=claim.builder,
        saved_ms=max(0, claim.build_ms - elapsed),
        rotated=(),
        passed_over=tuple({"code": one.code, "message": one.message} for one in finder.refusals),
        fallback=done.fallback,
    )
