"""`remote gc`: delete outdated manifests, then the objects that only they referenced, in two phases (RE-7).

Kept: manifests of the newest commits of every branch and tag this clone knows, and every manifest younger than
`days`. An object is deleted only when it was unreferenced in two runs at least a day apart.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from gitindex.config import Environment
from gitindex.errors import UsageError
from gitindex.git.history import newest_commits
from gitindex.ops.sharing import remote_session
from gitindex.ops.sharing.build_area import open_build_area
from gitindex.ops.sharing.remote_session import RemoteSession
from gitindex.remote import collection, collection_plan
from gitindex.remote.collection_plan import GRACE_SECONDS
from gitindex.trust.verify import TrustPolicy

KEEP_COMMITS = 1000
KEEP_DAYS = 30


@dataclass(frozen=True, slots=True)
class RemoteGcReport:
    status: str
    remote: str
    repository: str
    dry_run: bool
    manifests: dict[str, int]  # kept, dropped
    objects: dict[str, int]  # kept, deleted, condemned
    bytes_freed: int
    stale: bool  # a manifest was published during the run; run again
    elapsed_ms: int


def remote_gc(
    path: Path,
    environment: Environment,
    *,
    url: str = "",
    keep: int = KEEP_COMMITS,
    days: float = KEEP_DAYS,
    grace: float = GRACE_SECONDS,
    dry_run: bool = False,
) -> RemoteGcReport:
    """One run. Raises UsageError in a shallow clone, RemoteError, IntegrityError (a manifest that cannot be read)."""
    started = time.monotonic()
    build_area = open_build_area(path, environment, "HEAD")
    codebase, repo = build_area.codebase, build_area.repo
    if repo.shallow:
        raise UsageError("a shallow clone does not know which commits to keep", hint="git fetch --unshallow")
    repository = remote_session.find_repository_id(repo, codebase.settings.remote, build_area.commit)
    session = remote_session.open_writer(
        repo=repo,
        repository=repository,
        fingerprint=codebase.fingerprint,
        environment=environment,
        requested=url,
        policy=TrustPolicy(()),  # signatures do not matter here: every readable manifest keeps its objects
    )
    kept_commits = frozenset(newest_commits(repo, keep))
    transport, names = session.transport, session.names
    inventory = collection.read_inventory(transport, names)
    now = time.time() if dry_run else collection.read_remote_clock(transport, names)
    plan = collection_plan.plan(
        inventory,
        collection.read_mark(transport, names),
        now,
        drop=_find_outdated_manifests(session, kept_commits, now - days * 86400),
        grace=grace,
    )
    collected = collection.RemoteGcResult(len(plan.drop), len(plan.sweep), plan.freed_bytes, False)
    if not dry_run:
        collected = collection.collect(transport, names, plan)
    return RemoteGcReport(
        status="ok",
        remote=session.url,
        repository=repository,
        dry_run=dry_run,
        manifests={"kept": len(inventory.manifests) - collected.dropped, "dropped": collected.dropped},
        objects={
            "kept": len(inventory.objects) - collected.deleted,
            "deleted": collected.deleted,
            "condemned": len(plan.mark.keys) if plan.mark else 0,
        },
        bytes_freed=collected.freed_bytes,
        stale=collected.stale,
        elapsed_ms=round((time.monotonic() - started) * 1000),
    )


def _find_outdated_manifests(
    session: RemoteSession, kept_commits: frozenset[str], cutoff: float
) -> frozenset[str]:
    """Keys of manifests that are older than `cutoff` and whose commits are not among the newest any more."""
    return frozenset(
        entry.key
        for entry in session.transport.list(session.names.manifests_prefix)
        if (commit := session.names.parse_manifest_key(entry.key))
        and commit not in kept_commits
        and entry.modified < cutoff
    )
