"""`search`: one question, one answer, with the three truths beside it (QU-6).

Reads only, unless asked to sync first (EN-5). Git looks at the working tree while the search runs, after the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from gitindex import gate
from gitindex.errors import Gated, IntegrityError
from gitindex.extract.embed.embedders import open_embedder
from gitindex.extract.embed.protocol import Embedder
from gitindex.model import versions
from gitindex.model.frozen import field, frozen
from gitindex.model.json_answer import to_json
from gitindex.model.settings import EmbedSettings
from gitindex.ops.answers import search_engines
from gitindex.ops.answers.answer_truths import Truth, assess_truth
from gitindex.ops.codebase import Codebase, collect_fingerprints
from gitindex.ops.syncing.worktree_status import EarlyStatus, start_status
from gitindex.search.hit import SearchAnswer
from gitindex.search.request import Request, validate_request


@frozen
class QueryOptions:
    sync: bool = False  # catch up first
    stale_ok: bool = False  # read the last good snapshot while a rebuild runs (C-3)
    debug: bool = False
    requested: Path | None = None


@frozen
class QueryAnswer:
    result: SearchAnswer
    snapshot_id: str | None
    truth: Truth | None  # None: there was no snapshot to speak about
    fingerprints: Mapping[str, str | None]
    stale: bool = False
    hints: Mapping[str, Any] = field(default_factory=dict)
    sync_skipped: str = ""  # why `--sync` synced nothing

    def to_json(self) -> dict[str, Any]:
        result = self.result
        answer: dict[str, Any] = {
            **versions.answer_version("query"),
            "status": "ok",
            "snapshot_id": self.snapshot_id,
            "results": [item.to_json() for item in result.hits],
            "truncated": result.truncated,
            "left_out": result.left_out,
            "left_out_at_least": result.at_least,
            "fingerprints": dict(self.fingerprints),
        }
        truths = to_json(self.truth) if self.truth else dict.fromkeys(("freshness", "coverage", "trust"))
        optional = {
            "notes": list(result.notes),
            "relaxed": result.relaxed,
            "nearest_only": result.nearest_only,
            "suggestions": list(result.suggestions),
            "stale": self.stale,
            "hints": dict(self.hints),
            "sync_skipped": self.sync_skipped,
        }
        degraded = {"degraded": True, "degraded_reason": result.degraded} if result.degraded else {}
        return {**answer, **truths, **degraded, **{name: value for name, value in optional.items() if value}}


def query(
    codebase: Codebase,
    request: Request,
    options: QueryOptions | None = None,
    early_status: EarlyStatus | None = None,
) -> QueryAnswer:
    """`early_status` is one the caller began before; without it git is asked once the gate is open.

    Raises Gated with its envelope, UsageError; with `sync` what a sync raises.
    """
    query_options = options or QueryOptions()
    request = validate_request(request)
    sync_skipped = ""
    if query_options.sync:
        from gitindex.ops.syncing.catchup import (
            catch_up_before_read,  # late: most questions do without (UI-3)
        )

        sync_skipped = catch_up_before_read(codebase)
    try:
        admission = gate.admit(
            codebase,
            stale_ok=query_options.stale_ok,
            debug=query_options.debug,
            requested=query_options.requested,
        )
    except Gated as gated:
        if not _asks_for_notes(request, gated):
            raise
        return _scan_files(
            codebase, request, gated.message, {"create": gate.lifecycle_action(codebase.root, "create")}
        )
    except IntegrityError as error:
        return _scan_damaged(codebase, request, error)
    with (
        admission.view as view,
        nullcontext(early_status) if early_status else start_status(codebase) as status,
    ):
        try:
            with search_engines.use_engine(codebase, view, open_cached_embedder) as engine:
                result = engine.search(request)
        except IntegrityError as error:
            return _scan_damaged(codebase, request, error)
        used_fingerprints = collect_fingerprints(codebase, view.manifest.ignore_fingerprint)
        truths = assess_truth(codebase, view, status)
        return QueryAnswer(
            result,
            view.manifest.snapshot_id,
            truths,
            used_fingerprints,
            stale=admission.stale,
            hints=dict(admission.hints),
            sync_skipped=sync_skipped,
        )


def fit_hits(answer: QueryAnswer, budget: int) -> QueryAnswer:
    """Drop hits from the end until the answer as JSON fits, and count them as left out (QU-4)."""
    from gitindex.ops.answers.answer_budget import (
        RESERVED_CHARS,
        drop_from_end,
        json_length,
    )  # late: MCP only

    excess = json_length(answer.to_json()) - (budget - RESERVED_CHARS)
    if excess <= 0:
        return answer
    hits = answer.result.hits
    count = len(drop_from_end(tuple(hit.to_json() for hit in hits), excess))
    left_out = answer.result.left_out + len(hits) - count
    return replace(answer, result=replace(answer.result, hits=hits[:count], left_out=left_out))


def _asks_for_notes(request: Request, gated: Gated) -> bool:
    """Notes are found without an index too; code is not (QU-5, EN-1)."""
    gate_answer = gated.detail.get("envelope")
    return (
        request.asks_metadata and isinstance(gate_answer, dict) and gate_answer.get("status") == "not_indexed"
    )


def _scan_damaged(codebase: Codebase, request: Request, error: IntegrityError) -> QueryAnswer:
    return _scan_files(
        codebase, request, error.message, {"repair": {"command": error.hint or "gitindex repair"}}
    )


def _scan_files(codebase: Codebase, request: Request, reason: str, hints: Mapping[str, Any]) -> QueryAnswer:
    """Without an index: the eligible files themselves, and the answer says so."""
    from gitindex.ops.answers.file_scan import scan

    return QueryAnswer(
        scan(codebase, request, reason), None, None, collect_fingerprints(codebase, ""), hints=hints
    )


@lru_cache(maxsize=2)
def open_cached_embedder(settings: EmbedSettings) -> Embedder | None:
    """The embedder of these settings, loaded once."""
    return open_embedder(settings)
