"""The report of a fetch: the published snapshot it started from, what was transferred, who signed it, what it saved."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gitindex.errors import GitindexError
from gitindex.git.repo import distance
from gitindex.model.manifest import GitFailure
from gitindex.ops.sharing.download_snapshot import DownloadedSnapshot, TransferCounts
from gitindex.ops.sharing.published_snapshots import PublishedSnapshot
from gitindex.ops.sharing.remote_session import RemoteSession
from gitindex.ops.syncing.sync_report import SyncReport
from gitindex.trust.keys import PublicKey


@dataclass(frozen=True, slots=True)
class FetchReport:
    status: str
    base_commit: str
    target_commit: str
    distance: int | None
    objects: dict[str, int]  # downloaded, reused
    bytes: dict[str, int]
    caught_up: dict[str, int]  # changes of the local tree on top of it, by kind
    signer: str
    elapsed_ms: int
    snapshot_id: str
    remote: str
    repository: str
    built_ms: int  # how long the build took, as the publisher signed it
    builder: str
    saved_ms: int
    rotated: tuple[str, ...]  # ids of keys trusted from now on, because trusted keys named them as successors
    passed_over: tuple[dict[str, Any], ...]  # nearer snapshots that were refused, and why
    fallback: GitFailure | None = None  # how git failed, where the files were scanned instead


def make_fetch_report(
    *,
    session: RemoteSession,
    target: str,
    published: PublishedSnapshot,
    downloaded: DownloadedSnapshot | None,
    sync_report: SyncReport,
    refusals: Sequence[GitindexError],
    rotated_keys: Sequence[PublicKey],
    started: float,
) -> FetchReport:
    """`downloaded` is None where the published snapshot was installed already: all of it counts as reused."""
    elapsed = round((time.monotonic() - started) * 1000)
    claim = published.claim
    objects = downloaded.objects if downloaded else TransferCounts(reused=claim.totals.artifacts)
    size = downloaded.bytes if downloaded else TransferCounts(reused=claim.totals.size)
    return FetchReport(
        status="ok",
        base_commit=published.commit,
        target_commit=target,
        distance=0 if published.commit == target else distance(session.repo, published.commit, target),
        objects=objects.to_json(),
        bytes=size.to_json(),
        caught_up=sync_report.changes,
        signer=published.signer,
        elapsed_ms=elapsed,
        snapshot_id=sync_report.snapshot_id,
        remote=session.url,
        repository=session.repository,
        built_ms=claim.build_ms,
        builder=claim.builder,
        saved_ms=max(0, claim.build_ms - elapsed),
        rotated=tuple(key.id for key in rotated_keys),
        passed_over=tuple({"code": refusal.code, "message": refusal.message} for refusal in refusals),
        fallback=sync_report.fallback,
    )
