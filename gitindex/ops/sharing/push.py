"""`push`: upload the objects of a build, then the table of contents, then the signed manifest (RE-2).

Safe to repeat and safe to run twice at once: until the manifest is there, nothing refers to what was uploaded.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gitindex.config import Environment
from gitindex.ops.sharing import push_checks, remote_session, signing_keys
from gitindex.ops.sharing.build_area import find_build, open_build_area
from gitindex.ops.sharing.upload_snapshot import Publication
from gitindex.remote.transport import OnProgress, Timeouts
from gitindex.store.integrity import Verifier
from gitindex.store.readers import ReadersLock
from gitindex.trust.keys import load_private
from gitindex.trust.verify import TrustPolicy
from gitindex.view.snapshot import SnapshotView


@dataclass(frozen=True, slots=True)
class PushOptions:
    url: str = ""
    rev: str = "HEAD"
    branches: tuple[str, ...] = ()  # allowed besides those of the commit's settings, or the default branch
    default_branch: str = ""  # its name, where the clone does not know it
    successors: tuple[Path, ...] = ()  # private keys that readers shall trust from now on (RE-5)
    timeouts: Timeouts | None = None


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

    Raises PublishBlocked (a check refused it), UsageError (not built), ConfigError (no key), RemoteError.
    """
    push_options, started = options or PushOptions(), time.monotonic()
    push_checks.check_event(environment)
    signers = (signing_keys.require_signing_key(environment),)
    successors = tuple(map(load_private, push_options.successors))
    build_area = open_build_area(path, environment, push_options.rev)
    codebase, repo, commit = build_area.codebase, build_area.repo, build_area.commit
    proposal = codebase.settings.remote
    allowed = push_checks.find_allowed_branches(repo, proposal.branches, push_options.default_branch)
    push_checks.check_branch(repo, commit, allowed, push_options.branches)
    repository = remote_session.find_repository_id(repo, proposal, commit)
    session = remote_session.open_writer(
        repo=repo,
        repository=repository,
        fingerprint=codebase.fingerprint,
        environment=environment,
        requested=push_options.url,
        policy=TrustPolicy(tuple(key.public for key in (*signers, *successors)), threshold=len(signers)),
    )
    manifest = find_build(codebase, commit)
    lock = ReadersLock(codebase.layout)
    with SnapshotView(codebase.layout, manifest, lock, Verifier(codebase.layout)) as view:
        push_checks.check_snapshot(codebase, view, commit)
        publication = Publication(
            session=session,
            layout=codebase.layout,
            manifest=manifest,
            signers=signers,
            successors=successors,
            environment=environment,
            timeouts=push_options.timeouts,
            transfer=transfer,
        )
        with TemporaryDirectory(prefix="gitindex-push-") as scratch:
            put, tally = publication.publish(Path(scratch))
    return PushReport(
        status="ok",
        commit=commit,
        repository=repository,
        remote=session.url,
        manifest=put.value,
        objects=tally.objects(),
        bytes=tally.bytes(),
        signers=tuple(key.public.id for key in signers),
        successors=tuple(key.public.id for key in successors),
        elapsed_ms=round((time.monotonic() - started) * 1000),
    )
