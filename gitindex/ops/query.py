"""`search`: one question, one answer, with the three truths beside it (QU-6).

Reads only, unless asked to sync first (EN-5). Git looks at the working tree while the search runs, after the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

from gitindex import gate
from gitindex.errors import Gated, IntegrityError
from gitindex.extract.embed.protocol import Embedder
from gitindex.extract.embed.registry import open_embedder
from gitindex.model import versions
from gitindex.model.frozen import field, frozen
from gitindex.model.settings import EmbedSettings
from gitindex.ops import engines
from gitindex.ops.codebase import Codebase, fingerprints
from gitindex.ops.present import Look, looking
from gitindex.ops.truth import Truth, truth
from gitindex.search.hit import Found
from gitindex.search.request import Request, checked


@frozen
class QueryOptions:
    sync: bool = False  # catch up first
    stale_ok: bool = False  # read the last good snapshot while a rebuild runs (C-3)
    debug: bool = False
    requested: Path | None = None


@frozen
class QueryAnswer:
    found: Found
    snapshot_id: str | None
    truth: Truth | None  # None: there was no snapshot to speak about
    fingerprints: Mapping[str, str | None]
    stale: bool = False
    hints: Mapping[str, Any] = field(default_factory=dict)
    sync_skipped: str = ""  # why `--sync` synced nothing

    def to_json(self) -> dict[str, Any]:
        found = self.found
        answer: dict[str, Any] = {
            **versions.answer_version("query"),
            "status": "ok",
            "snapshot_id": self.snapshot_id,
            "results": [item.to_json() for item in found.hits],
            "truncated": found.truncated,
            "left_out": found.left_out,
            "left_out_at_least": found.at_least,
            "fingerprints": dict(self.fingerprints),
        }
        truths = self.truth.to_json() if self.truth else dict.fromkeys(("freshness", "coverage", "trust"))
        told = {
            "notes": list(found.notes),
            "relaxed": found.relaxed,
            "nearest_only": found.nearest_only,
            "suggestions": list(found.suggestions),
            "stale": self.stale,
            "hints": dict(self.hints),
            "sync_skipped": self.sync_skipped,
        }
        degraded = {"degraded": True, "degraded_reason": found.degraded} if found.degraded else {}
        return {**answer, **truths, **degraded, **{name: value for name, value in told.items() if value}}


def query(
    codebase: Codebase, request: Request, options: QueryOptions | None = None, look: Look | None = None
) -> QueryAnswer:
    """`look` is one the caller began before; without it git is asked once the gate is open.

    Raises Gated with its envelope, UsageError; with `sync` what a sync raises.
    """
    chosen = options or QueryOptions()
    request = checked(request)
    skipped = ""
    if chosen.sync:
        from gitindex.ops.catchup import catch_up_to_answer  # late: most questions do without (UI-3)

        skipped = catch_up_to_answer(codebase)
    try:
        admission = gate.admit(
            codebase, stale_ok=chosen.stale_ok, debug=chosen.debug, requested=chosen.requested
        )
    except Gated as gated:
        if not _notes_asked(request, gated):
            raise
        return _scanned(codebase, request, gated.message, {"create": gate.action(codebase.root, "create")})
    except IntegrityError as error:
        return _damaged(codebase, request, error)
    with admission.view as view, nullcontext(look) if look else looking(codebase) as begun:
        try:
            with engines.engine(codebase, view, load_embedder) as engine:
                found = engine.search(request)
        except IntegrityError as error:
            return _damaged(codebase, request, error)
        prints = fingerprints(codebase, view.manifest.ignore_fingerprint)
        told = truth(codebase, view, begun)
        return QueryAnswer(
            found,
            view.manifest.snapshot_id,
            told,
            prints,
            stale=admission.stale,
            hints=dict(admission.hints),
            sync_skipped=skipped,
        )


def _notes_asked(request: Request, gated: Gated) -> bool:
    """Notes are found without an index too; code is not (QU-5, EN-1)."""
    envelope = gated.detail.get("envelope")
    return request.asks_metadata and isinstance(envelope, dict) and envelope.get("status") == "not_indexed"


def _damaged(codebase: Codebase, request: Request, error: IntegrityError) -> QueryAnswer:
    return _scanned(
        codebase, request, error.message, {"repair": {"command": error.hint or "gitindex repair"}}
    )


def _scanned(codebase: Codebase, request: Request, why: str, hints: Mapping[str, Any]) -> QueryAnswer:
    """Without an index: the eligible files themselves, and the answer says so."""
    from gitindex.ops.scan import scan

    return QueryAnswer(scan(codebase, request, why), None, None, fingerprints(codebase, ""), hints=hints)


@lru_cache(maxsize=2)
def load_embedder(settings: EmbedSettings) -> Embedder | None:
    """The embedder of these settings, loaded once."""
    return open_embedder(settings)
