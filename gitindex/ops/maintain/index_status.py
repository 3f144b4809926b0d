"""`status`: what is indexed, what is pending, and whether to believe it. Reads only."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

from gitindex import gate
from gitindex.errors import GitindexError, IncompatibleVersion, IntegrityError
from gitindex.indexing.plan import FAILURE_HINT, Plan
from gitindex.model import versions
from gitindex.model.manifest import GitState
from gitindex.ops.answers.answer_truths import assess_truth
from gitindex.ops.codebase import Codebase, collect_fingerprints, list_notices
from gitindex.ops.syncing.git_fallback import scan_if_git_fails
from gitindex.ops.syncing.sync_plan import SyncOptions, has_moved, make_plan, open_source
from gitindex.store import state_file
from gitindex.userconfig import FILE_NAME
from gitindex.view.snapshot import SnapshotView, open_active

BLOCKED_HINT = FAILURE_HINT  # the next step when files that changed block a sync
_MAX_LISTED = 20


def status(codebase: Codebase) -> dict[str, Any]:
    """Never fails for a missing or damaged index: that is a status too."""
    answer: dict[str, Any] = {
        **versions.answer_version("status"),
        "status": "not_indexed",
        "state": "not_found",
        "root": str(codebase.root),
        "store_id": codebase.layout.id,
        "snapshot_id": None,
        "indexed_commit": None,
        "head": None,
        "in_sync": False,
        "dirty_files": 0,
        "pending": 0,
        "segments": 0,
        "counts": {},
        "skipped": {},
        "text_only": {},
        "fingerprints": collect_fingerprints(codebase, None),
        "semantic": [],
        "trust": None,
        "fallback": None,
        "problems": [],
        "notices": list_notices(codebase),
    }
    try:
        _fill_answer(codebase, answer)
    except (IntegrityError, IncompatibleVersion) as error:
        answer["status"] = "corrupt" if isinstance(error, IntegrityError) else "incompatible"
        answer["problems"].append({"code": error.code, "message": error.message, "next": error.hint})
    return answer


def _fill_answer(codebase: Codebase, answer: dict[str, Any]) -> None:
    store_state = state_file.read(codebase.layout)
    if store_state is not None:
        answer["state"] = store_state.state
        answer["last_sync_at"] = store_state.last_sync_at
        answer["last_result"] = store_state.last_result
        answer["indexing"] = asdict(store_state.indexing) if store_state.indexing else None
    with open_active(codebase.layout) or nullcontext() as view:
        if view is not None:
            _add_snapshot(codebase, view, answer)
            if (
                answer["in_sync"] and answer.get("last_result") == "failed"
            ):  # mended by an edit, not by a sync
                answer["last_result"] = "degraded" if view.manifest.degraded else "ok"
        _add_gate_verdict(codebase, view, answer)


def _add_gate_verdict(codebase: Codebase, view: SnapshotView | None, answer: dict[str, Any]) -> None:
    """Would a read be let in? A shut gate is the status, and says what opens it (EN-4)."""
    verdict = gate.diagnose(codebase, view)
    answer.update(verdict)
    if verdict["gate"] != "ok":
        answer["status"] = verdict["gate"]
    if verdict["gate"] == "not_ready":
        answer["state"] = "indexing"
    elif answer["state"] == "indexing":  # its writer is gone
        answer["state"] = "indexfailed" if view is None else "sync_completed"


def _add_snapshot(codebase: Codebase, view: SnapshotView, answer: dict[str, Any]) -> None:
    manifest = view.manifest
    truths = assess_truth(codebase, view)
    answer.update(
        status="ok",
        snapshot_id=manifest.snapshot_id,
        created_at=manifest.created_at,
        indexed_commit=manifest.git.head_sha,
        head=truths.freshness.head,
        dirty_files=truths.freshness.dirty_files,
        segments=len(manifest.segments),
        tombstones=manifest.tombstone_count,
        counts={**asdict(manifest.counts)},
        skipped=dict(manifest.counts.skipped),
        text_only=dict(manifest.counts.text_only),
        degraded=manifest.degraded,
        errors=[asdict(error) for error in manifest.errors],
        semantic=[dict(item) for item in manifest.semantic],
        trust=asdict(truths.trust),
        fallback=asdict(manifest.git.failure) if manifest.git.failure else None,
        freshness=asdict(truths.freshness),
        coverage=asdict(truths.coverage),
        truth=truths.summary_line(),
    )
    answer["fingerprints"]["ignore"] = manifest.ignore_fingerprint
    answer["notices"] += _find_shared_uncommitted(codebase, view)
    answer.update(_describe_pending(codebase, view, answer["problems"]))
    answer["skipped_files"] = _list_paths_by_reason(view, "skip")
    answer["text_only_files"] = _list_paths_by_reason(view, "text_only") if manifest.counts.text_only else {}


def _find_shared_uncommitted(codebase: Codebase, view: SnapshotView) -> list[dict[str, str]]:
    """Working files that were never committed are in an index that others read (ST-3)."""
    if codebase.mode != "shared" or not view.manifest.git.dirty:
        return []
    count = len(view.overlay())
    files = f"{count} uncommitted {'file is' if count == 1 else 'files are'}"
    return [
        {
            "code": "shared_dirty",
            "message": f"{files} in this index, which everybody in its group can read; clean_only = true below "
            f"[index] in {codebase.home / FILE_NAME} keeps such files out",
            "next": "gitindex sync --commit-only",
        }
    ]


def _describe_pending(
    codebase: Codebase, view: SnapshotView, problems: list[dict[str, Any]]
) -> dict[str, Any]:
    """What the next sync would do, by the very plan it would make."""
    try:
        plan, git_state = scan_if_git_fails(
            codebase, SyncOptions(), lambda options: _make_plan(codebase, view, options)
        )
    except GitindexError as error:
        problems.append({"code": error.code, "message": error.message, "next": error.hint})
        return {"pending": None, "in_sync": False}
    moved = has_moved(view.manifest.git, git_state)
    if git_state.failure is not None:
        message = f"git cannot tell what changed, a scan of the files does: {git_state.failure.message}"
        problems.append({"code": git_state.failure.code, "message": message, "next": git_state.failure.next})
    paths = sorted({*(work.key for work in plan.write), *plan.gone})
    return {
        "pending": len(paths),
        "pending_files": paths[:_MAX_LISTED],
        "in_sync": not paths and not moved,
        "blocked": [asdict(error) for error in plan.errors[:_MAX_LISTED]],
    }


def _make_plan(codebase: Codebase, view: SnapshotView, options: SyncOptions) -> tuple[Plan, GitState]:
    with open_source(codebase, options, bulk=False) as source:
        return make_plan(codebase, view, source, options), source.git_state


def _list_paths_by_reason(view: SnapshotView, column: str) -> dict[str, list[str]]:
    """Some paths for every reason in a column of the files: nothing is dropped in silence (EL-1, EL-8)."""
    paths_by_reason: dict[str, list[str]] = {}
    for row in view.select(f"SELECT path, {column} FROM file WHERE {column} != '' ORDER BY {column}, path"):  # noqa: S608
        paths = paths_by_reason.setdefault(row.values[0], [])
        if len(paths) < _MAX_LISTED:
            paths.append(row.path)
    return {reason: sorted(paths) for reason, paths in sorted(paths_by_reason.items())}
