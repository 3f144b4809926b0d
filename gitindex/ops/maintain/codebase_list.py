"""`list`: codebases with an index on this machine. Reads only; a damaged store is an entry, not a failure (EN-5)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from gitindex import gate
from gitindex.config import Environment
from gitindex.errors import GitindexError
from gitindex.model.manifest import Manifest
from gitindex.store import manifests, ownership, state_file, stores
from gitindex.store.layout import Layout
from gitindex.store.state_file import StoreState


def list_codebases(environment: Environment) -> dict[str, Any]:
    """One entry per codebase; of several stores of one root (other settings) the last synced one is listed."""
    mode = "shared" if environment.user.shared else "single"
    entries = [_describe_store(layout, mode) for layout in stores.list_layouts(environment.home)]
    groups: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        groups.setdefault(entry["root"] or entry["store_id"], []).append(entry)
    codebases = [_pick_latest(group) for group in groups.values()]
    codebases.sort(key=lambda entry: (entry["root"] or "~", entry["store_id"]))
    return {"status": "ok", "codebases": codebases}


def _pick_latest(group: list[dict[str, Any]]) -> dict[str, Any]:
    ordered = sorted(group, key=_recency_key)
    return {**ordered[-1], "other_stores": len(group) - 1}


def _recency_key(entry: dict[str, Any]) -> tuple[bool, str, str]:
    return entry["snapshot_id"] is not None, entry["last_sync_at"] or "", entry["store_id"]


def _describe_store(layout: Layout, mode: str) -> dict[str, Any]:
    problems: list[str] = []
    ownership_problem = ownership.find_problem(layout, mode)
    if ownership_problem is not None:
        return _make_entry(layout, None, None, "foreign", [ownership_problem.message])
    store_state = _read_state(layout, problems)
    manifest = _read_manifest(layout, store_state, problems)
    root = store_state.canonical_root if store_state else (manifest.canonical_root if manifest else None)
    if root is not None and not Path(root).is_dir():
        problems.append("the directory is not there")
    return _make_entry(
        layout, store_state, manifest, _find_lifecycle(layout, store_state, manifest, problems), problems
    )


def _make_entry(
    layout: Layout,
    store_state: StoreState | None,
    manifest: Manifest | None,
    lifecycle: str,
    problems: list[str],
) -> dict[str, Any]:
    return {
        "root": store_state.canonical_root
        if store_state
        else (manifest.canonical_root if manifest else None),
        "store_id": layout.id,
        "state": lifecycle,
        "snapshot_id": manifest.snapshot_id if manifest else None,
        "indexed_commit": manifest.git.head_sha if manifest else None,
        "files": manifest.counts.files_indexed if manifest else 0,
        "last_sync_at": store_state.last_sync_at
        if store_state
        else (manifest.created_at if manifest else None),
        "indexing": _read_progress(layout, problems) if lifecycle != "foreign" else None,
        "problems": problems,
    }


def _read_state(layout: Layout, problems: list[str]) -> StoreState | None:
    try:
        store_state = state_file.read(layout)
    except GitindexError as error:
        problems.append(error.message)
        return None
    if store_state is None:
        problems.append("index_state.json is missing or unreadable")
    return store_state


def _read_manifest(layout: Layout, store_state: StoreState | None, problems: list[str]) -> Manifest | None:
    """The pointed-at manifest as it reads; the full search of a lost pointer is for `repair`."""
    active_id = manifests.read_active_id(layout)
    if active_id is None:
        if layout.active_pointer.exists():
            problems.append("ACTIVE_SNAPSHOT is unreadable")
        elif store_state is not None and store_state.active_snapshot_id is not None:
            problems.append("ACTIVE_SNAPSHOT is missing")
        return None
    try:
        return manifests.read(layout, active_id)
    except GitindexError as error:
        problems.append(error.message)
        return None


def _find_lifecycle(
    layout: Layout, store_state: StoreState | None, manifest: Manifest | None, problems: list[str]
) -> str:
    if _read_progress(layout, []) is not None:
        return "indexing"
    if store_state is not None and store_state.state != "indexing":
        return store_state.state
    if manifest is not None:
        return "sync_completed" if manifest.parent_snapshot_id else "indexed"
    return "damaged" if problems else "not_found"


def _read_progress(layout: Layout, problems: list[str]) -> dict[str, Any] | None:
    try:
        indexing = gate.active_indexing(layout)
    except GitindexError as error:
        if error.message not in problems:
            problems.append(error.message)
        return None
    return asdict(indexing) if indexing else None
