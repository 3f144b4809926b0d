"""The options of a build, and its report."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitindex.errors import UsageError
from gitindex.model.manifest import Manifest
from gitindex.ops.sharing.build_area import BuildArea
from gitindex.ops.sharing.build_base import BuildBase
from gitindex.ops.sharing.download_snapshot import TransferCounts
from gitindex.ops.syncing.sync_report import SyncReport


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a build: `number` of `count`, from 1. The hash of a path says which shard holds it."""

    number: int
    count: int

    def holds(self, path: str) -> bool:
        digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.number - 1


@dataclass(frozen=True, slots=True)
class BuildOptions:
    rev: str = "HEAD"
    full: bool = False
    url: str = ""  # the remote to search for published ancestors
    allow_degraded: bool = False
    exact_facts: bool = True  # run the exact indexers to completion
    python_env: Path | None = None  # installed packages for the indexers, as for `refresh`
    node_modules: Path | None = None
    allow_project_code: bool = False
    workers: int = 0
    shard: Shard | None = None
    output: Path | None = None  # directory for a shard


@dataclass(frozen=True, slots=True)
class BuildReport:
    status: str
    commit: str
    tree: str
    repository: str
    snapshot_id: str
    base: str  # published | local | none
    base_commit: str | None
    noop: bool
    changes: dict[str, int]
    counts: dict[str, Any]
    languages: dict[str, int]
    skipped: dict[str, int]
    segments: int
    bytes: dict[str, int]  # of the base: downloaded, reused
    elapsed_ms: int
    config_fingerprint: str
    note: str
    semantic: tuple[Any, ...]  # the exact layers of the snapshot
    indexers: tuple[dict[str, Any], ...] = ()  # the outcome of each context


def resolve_output(options: BuildOptions) -> Path | None:
    """The directory of a shard, None for a whole build. Raises UsageError."""
    if (options.shard is None) != (options.output is None):
        raise UsageError("a shard needs a directory to go to", hint="--shard I/N --output DIR")
    if options.output is None or options.shard is None:
        return None
    if not 1 <= options.shard.number <= options.shard.count <= 256:
        raise UsageError("a shard is I/N with 1 ≤ I ≤ N ≤ 256", hint="--shard 1/4 --output DIR")
    return options.output.absolute() / f"{options.shard.number}-of-{options.shard.count}"


def make_build_report(
    *,
    repository: str,
    build_area: BuildArea,
    base: BuildBase,
    sync_report: SyncReport,
    manifest: Manifest,
    context_reports: tuple[dict[str, Any], ...],
    started: float,
) -> BuildReport:
    return BuildReport(
        status="ok",
        commit=build_area.commit,
        tree=build_area.tree,
        repository=repository,
        snapshot_id=manifest.snapshot_id,
        base=base.kind,
        base_commit=base.commit,
        noop=sync_report.noop,
        changes=sync_report.changes,
        counts={"files": manifest.counts.files_indexed, "chunks": manifest.counts.chunks_indexed},
        languages=dict(manifest.counts.languages),
        skipped=dict(manifest.counts.skipped),
        segments=len(manifest.segments),
        bytes=(base.downloaded.bytes if base.downloaded else TransferCounts()).to_json(),
        elapsed_ms=round((time.monotonic() - started) * 1000),
        config_fingerprint=manifest.config_fingerprint,
        note=base.remark,
        semantic=tuple(manifest.semantic),
        indexers=context_reports,
    )
