"""`audit` and `health`: prove the active snapshot, by its own checks and against a clean build (SN-10)."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gitindex import gate
from gitindex.errors import GitError, GitindexError, IntegrityError, StoreCorrupt
from gitindex.indexing.write import Progress
from gitindex.lifecycle import check, control_files
from gitindex.lifecycle.check import Problem
from gitindex.lifecycle.digest import Digest, compute_digest
from gitindex.model import versions
from gitindex.ops.codebase import Codebase, Notice, assemble
from gitindex.ops.syncing.collisions import Collision, find_pending_collisions, find_stored_collisions
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.store import manifests
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView, open_active

# Problem code → the command that creates an index.
NEXT_COMMANDS = {"not_indexed": "gitindex init", "requires_reindex": "gitindex upgrade-store"}


@dataclass(frozen=True, slots=True)
class Audit:
    digest: Digest
    problems: tuple[Problem, ...]
    snapshot_id: str
    rebuilt_digest: Digest | None = None

    @property
    def is_clean(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        answer: dict[str, Any] = {
            **versions.answer_version("health"),
            "status": "ok" if self.is_clean else "problems",
            "snapshot_id": self.snapshot_id,
            **asdict(self.digest),
            "problems": [asdict(problem) for problem in self.problems],
        }
        if self.rebuilt_digest is not None:
            answer["rebuilt"] = asdict(self.rebuilt_digest)
        return answer


def audit(
    codebase: Codebase, *, rebuild: bool = False, progress: Progress = lambda _p, _d, _t: None
) -> Audit:
    """Digest the live view and check it; with `rebuild`, compare with a clean build of the same tree.

    Raises Gated without a snapshot, StoreCorrupt when the view cannot even be read.
    """
    with _open(codebase) as view:
        damage = check.find_damaged_artifacts(view)
        if damage:
            messages = [message for _, message in damage]
            more = f" (and {len(messages) - 1} more)" if len(messages) > 1 else ""
            raise StoreCorrupt(messages[0] + more, hint="gitindex repair", problems=messages)
        live_digest = compute_digest(view)
        flaws = [*check.inspect(view, live_digest), *_check_control_files(codebase, view)]
        clean_digest = _digest_clean_build(codebase, view, progress) if rebuild else None
        if clean_digest is not None and clean_digest != live_digest:
            flaws.append(
                Problem(
                    "parity",
                    f"a clean build has digest {clean_digest.digest[:16]}, this snapshot {live_digest.digest[:16]}",
                )
            )
        return Audit(live_digest, tuple(flaws), view.manifest.snapshot_id, clean_digest)


@dataclass(frozen=True, slots=True)
class Health:
    """`collisions` are no damage: the snapshot is what was asked for, or the next strict sync is refused."""

    problems: tuple[Problem, ...]
    collisions: tuple[Collision, ...] = ()
    notices: tuple[Notice, ...] = ()  # what could not be checked, and why


def health(codebase: Codebase) -> Health:
    """Every problem of the active snapshot, without stopping at the first."""
    with open_active(codebase.layout) or nullcontext() as view:
        if view is None:
            return Health((_describe_missing_index(codebase),))
        problems = (*check.inspect(view), *_check_control_files(codebase, view))
        stored_collisions = [] if problems else find_stored_collisions(view)
        return _add_pending_collisions(codebase, Health(problems, tuple(stored_collisions)))


def _add_pending_collisions(codebase: Codebase, snapshot_health: Health) -> Health:
    """With the collisions of the working tree that are not stored yet."""
    try:
        pending = find_pending_collisions(codebase)
    except GitindexError as error:
        message = f"the working tree was not searched for collisions: {error.message}"
        notice = Notice(error.code, message, error.hint or "gitindex status")
        return replace(snapshot_health, notices=(notice,))
    stored_paths = {collision.paths for collision in snapshot_health.collisions}
    return replace(
        snapshot_health,
        collisions=(
            *snapshot_health.collisions,
            *(item for item in pending if item.paths not in stored_paths),
        ),
    )


def _describe_missing_index(codebase: Codebase) -> Problem:
    if gate.find_superseded(codebase) is None:
        return Problem("not_indexed", f"{codebase.root} has no index")
    message = f"{codebase.root} has only an index of another release or configuration"
    return Problem("requires_reindex", message)


def _check_control_files(codebase: Codebase, view: SnapshotView) -> list[Problem]:
    """Damage that answers survive, and `repair` mends: the pointer, the lease, the state file (SN-11)."""
    layout = codebase.layout
    flaws = [
        Problem("damaged_control", f"{path} is missing or damaged", path)
        for path in control_files.find_damaged_files(layout)
    ]
    active_id, opened_id = manifests.read_active_id(layout), view.manifest.snapshot_id
    if active_id != opened_id and _is_pointer_lost(layout, active_id):
        damaged = f"ACTIVE_SNAPSHOT or the manifest it names ({active_id}) is damaged"
        message = f"{damaged}; snapshot {opened_id} answers instead"
        flaws.append(Problem("lost_pointer", message, layout.active_pointer.name))
    return flaws


def _is_pointer_lost(layout: Layout, active_id: str | None) -> bool:
    """Does the pointer name no readable manifest? One that another publish moved meanwhile does."""
    if active_id is None:
        return True
    try:
        manifests.read(layout, active_id)
    except IntegrityError:
        return True
    return False


def _open(codebase: Codebase) -> SnapshotView:
    """The active snapshot. Without one, raises the answer of the gate, not StoreCorrupt (EN-1)."""
    return open_active(codebase.layout) or gate.open_gated(codebase)


def _digest_clean_build(codebase: Codebase, view: SnapshotView, progress: Progress) -> Digest:
    """The same tree, from nothing, in a store of its own that is thrown away."""
    git = view.manifest.git
    options = SyncOptions(full=True, commit_only=_is_commit_only(view), allow_degraded=view.manifest.degraded)
    with TemporaryDirectory(prefix="gitindex-audit-") as scratch:
        environment = replace(codebase.environment, home=Path(scratch))
        clean_codebase = assemble(
            codebase.root, codebase.repo, codebase.settings, environment, shared=codebase.mode == "shared"
        )
        report = sync(clean_codebase, options, progress)
        if report.fallback is not None and git.failure is None:
            failure = report.fallback
            raise GitError(f"a clean build is not possible: {failure.message}", hint=failure.next)
        if report.commit != git.head_sha:
            raise StoreCorrupt(
                f"the snapshot is of commit {git.head_sha}, the working tree is at {report.commit}",
                hint="gitindex sync",
            )
        with _open(clean_codebase) as clean_view:
            return compute_digest(clean_view)


def _is_commit_only(view: SnapshotView) -> bool:
    git = view.manifest.git
    return git.head_sha is not None and not git.dirty and not git.untracked_included
