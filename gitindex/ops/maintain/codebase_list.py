"""`list`: codebases with an index on this machine. Reads only; a damaged store is an entry, not a failure (EN-5)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from gitindex import gate
from gitindex.config import Environment
from gitindex.errors import GitindexError
from gitindex.model.manifest import Manifest
from gitindex.store import manifests, ownership, store_state, stores
from gitindex.store.layout import Layout
from gitindex.store.store_state import StoreState


def list_codebases(environment: Environment) -> dict[str, Any]:
    """One entry per codebase; of several indexes of one root (other settings) the last synced one speaks."""
    mode = "shared" if environment.user.shared else "single"
    entries = [_entry(layout, mode) for layout in stores.list_layouts(environment.home)]
    groups: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        groups.setdefault(entry["root"] or entry["store_id"], []).append(entry)
    chosen = [_speaker(group) for group in groups.values()]
    chosen.sort(key=lambda entry: (entry["root"] or "~", entry["store_id"]))
    return {"status": "ok", "codebases": chosen}


def _speaker(group: list[dict[str, Any]]) -> dict[str, Any]:
    ordered = sorted(group, key=_liveliness)
    return {**ordered[-1], "other_stores": len(group) - 1}


def _liveliness(entry: dict[str, Any]) -> tuple[bool, str, str]:
    return entry["snapshot_id"] is not None, entry["last_sync_at"] or "", entry["store_id"]


def _entry(layout: Layout, mode: str) -> dict[str, Any]:
    problems: list[str] = []
    foreign = ownership.find_problem(layout, mode)
    if foreign is not None:
        return _described(layout, None, None, "foreign", [foreign.message])
    known = _state(layout, problems)
    manifest = _manifest(layout, known, problems)
    root = known.canonical_root if known else (manifest.canonical_root if manifest else None)
    if root is not None and not Path(root).is_dir():
        problems.append("the directory is not there")
    return _described(layout, known, manifest, _lifecycle(layout, known, manifest, problems), problems)


def _described(
    layout: Layout, known: StoreState | None, manifest: Manifest | None, lifecycle: str, problems: list[str]
) -> dict[str, Any]:
    return {
        "root": known.canonical_root if known else (manifest.canonical_root if manifest else None),
        "store_id": layout.id,
        "state": lifecycle,
        "snapshot_id": manifest.snapshot_id if manifest else None,
        "indexed_commit": manifest.git.head_sha if manifest else None,
        "files": manifest.counts.files_indexed if manifest else 0,
        "last_sync_at": known.last_sync_at if known else (manifest.created_at if manifest else None),
        "indexing": _progress(layout, problems) if lifecycle != "foreign" else None,
        "problems": problems,
    }


def _state(layout: Layout, problems: list[str]) -> StoreState | None:
    try:
        found = store_state.read(layout)
    except GitindexError as error:
        problems.append(error.message)
        return None
    if found is None:
        problems.append("index_state.json is missing or unreadable")
    return found


def _manifest(layout: Layout, known: StoreState | None, problems: list[str]) -> Manifest | None:
    """The pointed-at manifest as it reads; the full search of a lost pointer is for `repair`."""
    active = manifests.read_active_id(layout)
    if active is None:
        if layout.active_pointer.exists():
            problems.append("ACTIVE_SNAPSHOT is unreadable")
        elif known is not None and known.active_snapshot_id is not None:
            problems.append("ACTIVE_SNAPSHOT is missing")
        return None
    try:
        return manifests.read(layout, active)
    except GitindexError as error:
        problems.append(error.message)
        return None


def _lifecycle(
    layout: Layout, known: StoreState | None, manifest: Manifest | None, problems: list[str]
) -> str:
    if _progress(layout, []) is not None:
        return "indexing"
    if known is not None and known.state != "indexing":
        return known.state
    if manifest is not None:
        return "sync_completed" if manifest.parent_snapshot_id else "indexed"
    return "damaged" if problems else "not_found"


def _progress(layout: Layout, problems: list[str]) -> dict[str, Any] | None:
    try:
        found = gate.active_indexing(layout)
    except GitindexError as error:
        if error.message not in problems:
            problems.append(error.message)
        return None
    return asdict(found) if found else None
