"""What a fetch tells: where it started, what travelled, who signed it, and what it saved."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from gitindex.git.repo import distance
from gitindex.model.manifest import GitFailure
from gitindex.ops.sharing.download_snapshot import DownloadedSnapshot
from gitindex.ops.sharing.published_snapshots import PublishedFinder, PublishedSnapshot
from gitindex.ops.sharing.remote_session import RemoteSession
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


def make_fetch_report(
    session: RemoteSession,
    target: str,
    published: PublishedSnapshot,
    downloaded: DownloadedSnapshot | None,
    sync_report: SyncReport,
    finder: PublishedFinder,
    started: float,
) -> FetchReport:
    elapsed = round((time.monotonic() - started) * 1000)
    claim = published.claim
    return FetchReport(
        status="ok",
        base_commit=published.commit,
        target_commit=target,
        distance=0 if published.commit == target else distance(session.repo, published.commit, target),
        objects=downloaded.objects if downloaded else {"downloaded": 0, "reused": claim.totals.artifacts},
        bytes=downloaded.bytes if downloaded else {"downloaded": 0, "reused": claim.totals.size},
        caught_up=sync_report.changes,
        signer=published.signer,
        elapsed_ms=elapsed,
        snapshot_id=sync_report.snapshot_id,
        remote=session.url,
        repository=session.repository,
        built_ms=claim.build_ms,
        builder=claim.builder,
        saved_ms=max(0, claim.build_ms - elapsed),
        rotated=(),
        passed_over=tuple({"code": refusal.code, "message": refusal.message} for refusal in finder.refusals),
        fallback=sync_report.fallback,
    )
