"""`push`: objects, then the table of contents, then the signed manifest, last (RE-2).

Safe to repeat and safe to race: until the manifest is there nothing refers to what was uploaded.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gitindex.config import Environment
from gitindex.ops.sharing import push_checks, remote_session, signing_keys
from gitindex.ops.sharing.build_area import built, open_area
from gitindex.ops.sharing.upload_snapshot import Publication
from gitindex.remote.transport import OnProgress, Patience
from gitindex.store.integrity import Verifier
from gitindex.store.readers import ReadersLock
from gitindex.trust.keys import load_private
from gitindex.trust.verify import TrustPolicy
from gitindex.view.snapshot import SnapshotView


@dataclass(frozen=True, slots=True)
class PushOptions:
    url: str = ""
    rev: str = "HEAD"
    branches: tuple[str, ...] = ()  # besides those of the commit's settings, or the default one
    default_branch: str = ""  # what it is called, where the clone does not say
    successors: tuple[Path, ...] = ()  # private keys to hand over to (RE-5)
    patience: Patience | None = None


@dataclass(frozen=True, slots=True)
class PushReport:
    status: str
    commit: str
    repository: str
    remote: str
    manifest: str  # created | exists
    objects: dict[str, int]  # uploaded, reused
    bytes: dict[str, int]
    signers: tuple[str, ...]
    successors: tuple[str, ...]
    elapsed_ms: int


def push(
    path: Path,
    environment: Environment,
    options: PushOptions | None = None,
    transfer: OnProgress = lambda _: None,
) -> PushReport:
    """Publish the build of a commit.

    Raises PublishBlocked (nothing may leave), UsageError (not built), ConfigError (no key), RemoteError.
    """
    chosen, started = options or PushOptions(), time.monotonic()
    push_checks.check_event(environment)
    signers, successors = (signing_keys.require(environment),), tuple(map(load_private, chosen.successors))
    codebase, at = open_area(path, environment, chosen.rev)
    assert codebase.repo is not None
    assert at.commit is not None
    proposal = codebase.settings.remote
    wanted = push_checks.allowed_branches(codebase.repo, proposal.branches, chosen.default_branch)
    push_checks.check_branch(codebase.repo, at.commit, wanted, chosen.branches)
    name = remote_session.repository_id(codebase.repo, proposal, at.commit)
    own = TrustPolicy(tuple(key.public for key in (*signers, *successors)), threshold=len(signers))
    share = remote_session.open_writer(
        codebase.repo, name, codebase.fingerprint, environment, chosen.url, own
    )
    manifest = built(codebase, at.commit)
    lock = ReadersLock(codebase.layout)
    with SnapshotView(codebase.layout, manifest, lock, Verifier(codebase.layout)) as view:
        push_checks.check_snapshot(codebase, view, at.commit)
        job = Publication(
            share, codebase.layout, manifest, signers, successors, environment, chosen.patience, transfer
        )
        with TemporaryDirectory(prefix="gitindex-push-") as scratch:
            put, tally = job.publish(Path(scratch))
    return PushReport(
        status="ok",
        commit=at.commit,
        repository=name,
        remote=share.url,
        manifest=put.value,
        objects=tally.objects(),
        bytes=tally.bytes(),
        signers=tuple(key.public.id for key in signers),
        successors=tuple(key.public.id for key in successors),
        elapsed_ms=round((time.monotonic() - started) * 1000),
    )
