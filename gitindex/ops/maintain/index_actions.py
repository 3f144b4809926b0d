"""Lifecycle actions of the MCP tool `manage_index`: create, reindex, sync, clear (EN-5, EN-7).

Of all MCP tools only this one changes an index without being told to sync. `create` accepts only a valid completion
proof as a sign that the index exists.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

from gitindex import gate
from gitindex.errors import IntegrityError, LeaseHeld
from gitindex.indexing.write import Progress
from gitindex.lifecycle.removal import remove_store
from gitindex.model.proof import Proof, ProofOutcome
from gitindex.ops.answers import search_engines
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing import catchup
from gitindex.store import readers
from gitindex.view.snapshot import open_active

STALE_WARNING = (
    "Local snapshot claims indexed, but completion proof is missing/invalid; "
    "treating as not_indexed for create."
)


class CreateCheck(NamedTuple):
    """Whether a `create` must build, and what to tell about an index that is not believed."""

    needed: bool
    warnings: tuple[str, ...] = ()


def check_create(codebase: Codebase) -> CreateCheck:
    try:
        view = open_active(codebase.layout)
    except IntegrityError as error:
        return CreateCheck(needed=True, warnings=(f"{STALE_WARNING} ({error.message})",))
    if view is None:
        return CreateCheck(needed=True)
    with view:
        proof = gate.validate_completion_proof(codebase, view)
    if proof.outcome is ProofOutcome.VALID:
        return CreateCheck(needed=False)
    return CreateCheck(needed=True, warnings=(f"{STALE_WARNING} ({_describe_proof(proof)})",))


def create(codebase: Codebase, progress: Progress = lambda _p, _d, _t: None) -> dict[str, Any]:
    """Index from nothing, unless a valid proof says that it is done already."""
    check = check_create(codebase)
    if not check.needed:
        return answer_already_indexed(codebase)
    report = catchup.catch_up(codebase, progress, full=True)
    return {**_ok_answer("create", codebase), "notes": list(check.warnings), "report": asdict(report)}


def answer_already_indexed(codebase: Codebase) -> dict[str, Any]:
    message = f"{codebase.root} is already indexed"
    next_actions = {
        "sync": gate.lifecycle_action(codebase.root, "sync"),
        "reindex": gate.lifecycle_action(codebase.root, "reindex"),
    }
    return {**_ok_answer("create", codebase), "noop": True, "message": message, "hints": next_actions}


def reindex(codebase: Codebase, progress: Progress = lambda _p, _d, _t: None) -> dict[str, Any]:
    report = catchup.catch_up(codebase, progress, full=True)
    return {**_ok_answer("reindex", codebase), "report": asdict(report)}


def catch_up(codebase: Codebase) -> dict[str, Any]:
    """Incremental; beside a rebuild it does nothing and says so (EN-6)."""
    if gate.active_indexing(codebase.layout) is not None:
        message = catchup.REBUILDING
        next_actions = {"status": gate.lifecycle_action(codebase.root, "status")}
        return {
            **_ok_answer("sync", codebase),
            "freshness": "skipped_indexing",
            "noop": True,
            "message": message,
            "hints": next_actions,
        }
    report = catchup.catch_up(codebase)
    return {
        **_ok_answer("sync", codebase),
        "freshness": "noop" if report.noop else "synced",
        "report": asdict(report),
    }


def clear(codebase: Codebase) -> dict[str, Any]:
    """Delete the index of this codebase. Nothing else has that power.

    Raises LeaseHeld while somebody writes or reads it.
    """
    layout = codebase.layout
    if not layout.base.exists():
        return {**_ok_answer("clear", codebase), "noop": True, "bytes_freed": 0}
    search_engines.close(codebase)
    try:
        freed = remove_store(layout, readers_wait=readers.WAIT_SECONDS)
    except LeaseHeld as error:
        next_command = gate.lifecycle_action(codebase.root, "status")["command"]
        raise LeaseHeld(f"{error.message}; nothing was deleted", hint=next_command) from error
    return {**_ok_answer("clear", codebase), "bytes_freed": freed}


def _ok_answer(action: str, codebase: Codebase) -> dict[str, Any]:
    return {"status": "ok", "action": action, "codebase_root": str(codebase.root)}


def _describe_proof(proof: Proof) -> str:
    return f"{proof.reason}: {proof.detail}"
