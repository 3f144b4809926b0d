"""`verify`: check that the published snapshot of a commit is genuine and whole. Changes nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gitindex.config import Environment
from gitindex.errors import IntegrityError
from gitindex.ops.sharing import download_snapshot, remote_session
from gitindex.ops.sharing.build_area import open_build_area
from gitindex.ops.sharing.download_snapshot import SnapshotDownloader
from gitindex.ops.sharing.published_snapshots import PublishedFinder, PublishedSnapshot
from gitindex.ops.sharing.remote_session import RemoteSession
from gitindex.remote import upload
from gitindex.remote.fetch_plan import read_toc
from gitindex.remote.transport import OnProgress


@dataclass(frozen=True, slots=True)
class VerifyReport:
    status: str
    commit: str
    tree: str
    repository: str
    remote: str
    signers: tuple[dict[str, str], ...]
    trusted: tuple[str, ...]
    artifacts: int
    objects: int
    bytes: int
    deep: bool
    builder: str
    built_at: str
    build_ms: int
    elapsed_ms: int


def verify(
    path: Path,
    environment: Environment,
    *,
    rev: str = "HEAD",
    url: str = "",
    deep: bool = False,
    transfer: OnProgress = lambda _: None,
) -> VerifyReport:
    """Check signature, binding, table of contents, presence and size of every object; with `deep`, every byte.

    Raises Untrusted, IntegrityError, RemoteError.
    """
    started = time.monotonic()
    build_area = open_build_area(path, environment, rev)
    proposal = build_area.codebase.settings.remote
    repository = remote_session.find_repository_id(build_area.repo, proposal, build_area.commit)
    session = remote_session.open_reader(
        repo=build_area.repo,
        repository=repository,
        fingerprint=build_area.codebase.fingerprint,
        environment=environment,
        proposal=proposal,
        requested=url,
    )
    published = PublishedFinder(session, depth=1).find_nearest(build_area.commit)
    objects, size = _check_objects(session, published)
    if deep:
        with (
            TemporaryDirectory(prefix="gitindex-verify-") as scratch,
            download_snapshot.lock_download_area(Path(scratch), repository) as area,
        ):
            SnapshotDownloader(session, area, (), transfer).download(published)
    return VerifyReport(
        status="ok",
        commit=published.commit,
        tree=published.claim.tree,
        repository=repository,
        remote=session.url,
        signers=tuple({"id": key.id, "comment": key.comment} for key in published.trusted.signers),
        trusted=tuple(key.id for key in session.policy.usable_keys),
        artifacts=published.claim.totals.artifacts,
        objects=objects,
        bytes=size,
        deep=deep,
        builder=published.claim.builder,
        built_at=published.claim.built_at,
        build_ms=published.claim.build_ms,
        elapsed_ms=round((time.monotonic() - started) * 1000),
    )


def _check_objects(session: RemoteSession, published: PublishedSnapshot) -> tuple[int, int]:
    """Number and bytes of the objects, all present with their signed sizes. Raises IntegrityError otherwise."""
    table = read_toc(session.transport, session.names, published.claim)
    expected_sizes = {
        session.names.object_key(entry.packed.sha256): entry.packed.size for entry in table.entries
    }
    present_sizes = upload.find_existing(session.transport, list(expected_sizes))
    for key, size in expected_sizes.items():
        if present_sizes.get(key) != size:
            is_gone = key not in present_sizes
            flaw = "is gone" if is_gone else f"has {present_sizes[key]} bytes instead of {size}"
            raise IntegrityError(f"published object {key} {flaw}", hint="push the commit again")
    return len(expected_sizes), sum(expected_sizes.values())
