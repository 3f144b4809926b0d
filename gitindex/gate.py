"""The gate before every index-dependent read: completion proof, precedence, gate answers (EN-1 … EN-7).

The only module that builds a gate answer. It reads and decides; it never changes a store (EN-5).

Proof. A snapshot is complete when the newest table holds a marker whose `runId` is the snapshot's id. Reading it
loads the table engine, which takes a third of a second, too long for a quick query. So a read accepts a cheaper proof:
the publisher adds an entry to the checksum cache for each artifact of a snapshot that it finished, with hash, inode,
size, mtime and ctime. While every file of the newest table matches its entry, the marker in it is the published one.
In any doubt (no entry, another inode, another root, another fingerprint) the marker is read.
`validate_completion_proof` always reads it: lifecycle commands and `status` use that.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from gitindex import config
from gitindex.errors import Gated, IncompatibleVersion, IntegrityError, StoreCorrupt
from gitindex.model import versions
from gitindex.model.foreign import quote_argument
from gitindex.model.frozen import field, frozen
from gitindex.model.proof import Proof, ProofOutcome, ProofReason
from gitindex.model.settings import Settings
from gitindex.segment.chunk_table import MARKER_KIND
from gitindex.store import lease, state_file, stores
from gitindex.store.layout import Layout, root_hash
from gitindex.store.state_file import IndexingProgress
from gitindex.view.snapshot import SnapshotView, open_active

PROOF = "marker_doc"
_RETRY_MS = 2_000
_RETRY_MIN_MS = 500
_RETRY_MAX_MS = 60_000
_COUNTS = ("indexedFiles", "totalChunks")
_TEXTS = ("completedAt", "runId")


class NonOkReason(StrEnum):
    """Why the gate is closed. Part of the contract with agents: a new reason is a new version of it."""

    INDEXING = "indexing"
    REQUIRES_REINDEX = "requires_reindex"
    NOT_INDEXED = "not_indexed"


class IndexedCodebase(Protocol):
    """What the gate must know about a codebase (`ops.codebase.Codebase` is one)."""

    @property
    def root(self) -> Path: ...
    @property
    def home(self) -> Path: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def mode(self) -> str: ...


@frozen
class Admission:
    """An open gate: the view that is held open, and what the answer must say about it."""

    view: SnapshotView
    stale: bool = False  # a rebuild runs; this is the last good snapshot, as requested (C-3)
    hints: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        answer_fields: dict[str, Any] = {"stale": True} if self.stale else {}
        return {**answer_fields, "hints": dict(self.hints)} if self.hints else answer_fields


# -- admission --------------------------------------------------------------------------------------


def open_gated(
    codebase: IndexedCodebase, *, stale_ok: bool = False, debug: bool = False, requested: Path | None = None
) -> SnapshotView:
    """The active snapshot, if the index may answer now.

    Raises Gated with the gate answer, StoreCorrupt, IncompatibleVersion.
    """
    return admit(codebase, stale_ok=stale_ok, debug=debug, requested=requested).view


def admit(
    codebase: IndexedCodebase, *, stale_ok: bool = False, debug: bool = False, requested: Path | None = None
) -> Admission:
    """As `open_gated`, with what the answer must say about the snapshot it was made from."""
    indexing = active_indexing(codebase.layout)
    view = open_active(codebase.layout)
    try:
        proof = _quick_proof(codebase, view) if view is not None else None
        gate_answer = _check_gates(
            codebase, proof, indexing, stale_ok=stale_ok, debug=debug, requested=requested
        )
        if gate_answer is not None:
            raise _gated_error(gate_answer)
    except BaseException:
        if view is not None:
            view.close()
        raise
    assert view is not None, "without a view a gate is closed"
    assert proof is not None
    return Admission(view, stale=indexing is not None, hints=_proof_hints(proof))


def diagnose(codebase: IndexedCodebase, view: SnapshotView | None) -> dict[str, Any]:
    """What `status` adds: the verdicts on gate and marker, with the command that helps. Never raises Gated."""
    indexing = active_indexing(codebase.layout)
    proof = validate_completion_proof(codebase, view) if view is not None else None
    gate_answer = _check_gates(codebase, proof, indexing, stale_ok=False, debug=True, requested=None)
    answer: dict[str, Any] = {
        "completionProof": proof.to_json() if proof else None,
        "freshnessMode": "skipped_indexing" if indexing else "checked",
    }
    if gate_answer is not None:
        copied_keys = ("reason", "message", "indexing", "retryAfterMs", "hints")
        return {
            **answer,
            "gate": gate_answer["status"],
            **{key: gate_answer[key] for key in copied_keys if key in gate_answer},
        }
    return {
        **answer,
        "gate": "ok",
        **({"hints": _proof_hints(proof)} if proof and _proof_hints(proof) else {}),
    }


def indexing_refusal(
    codebase: IndexedCodebase, indexing: IndexingProgress, requested: Path | None, *, debug: bool = False
) -> Gated:
    """The error for a codebase that is being rebuilt, for a caller that knows it before the store says so."""
    return _gated_error(_GateAnswerBuilder(codebase, requested).build_not_ready(indexing, None, debug=debug))


def active_indexing(layout: Layout) -> IndexingProgress | None:
    """The running create or reindex. The state `indexing` counts only while its writer lives."""
    store_state = state_file.read(layout)
    if store_state is None or store_state.state != "indexing":
        return None
    writer_lease = _read_lease(layout)
    if writer_lease is None or writer_lease.is_stale(time.time()):
        return None
    return store_state.indexing or IndexingProgress()


def _read_lease(layout: Layout) -> lease.LeaseState | None:
    try:
        return lease.read(layout)
    except StoreCorrupt:  # a torn lease file means no writer; the next writer reports it
        return None


def _check_gates(
    codebase: IndexedCodebase,
    proof: Proof | None,
    indexing: IndexingProgress | None,
    *,
    stale_ok: bool,
    debug: bool,
    requested: Path | None,
) -> dict[str, Any] | None:
    """The answer of the first gate that is closed, in the order of EN-2; None when all are open."""
    answers = _GateAnswerBuilder(codebase, requested)
    if proof is not None and proof.outcome is ProofOutcome.FINGERPRINT_MISMATCH:
        return answers.build_requires_reindex(proof.detail)
    if proof is None and indexing is None and (old_fingerprint := find_superseded(codebase)) is not None:
        return answers.build_requires_reindex(
            f"it was made as {old_fingerprint[:12]}, this is {codebase.fingerprint[:12]}"
        )
    if indexing is not None and not (stale_ok and proof is not None):
        return answers.build_not_ready(indexing, proof, debug=debug)
    if proof is None:
        return answers.build_not_indexed(None)
    if proof.outcome is ProofOutcome.STALE_LOCAL:
        return answers.build_not_indexed(proof)
    return None


def _proof_hints(proof: Proof) -> dict[str, Any]:
    if proof.outcome is not ProofOutcome.PROBE_FAILED:
        return {}
    return {"debugProofCheck": {"ok": False, "reason": str(ProofReason.PROBE_FAILED), "detail": proof.detail}}


def find_superseded(codebase: IndexedCodebase) -> str | None:
    """The fingerprint of an index of this very root, made with other settings or by another release."""
    root_part = f"__{root_hash(codebase.root)}__"
    for layout in stores.list_readable(codebase.home, codebase.mode):
        if (
            root_part not in layout.id
            or layout.id == codebase.layout.id
            or not layout.active_pointer.exists()
        ):
            continue
        try:
            store_state = state_file.read(layout)
        except IncompatibleVersion:  # made by another release: still an index of this root
            store_state = None
        if store_state is None or store_state.mode == codebase.mode:
            return store_state.config_fingerprint if store_state else layout.id.rpartition("__")[2]
    return None


# -- proof ------------------------------------------------------------------------------------------


def validate_completion_proof(codebase: IndexedCodebase, view: SnapshotView) -> Proof:
    """Read the marker of the newest table and judge it (EN-4). Never raises: a failed probe is an outcome."""
    try:
        marker = view.read_marker() if view.manifest.segments else None
    except (OSError, ValueError, RuntimeError, ImportError, IntegrityError) as error:
        detail = f"the completion marker cannot be read: {error}"
        return Proof(ProofOutcome.PROBE_FAILED, ProofReason.PROBE_FAILED, detail, marker_present=False)
    return _judge_marker(codebase, view, marker)


def _quick_proof(codebase: IndexedCodebase, view: SnapshotView) -> Proof:
    manifest = view.manifest
    is_bound = (
        [item.snapshot_id for item in manifest.segments[-1:]] == [manifest.snapshot_id]
        and canonical_path(manifest.canonical_root) == canonical_path(str(codebase.root))
        and manifest.config_fingerprint == codebase.fingerprint
        and view.is_newest_table_cached()
    )
    return Proof(ProofOutcome.VALID) if is_bound else validate_completion_proof(codebase, view)


def _judge_marker(codebase: IndexedCodebase, view: SnapshotView, marker: object) -> Proof:
    if marker is None:
        return Proof(
            ProofOutcome.STALE_LOCAL,
            ProofReason.MISSING_MARKER_DOC,
            "the newest table holds no marker",
            False,
        )
    if not isinstance(marker, dict):
        return _stale_proof(ProofReason.INVALID_PAYLOAD, "the marker is not an object")
    if marker.get("kind") != MARKER_KIND:
        return _stale_proof(ProofReason.INVALID_MARKER_KIND, f"the marker's kind is {marker.get('kind')!r}")
    marker_path = marker.get("codebasePath")
    if isinstance(marker_path, str) and canonical_path(
        view.manifest.resolve_root(marker_path)
    ) != canonical_path(str(codebase.root)):
        return _stale_proof(ProofReason.PATH_MISMATCH, f"the marker belongs to {marker_path}")
    flaw = _find_payload_flaw(marker, view)
    if flaw:
        return _stale_proof(ProofReason.INVALID_PAYLOAD, flaw)
    runtime_fingerprint = config.marker_fingerprint(codebase.settings, view.manifest.dimension)
    if marker["fingerprint"] != runtime_fingerprint:
        detail = f"the index was made with {_describe_difference(marker['fingerprint'], runtime_fingerprint)}"
        return Proof(ProofOutcome.FINGERPRINT_MISMATCH, ProofReason.FINGERPRINT_MISMATCH, detail)
    return Proof(ProofOutcome.VALID)


def _stale_proof(reason: ProofReason, detail: str) -> Proof:
    return Proof(ProofOutcome.STALE_LOCAL, reason, detail)


def _find_payload_flaw(marker: Mapping[str, Any], view: SnapshotView) -> str:
    """What is wrong with the fields of the marker; "" when nothing is."""
    for name in ("codebasePath", *_TEXTS):
        if not isinstance(marker.get(name), str) or not marker[name]:
            return f"the marker has no {name}"
    for name in _COUNTS:
        value = marker.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            return f"the marker's {name} is not a count"
    if not isinstance(marker.get("fingerprint"), dict):
        return "the marker has no fingerprint"
    if marker["runId"] != view.manifest.snapshot_id:
        return f"the marker proves {marker['runId']}, not this snapshot"
    return ""


def _describe_difference(stored: Mapping[str, Any], runtime: Mapping[str, Any]) -> str:
    names = sorted(name for name in stored.keys() | runtime.keys() if stored.get(name) != runtime.get(name))
    return ", ".join(f"{name} {stored.get(name)!r} (now {runtime.get(name)!r})" for name in names)


def canonical_path(path: str) -> str:
    """Policy A: real path where there is one, normalised, without a trailing separator."""
    return os.path.normpath(os.path.realpath(path))


# -- gate answers -----------------------------------------------------------------------------------


def lifecycle_action(root: Path, name: str) -> dict[str, Any]:
    """A lifecycle action as MCP call and as command, for the effective root; each runs as printed."""
    return {
        "tool": "manage_index",
        "args": {"action": name, "path": str(root)},
        "command": f"gitindex {_COMMANDS[name]} --path {quote_argument(str(root))}",
    }


# `create` is a full sync: with a missing proof, an incremental sync would find nothing to do (EN-7).
_COMMANDS = {"status": "status", "create": "sync --full", "reindex": "sync --full", "sync": "sync"}


def _gated_error(gate_answer: dict[str, Any]) -> Gated:
    hints = gate_answer["hints"]
    next_action = next(hints[name] for name in ("reindex", "create", "status") if name in hints)
    return Gated(gate_answer["message"], hint=next_action["command"], envelope=gate_answer)


class _GateAnswerBuilder:
    """Builds the three gate answers for one codebase and request."""

    def __init__(self, codebase: IndexedCodebase, requested: Path | None) -> None:
        self._codebase = codebase
        self._root = codebase.root
        self._requested = str(requested) if requested is not None else str(codebase.root)

    def build_not_ready(
        self, indexing: IndexingProgress, proof: Proof | None, *, debug: bool
    ) -> dict[str, Any]:
        hints: dict[str, Any] = {"status": lifecycle_action(self._root, "status")}
        if debug:
            marker_present = proof is not None and proof.marker_present
            hints["debugIndexing"] = {"completionProof": PROOF, "markerPresent": marker_present}
        progress_text = "" if indexing.progress_pct is None else f", {indexing.progress_pct:.0f} % done"
        return {
            **self._common_fields(
                "not_ready",
                NonOkReason.INDEXING,
                f"{self._root} is being indexed{progress_text}; try again later",
            ),
            "indexing": {
                "progressPct": indexing.progress_pct,
                "lastUpdated": indexing.last_updated,
                "phase": indexing.phase,
            },
            "retryAfterMs": _retry_after_ms(self._codebase.layout, indexing),
            "hints": hints,
        }

    def build_requires_reindex(self, detail: str) -> dict[str, Any]:
        message = f"the index of {self._root} does not match this release and its configuration: {detail}"
        hints = {
            "reindex": lifecycle_action(self._root, "reindex"),
            "status": lifecycle_action(self._root, "status"),
        }
        return {
            **self._common_fields("requires_reindex", NonOkReason.REQUIRES_REINDEX, message),
            "hints": hints,
        }

    def build_not_indexed(self, proof: Proof | None) -> dict[str, Any]:
        create = lifecycle_action(self._root, "create")
        hints: dict[str, Any] = {"create": create, "status": lifecycle_action(self._root, "status")}
        message = f"{self._root} is not indexed"
        if proof is not None:
            message = (
                f"the local snapshot of {self._root} claims to be indexed, but its completion proof is missing or "
                f"invalid ({proof.reason}: {proof.detail}); treating it as not indexed"
            )
            hints["staleLocal"] = {
                "completionProof": str(proof.reason),
                "recommendedAction": {key: create[key] for key in ("tool", "args")},
            }
        return {**self._common_fields("not_indexed", NonOkReason.NOT_INDEXED, message), "hints": hints}

    def _common_fields(self, status: str, reason: NonOkReason, message: str) -> dict[str, Any]:
        return {
            **versions.answer_version("query"),
            "status": status,
            "reason": str(reason),
            "message": message,
            "codebaseRoot": str(self._root),
            "requestedPath": self._requested,
        }


def _retry_after_ms(layout: Layout, indexing: IndexingProgress) -> int:
    """The remaining time, estimated from the pace so far, within bounds."""
    writer_lease = _read_lease(layout)
    if writer_lease is None or not indexing.progress_pct:
        return _RETRY_MS
    elapsed_ms = (datetime.now(UTC) - datetime.fromisoformat(writer_lease.started_at)).total_seconds() * 1000
    remaining_ms = elapsed_ms * (100 - indexing.progress_pct) / indexing.progress_pct
    return round(min(max(remaining_ms, _RETRY_MIN_MS), _RETRY_MAX_MS))
