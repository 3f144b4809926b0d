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
from gitindex.ops.sharing.published_snapshots import Published
from gitindex.ops.sharing.remote_session import Share
from gitindex.remote import fetch_plan
from gitindex.remote.download import download
from gitindex.remote.stored_objects import Packed
from gitindex.remote.toc import Toc
from gitindex.remote.transport import OnProgress, Patience
from gitindex.store import atomic, install_snapshot, integrity, manifests, ownership, steps
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView

_NEWEST = 8  # snapshots of a store to look for reusable files in
_POLL = 0.05


@dataclass(frozen=True, slots=True)
class Obtained:
    """A whole snapshot, proven, outside any store: artifact path → file."""

    manifest: Manifest
    files: dict[str, Path]
    area: Path
    objects: dict[str, int]  # downloaded, reused
    bytes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Way:
    """How to bring snapshots: from where, into which area, reusing which stores."""

    share: Share
    area: Path
    stores: tuple[Layout, ...]
    on_progress: OnProgress = lambda _: None
    patience: Patience | None = None

    def bring(self, found: Published) -> Obtained:
        """Raises IntegrityError (try the next ancestor), RemoteUnavailable, RemoteDenied, StorageFull."""
        steps.reach("fetch.download")
        share, claim = self.share, found.claim
        table = fetch_plan.read_toc(share.transport, share.names, claim, self.patience)
        staging = self.area / f"staged-{claim.toc.sha256[:16]}"
        _forget_others(self.area, staging)
        here = _here(table, self.stores, self.area / "reuse", staging)
        plan = fetch_plan.plan_fetch(table, here, share.names, staging)
        _forget_partials(self.area / "partials", {one.packed.sha256 for one in plan.download})
        received = self._download(plan)
        steps.reach("fetch.staged")
        files = {entry.path: staging / entry.path for entry in table.entries}
        files.update((one.entry.path, one.source) for one in plan.reuse)
        return Obtained(
            _manifest(files, table, found),
            files,
            self.area,
            {"downloaded": len(plan.download), "reused": len({one.source for one in plan.reuse})},
            {"downloaded": received + claim.toc.size, "reused": plan.reuse_bytes},
        )

    def _download(self, plan: fetch_plan.FetchPlan) -> int:
        partials = self.area / "partials"
        try:
            return download(
                self.share.transport,
                plan.download,
                partials,
                on_progress=self.on_progress,
                patience=self.patience,
            )
        except RemoteMissing as error:
            raise IntegrityError(
                f"a published object is gone: {error.message}", hint="push the commit again"
            ) from error


@contextmanager
def opened(home: Path, repository: str, wait: float = 30.0) -> Iterator[Path]:
    """The area of a repository, for one download at a time.

    Raises LeaseHeld when another one keeps it, ForeignStore when it is not this user's.
    """
    where = home / "fetch" / repository
    atomic.make_private_folder(where)
    ownership.check_private(where)  # files here become files of the store
    descriptor = os.open(where / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor, time.monotonic() + wait)
        yield where
    finally:
        os.close(descriptor)


def clear(where: Path) -> None:
    """Everything is installed: nothing here is needed any more."""
    for entry in where.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)


def install_below(
    layout: Layout, manifest: Manifest, obtained: Obtained, stack: ExitStack, *, keep: bool = False
) -> SnapshotView:
    """A view on the snapshot inside `layout`. Needs the lease.

    Unless told to `keep` it, the snapshot is taken back when the body of `stack` fails.
    """
    new = install_snapshot.install(layout, manifest, obtained.files, obtained.area)

    def take_back(
        kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if kind is not None and not keep:
            install_snapshot.uninstall(layout, new)

    stack.push(take_back)
    view = SnapshotView(layout, manifest, None, install_snapshot.make_verifier(layout, manifest))
    view.forget_overlay()
    return stack.enter_context(view)


def _here(table: Toc, stores: tuple[Layout, ...], kept: Path, staging: Path) -> dict[str, Path]:
    """Raw hash → a proven local file, for what the table needs.

    Files of the store to install into (the first) are named as they are; those of others are linked, so that
    no gc takes them away. A crashed install and a killed download left whole files, too.
    """
    needed = {entry.packed.raw_sha256 for entry in table.entries}
    found: dict[str, Path] = {}
    kept.mkdir()
    for layout in stores:
        verifier = Verifier(layout)
        for artifact in _artifacts(layout):
            if artifact.sha256 in needed and artifact.sha256 not in found:
                file = _proven(verifier, artifact, None if layout == stores[0] else kept)
                found.update({artifact.sha256: file} if file else {})
    for entry in table.entries:
        for left in (staging / entry.path, *(layout.base / entry.path for layout in stores[:1])):
            if entry.packed.raw_sha256 not in found and _is(left, entry.packed):
                found[entry.packed.raw_sha256] = left
    return found


def _artifacts(layout: Layout) -> Iterator[Artifact]:
    for snapshot_id in manifests.list_ids(layout)[:_NEWEST]:
        try:
            yield from manifests.read(layout, snapshot_id).artifacts()
        except (IntegrityError, IncompatibleVersion):
            continue


def _proven(verifier: Verifier, artifact: Artifact, kept: Path | None) -> Path | None:
    try:
        path = verifier.verified_path(artifact)
        if kept is None:
            return path
        atomic.link_or_copy(path, kept / artifact.sha256)
    except (IntegrityError, FileNotFoundError):  # damaged or collected: the remote has it
        return None
    return kept / artifact.sha256


def _is(path: Path, packed: Packed) -> bool:
    return path.is_file() and integrity.hash_file(path) == (packed.raw_sha256, packed.raw_size)


def _manifest(files: dict[str, Path], table: Toc, found: Published) -> Manifest:
    """The published manifest, checked against what was signed; `files` keeps the artifacts."""
    path = files.pop(portable.NAME, None)
    if path is None:
        raise IntegrityError("the published snapshot has no manifest", hint="gitindex verify")
    listed = {entry.path: (entry.packed.raw_size, entry.packed.raw_sha256) for entry in table.entries}
    del listed[portable.NAME]
    manifest, claim = portable.decode(path.read_bytes()), found.claim
    portable.check(manifest, (claim.commit, claim.tree), claim.config_fingerprint, listed)
    return manifest


def _forget_others(where: Path, staging: Path) -> None:
    """Leftovers of other downloads: this one cannot use them."""
    for entry in where.iterdir():
        if entry.name == "reuse" or (entry.name.startswith("staged-") and entry != staging):
            shutil.rmtree(entry)


def _forget_partials(partials: Path, coming: set[str]) -> None:
    for partial in partials.iterdir() if partials.is_dir() else ():
        if partial.name not in coming:
            partial.unlink()


def _lock(descriptor: int, until: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise LeaseHeld("another fetch of this repository is running", hint="try again") from None
            time.sleep(_POLL)
