"""Bringing one published snapshot here: what is missing is downloaded, all of it is proven (RE-3).

Everything lands in an area outside every store, so that a failure at any point leaves the index as it was (RE-6);
what a killed download left there saves the next one work.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

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
class DownloadedSnapshot:
    """A whole snapshot, proven, outside any store: artifact path → file."""

    manifest: Manifest
    files: dict[str, Path]
    area: Path
    objects: dict[str, int]  # downloaded, reused
    bytes: dict[str, int]


@dataclass(frozen=True, slots=True)
class SnapshotDownloader:
    """How to bring snapshots: from where, into which area, reusing which stores."""

    session: RemoteSession
    area: Path
    stores: tuple[Layout, ...]
    on_progress: OnProgress = lambda _: None
    timeouts: Timeouts | None = None

    def download(self, published: PublishedSnapshot) -> DownloadedSnapshot:
        """Raises IntegrityError (try the next ancestor), RemoteUnavailable, RemoteDenied, StorageFull."""
        steps.reach("fetch.download")
        session, claim = self.session, published.claim
        table = fetch_plan.read_toc(session.transport, session.names, claim, self.timeouts)
        staging = self.area / f"staged-{claim.toc.sha256[:16]}"
        _remove_stale_staging(self.area, staging)
        local_files = _find_local_files(table, self.stores, self.area / "reuse", staging)
        plan = fetch_plan.plan_fetch(table, local_files, session.names, staging)
        _remove_stale_partials(self.area / "partials", {planned.packed.sha256 for planned in plan.download})
        received = self._download_objects(plan)
        steps.reach("fetch.staged")
        files = {entry.path: staging / entry.path for entry in table.entries}
        files.update((one.entry.path, one.source) for one in plan.reuse)
        return DownloadedSnapshot(
            _read_manifest(files, table, published),
            files,
            self.area,
            {"downloaded": len(plan.download), "reused": len({one.source for one in plan.reuse})},
            {"downloaded": received + claim.toc.size, "reused": plan.reuse_bytes},
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
    """The area of a repository, for one download at a time.

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
    """Everything is installed: nothing here is needed any more."""
    for entry in area.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)


def install_parent(
    layout: Layout,
    manifest: Manifest,
    downloaded: DownloadedSnapshot,
    stack: ExitStack,
    *,
    keep: bool = False,
) -> SnapshotView:
    """A view on the snapshot inside `layout`. Needs the lease.

    Unless told to `keep` it, the snapshot is taken back when the body of `stack` fails.
    """
    installed = install_snapshot.install(layout, manifest, downloaded.files, downloaded.area)

    def roll_back(
        kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is not None and not keep:
            install_snapshot.uninstall(layout, installed)

    stack.push(roll_back)
    view = SnapshotView(layout, manifest, None, install_snapshot.make_verifier(layout, manifest))
    view.forget_overlay()
    return stack.enter_context(view)


def _find_local_files(
    table: Toc, stores: tuple[Layout, ...], reuse_folder: Path, staging: Path
) -> dict[str, Path]:
    """Raw hash → a proven local file, for what the table needs.

    Files of the store to install into (the first) are named as they are; those of others are linked, so that
    no gc takes them away. A crashed install and a killed download left whole files, too.
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
    """The published manifest, checked against what was signed; `files` keeps the artifacts."""
    path = files.pop(portable.NAME, None)
    if path is None:
        raise IntegrityError("the published snapshot has no manifest", hint="gitindex verify")
    signed_files = {entry.path: (entry.packed.raw_size, entry.packed.raw_sha256) for entry in table.entries}
    del signed_files[portable.NAME]
    manifest, claim = portable.decode(path.read_bytes()), published.claim
    portable.check(manifest, (claim.commit, claim.tree), claim.config_fingerprint, signed_files)
    return manifest


def _remove_stale_staging(area: Path, staging: Path) -> None:
    """Leftovers of other downloads: this one cannot use them."""
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
