"""Download one published snapshot, verify every file of it, and install it in a store (RE-3).

The download area lies outside every store, so that a failure at any point leaves the index as it was (RE-6). What a
killed download left there is used by the next one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitindex.errors import IncompatibleVersion, IntegrityError, LeaseHeld, RemoteMissing
from gitindex.model import portable
from gitindex.model.manifest import Artifact, Manifest
from gitindex.ops.sharing.published_snapshots import PublishedSnapshot
from gitindex.ops.sharing.remote_session import RemoteSession
from gitindex.remote import fetch_plan
from gitindex.remote.download import download
from gitindex.remote.stored_objects import PackedArtifact
from gitindex.remote.toc import Toc
from gitindex.remote.transport import OnProgress, Timeouts
from gitindex.store import atomic, install_snapshot, integrity, manifests, ownership, steps
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView

_MAX_SNAPSHOTS = 8  # snapshots of a store to look for reusable files in
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class TransferCounts:
    """A number of objects or bytes: those that were downloaded and those that were here already."""

    downloaded: int = 0
    reused: int = 0

    def to_json(self) -> dict[str, int]:
        return {"downloaded": self.downloaded, "reused": self.reused}


@dataclass(frozen=True, slots=True)
class DownloadedSnapshot:
    """A whole, verified snapshot outside any store."""

    manifest: Manifest
    files: dict[str, Path]  # artifact path → file
    area: Path
    objects: TransferCounts
    bytes: TransferCounts


@dataclass(frozen=True, slots=True)
class SnapshotDownloader:
    """Downloads snapshots of a remote into an area."""

    session: RemoteSession
    area: Path
    stores: tuple[Layout, ...]  # whose files are reused; the first is the one to install into
    on_progress: OnProgress = lambda _: None
    timeouts: Timeouts | None = None

    def download(self, published: PublishedSnapshot) -> DownloadedSnapshot:
        """Download what no store has. Reads the table of contents first and trusts only what it names.

        Raises IntegrityError (try the next ancestor), RemoteUnavailable, RemoteDenied, StorageFull.
        """
        steps.reach("fetch.download")
        session, claim = self.session, published.claim
        table = fetch_plan.read_toc(session.transport, session.names, claim, self.timeouts)
        staging = self.area / f"staged-{claim.toc.sha256[:16]}"
        _remove_stale_staging(self.area, staging)
        local_files = _find_local_files(table, self.stores, self.area / "reuse", staging)
        plan = fetch_plan.plan_fetch(table, local_files, session.names, staging)
        _remove_stale_partials(self.area / "partials", {pending.packed.sha256 for pending in plan.download})
        received = self._download_objects(plan)
        steps.reach("fetch.staged")
        files = {entry.path: staging / entry.path for entry in table.entries}
        files.update((reused.entry.path, reused.source) for reused in plan.reuse)
        return DownloadedSnapshot(
            manifest=_read_manifest(files, table, published),
            files=files,
            area=self.area,
            objects=TransferCounts(len(plan.download), len({reused.source for reused in plan.reuse})),
            bytes=TransferCounts(received + claim.toc.size, plan.reuse_bytes),
        )

    def _download_objects(self, plan: fetch_plan.FetchPlan) -> int:
        partials = self.area / "partials"
        try:
            return download(
                self.session.transport,
                plan.download,
                partials,
                on_progress=self.on_progress,
                timeouts=self.timeouts,
            )
        except RemoteMissing as error:
            raise IntegrityError(
                f"a published object is gone: {error.message}", hint="push the commit again"
            ) from error


@contextmanager
def lock_download_area(home: Path, repository: str, wait: float = 30.0) -> Iterator[Path]:
    """The download area of a repository, locked for one download at a time.

    Raises LeaseHeld when another one keeps it, ForeignStore when it is not this user's.
    """
    area = home / "fetch" / repository
    atomic.make_private_folder(area)
    ownership.check_private(area)  # files here become files of the store
    descriptor = os.open(area / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor, time.monotonic() + wait)
        yield area
    finally:
        os.close(descriptor)


def clear(area: Path) -> None:
    """Delete what is left in the area once the snapshot is installed."""
    for entry in area.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)


@contextmanager
def open_installed(
    layout: Layout, manifest: Manifest, downloaded: DownloadedSnapshot, *, keep: bool = False
) -> Iterator[SnapshotView]:
    """Install a downloaded snapshot in `layout` and open a view on it. Needs the lease.

    Unless `keep` is set, the installed files are removed when the body fails.
    """
    installed = install_snapshot.install(layout, manifest, downloaded.files, downloaded.area)
    try:
        with SnapshotView(layout, manifest, None, install_snapshot.make_verifier(layout, manifest)) as view:
            view.forget_overlay()
            yield view
    except BaseException:
        if not keep:
            install_snapshot.uninstall(layout, installed)
        raise


def _find_local_files(
    table: Toc, stores: tuple[Layout, ...], reuse_folder: Path, staging: Path
) -> dict[str, Path]:
    """Raw hash → a verified local file, for what the table needs.

    Files of the store to install into (the first) are used in place; those of other stores are linked into
    `reuse_folder`, so that no gc deletes them meanwhile. A crashed install and a killed download left whole files, too.
    """
    needed = {entry.packed.raw_sha256 for entry in table.entries}
    local_files: dict[str, Path] = {}
    reuse_folder.mkdir()
    for layout in stores:
        verifier = Verifier(layout)
        for artifact in _list_artifacts(layout):
            if artifact.sha256 in needed and artifact.sha256 not in local_files:
                file = _verify_reusable(verifier, artifact, None if layout == stores[0] else reuse_folder)
                local_files.update({artifact.sha256: file} if file else {})
    for entry in table.entries:
        for leftover in (staging / entry.path, *(layout.base / entry.path for layout in stores[:1])):
            if entry.packed.raw_sha256 not in local_files and _has_content(leftover, entry.packed):
                local_files[entry.packed.raw_sha256] = leftover
    return local_files


def _list_artifacts(layout: Layout) -> Iterator[Artifact]:
    for snapshot_id in manifests.list_ids(layout)[:_MAX_SNAPSHOTS]:
        try:
            yield from manifests.read(layout, snapshot_id).artifacts()
        except (IntegrityError, IncompatibleVersion):
            continue


def _verify_reusable(verifier: Verifier, artifact: Artifact, reuse_folder: Path | None) -> Path | None:
    try:
        path = verifier.verified_path(artifact)
        if reuse_folder is None:
            return path
        atomic.link_or_copy(path, reuse_folder / artifact.sha256)
    except (IntegrityError, FileNotFoundError):  # damaged or collected: the remote has it
        return None
    return reuse_folder / artifact.sha256


def _has_content(path: Path, packed: PackedArtifact) -> bool:
    return path.is_file() and integrity.hash_file(path) == (packed.raw_sha256, packed.raw_size)


def _read_manifest(files: dict[str, Path], table: Toc, published: PublishedSnapshot) -> Manifest:
    """The published manifest, checked against the signed claim and table. Removes it from `files`."""
    path = files.pop(portable.NAME, None)
    if path is None:
        raise IntegrityError("the published snapshot has no manifest", hint="gitindex verify")
    signed_files = {entry.path: (entry.packed.raw_size, entry.packed.raw_sha256) for entry in table.entries}
    del signed_files[portable.NAME]
    manifest, claim = portable.decode(path.read_bytes()), published.claim
    portable.check(manifest, (claim.commit, claim.tree), claim.config_fingerprint, signed_files)
    return manifest


def _remove_stale_staging(area: Path, staging: Path) -> None:
    """Delete what downloads of other snapshots left: this one cannot use it."""
    for entry in area.iterdir():
        if entry.name == "reuse" or (entry.name.startswith("staged-") and entry != staging):
            shutil.rmtree(entry)


def _remove_stale_partials(partials: Path, expected: set[str]) -> None:
    for partial in partials.iterdir() if partials.is_dir() else ():
        if partial.name not in expected:
            partial.unlink()


def _lock(descriptor: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LeaseHeld("another fetch of this repository is running", hint="try again") from None
            time.sleep(_POLL_SECONDS)
