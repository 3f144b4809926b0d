"""`status`: what is indexed, what is pending, and whether to believe it. Reads only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from gitindex import gate
from gitindex.errors import GitindexError, IncompatibleVersion, IntegrityError
from gitindex.indexing.plan import FAILURE_HINT, Plan
from gitindex.model import versions
from gitindex.model.frozen import field, frozen
from gitindex.model.json_answer import EMBEDDED, OPTIONAL, json_key, to_json
from gitindex.model.manifest import Counts, FileError, GitFailure, GitState
from gitindex.ops.answers.answer_truths import Truth, assess_truth
from gitindex.ops.codebase import Codebase, Notice, collect_fingerprints, list_notices
from gitindex.ops.syncing.git_fallback import scan_if_git_fails
from gitindex.ops.syncing.sync_plan import SyncOptions, has_moved, make_plan, open_source
from gitindex.store import state_file
from gitindex.userconfig import FILE_NAME
from gitindex.view.snapshot import SnapshotView, open_active

BLOCKED_HINT = FAILURE_HINT  # the next step when files that changed block a sync
_MAX_LISTED = 20


@frozen
class GateVerdict:
    """Whether a read would be let in now, and the way out if not. Keys of a gate answer keep their names here."""

    gate: str  # ok, or the status of the gate that is shut
    reason: str = field(default="", metadata=OPTIONAL)
    message: str = field(default="", metadata=OPTIONAL)
    indexing: Mapping[str, Any] | None = None  # progress of the rebuild under way
    retry_after_ms: int | None = field(default=None, metadata=json_key("retryAfterMs", optional=True))
    hints: Mapping[str, Any] = field(default_factory=dict, metadata=OPTIONAL)
    completion_proof: Mapping[str, Any] | None = None
    freshness_mode: str = "checked"  # checked | skipped_indexing


@frozen
class SnapshotCounts:
    """What the active snapshot holds; what it skipped is in its coverage."""

    files_indexed: int
    chunks_indexed: int
    symbols: int
    edges: int
    entities: int
    text_bytes: int
    tombstones_added: int
    languages: Mapping[str, int]


@frozen
class StatusAnswer:
    """Without a snapshot the fields about one are None, zero or empty."""

    status: str  # ok | not_indexed | not_ready | requires_reindex | corrupt | incompatible
    state: str  # of the store
    codebase_root: str
    store_id: str
    fingerprints: Mapping[str, str | None]
    snapshot_id: str | None = None
    created_at: str | None = None
    last_sync_at: str | None = None
    last_result: str | None = None
    in_sync: bool = False  # the next sync has nothing to do
    pending: int | None = 0  # paths the next sync would write or remove; None: not known
    pending_files: tuple[str, ...] = ()
    blocked: tuple[FileError, ...] = ()  # files that stop the next sync
    segments: int = 0
    tombstones: int = 0
    counts: SnapshotCounts | None = None
    errors: tuple[FileError, ...] = ()
    skipped_files: Mapping[str, list[str]] = field(default_factory=dict)  # some paths for each reason
    text_only_files: Mapping[str, list[str]] = field(default_factory=dict)
    semantic: tuple[Mapping[str, Any], ...] = ()  # contexts with exact facts
    fallback: GitFailure | None = None  # why the snapshot was made without git
    truth: Truth | None = field(default=None, metadata=EMBEDDED)
    verdict: GateVerdict | None = field(
        default=None, metadata=EMBEDDED
    )  # None: damage kept the gate from looking
    problems: tuple[Notice, ...] = ()
    notices: tuple[Notice, ...] = ()

    def to_json(self) -> dict[str, Any]:
        if self.truth is None:
            truths: dict[str, Any] = dict.fromkeys(("freshness", "coverage", "trust", "truth"))
        else:
            truths = {"truth": self.truth.summary_line()}
        return {**versions.answer_version("status"), **to_json(self), **truths}


def status(codebase: Codebase) -> StatusAnswer:
    """Never fails for a missing or damaged index: that is a status too."""
    answer = StatusAnswer(
        status="not_indexed",
        state="not_found",
        codebase_root=str(codebase.root),
        store_id=codebase.layout.id,
        fingerprints=collect_fingerprints(codebase, None),
        notices=list_notices(codebase),
    )
    try:
        for fuller in _describe_store(codebase, answer):
            answer = fuller
    except (IntegrityError, IncompatibleVersion) as error:
        answer = replace(
            answer,
            status="corrupt" if isinstance(error, IntegrityError) else "incompatible",
            problems=(*answer.problems, _make_notice(error)),
        )
    return answer


def _describe_store(codebase: Codebase, answer: StatusAnswer) -> Iterator[StatusAnswer]:
    """Yields the answer after each part that was read: damage in a later part does not lose the earlier ones."""
    store_state = state_file.read(codebase.layout)
    if store_state is not None:
        answer = replace(
            answer,
            state=store_state.state,
            last_sync_at=store_state.last_sync_at,
            last_result=store_state.last_result,
        )
        yield answer
    with open_active(codebase.layout) or nullcontext() as view:
        if view is not None:
            for fuller in _describe_snapshot(codebase, view, answer):
                yield (answer := fuller)
            if answer.in_sync and answer.last_result == "failed":  # an edit mended it, not a sync
                answer = replace(answer, last_result="degraded" if view.manifest.degraded else "ok")
        yield _add_gate_verdict(codebase, view, answer)


def _describe_snapshot(
    codebase: Codebase, view: SnapshotView, answer: StatusAnswer
) -> Iterator[StatusAnswer]:
    manifest = view.manifest
    answer = replace(
        answer,
        status="ok",
        snapshot_id=manifest.snapshot_id,
        created_at=manifest.created_at,
        fingerprints=collect_fingerprints(codebase, manifest.ignore_fingerprint),
        segments=len(manifest.segments),
        tombstones=manifest.tombstone_count,
        counts=_make_counts(manifest.counts),
        errors=manifest.errors,
        semantic=manifest.semantic,
        fallback=manifest.git.failure,
        truth=assess_truth(codebase, view),
    )
    yield answer
    answer = replace(answer, notices=(*answer.notices, *_find_shared_uncommitted(codebase, view)))
    answer = _add_pending(codebase, view, answer)
    yield answer
    yield replace(
        answer,
        skipped_files=_list_paths_by_reason(view, "skip"),
        text_only_files=_list_paths_by_reason(view, "text_only") if manifest.counts.text_only else {},
    )


def _add_gate_verdict(codebase: Codebase, view: SnapshotView | None, answer: StatusAnswer) -> StatusAnswer:
    """Would a read be let in? A shut gate is the status, and says what opens it (EN-4)."""
    verdict = make_verdict(gate.diagnose(codebase, view))
    state = answer.state
    if verdict.gate == "not_ready":
        state = "indexing"
    elif state == "indexing":  # the process that wrote this is gone
        state = "indexfailed" if view is None else "sync_completed"
    return replace(
        answer, status=answer.status if verdict.gate == "ok" else verdict.gate, state=state, verdict=verdict
    )


def make_verdict(diagnosis: Mapping[str, Any]) -> GateVerdict:
    """From what `gate.diagnose` says."""
    return GateVerdict(
        gate=diagnosis["gate"],
        reason=diagnosis.get("reason", ""),
        message=diagnosis.get("message", ""),
        indexing=diagnosis.get("indexing"),
        retry_after_ms=diagnosis.get("retryAfterMs"),
        hints=diagnosis.get("hints", {}),
        completion_proof=diagnosis["completionProof"],
        freshness_mode=diagnosis["freshnessMode"],
    )


def _make_counts(counts: Counts) -> SnapshotCounts:
    return SnapshotCounts(
        files_indexed=counts.files_indexed,
        chunks_indexed=counts.chunks_indexed,
        symbols=counts.symbols,
        edges=counts.edges,
        entities=counts.entities,
        text_bytes=counts.text_bytes,
        tombstones_added=counts.tombstones_added,
        languages=counts.languages,
    )


def _make_notice(error: GitindexError) -> Notice:
    return Notice(error.code, error.message, error.hint)


def _find_shared_uncommitted(codebase: Codebase, view: SnapshotView) -> tuple[Notice, ...]:
    """Working files that were never committed are in an index that others read (ST-3)."""
    if codebase.mode != "shared" or not view.manifest.git.dirty:
        return ()
    count = len(view.overlay())
    files = f"{count} uncommitted {'file is' if count == 1 else 'files are'}"
    message = (
        f"{files} in this index, which everybody in its group can read; clean_only = true below "
        f"[index] in {codebase.home / FILE_NAME} keeps such files out"
    )
    return (Notice("shared_dirty", message, "gitindex sync --commit-only"),)


def _add_pending(codebase: Codebase, view: SnapshotView, answer: StatusAnswer) -> StatusAnswer:
    """What the next sync would do, by the very plan it would make."""
    try:
        plan, git_state = scan_if_git_fails(
            codebase, SyncOptions(), lambda options: _make_plan(codebase, view, options)
        )
    except GitindexError as error:
        return replace(answer, pending=None, problems=(*answer.problems, _make_notice(error)))
    problems = answer.problems
    if git_state.failure is not None:
        message = f"git cannot tell what changed, a scan of the files does: {git_state.failure.message}"
        problems = (*problems, Notice(git_state.failure.code, message, git_state.failure.next))
    paths = sorted({*(work.key for work in plan.write), *plan.gone})
    return replace(
        answer,
        pending=len(paths),
        pending_files=tuple(paths[:_MAX_LISTED]),
        in_sync=not paths and not has_moved(view.manifest.git, git_state),
        blocked=plan.errors[:_MAX_LISTED],
        problems=problems,
    )


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
