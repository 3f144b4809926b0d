"""`verify`: is the published snapshot of a commit genuine and whole? Changes nothing, here or there."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gitindex.config import Environment
from gitindex.errors import IntegrityError
from gitindex.ops.sharing import download_snapshot, remote_session
from gitindex.ops.sharing.build_area import open_area
from gitindex.ops.sharing.download_snapshot import Way
from gitindex.ops.sharing.published_snapshots import Finder, Published
from gitindex.ops.sharing.remote_session import Share
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
    """Signature, binding, table of contents, presence and size of every object; with `deep`, every byte.

    Raises Untrusted, IntegrityError, RemoteError.
    """
    started = time.monotonic()
    codebase, at = open_area(path, environment, rev)
    assert codebase.repo is not None
    assert at.commit is not None
    proposal = codebase.settings.remote
    name = remote_session.repository_id(codebase.repo, proposal, at.commit)
    share = remote_session.open_reader(codebase.repo, name, codebase.fingerprint, environment, proposal, url)
    found = Finder(share, depth=1).first(at.commit, lambda one: one)[0]
    objects, size = _whole(share, found)
    if deep:
        with (
            TemporaryDirectory(prefix="gitindex-verify-") as scratch,
            download_snapshot.opened(Path(scratch), name) as area,
        ):
            Way(share, area, (), transfer).bring(found)
    return VerifyReport(
        status="ok",
        commit=found.commit,
        tree=found.claim.tree,
        repository=name,
        remote=share.url,
        signers=tuple({"id": key.id, "comment": key.comment} for key in found.trusted.signers),
        trusted=tuple(key.id for key in share.policy.usable_keys),
        artifacts=found.claim.totals.artifacts,
        objects=objects,
        bytes=size,
        deep=deep,
        builder=found.claim.builder,
        built_at=found.claim.built_at,
        build_ms=found.claim.build_ms,
        elapsed_ms=round((time.monotonic() - started) * 1000),
    )


def _whole(share: Share, found: Published) -> tuple[int, int]:
    """Every object is there with its signed size. Raises IntegrityError naming the first that is not."""
    table = read_toc(share.transport, share.names, found.claim)
    wanted = {share.names.object(entry.packed.sha256): entry.packed.size for entry in table.entries}
    present = upload.present(share.transport, list(wanted))
    for key, size in wanted.items():
        if present.get(key) != size:
            what = "is gone" if key not in present else f"has {present[key]} bytes instead of {size}"
            raise IntegrityError(f"published object {key} {what}", hint="push the commit again")
    return len(wanted), sum(wanted.values())
