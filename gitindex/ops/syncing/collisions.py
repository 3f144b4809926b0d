"""Find paths that a case-insensitive or normalising file system cannot both hold (EL-2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gitindex.model.frozen import frozen
from gitindex.model.paths import casefold_key
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing.eligibility import make_policy
from gitindex.ops.syncing.git_fallback import scan_if_git_fails
from gitindex.ops.syncing.sync_plan import SyncOptions, open_source, read_ignore_rules
from gitindex.view.snapshot import SnapshotView


@frozen
class Collision:
    """Paths with names that differ only in case, or two Unicode spellings of one name, of which one is indexed."""

    kind: str  # case | normalisation
    paths: tuple[str, ...]
    stored: bool  # all of them are in the active snapshot; otherwise they make the next strict sync fail

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "paths": list(self.paths), "stored": self.stored}

    def describe(self) -> str:
        difference = "differ only in case" if self.kind == "case" else "are two spellings of one name"
        return f"{' and '.join(map(repr, self.paths))} {difference}"


def find_stored_collisions(view: SnapshotView) -> list[Collision]:
    """Collisions in the active snapshot, which only a degraded publish admits. Raises IntegrityError."""
    groups = _group_by_case(record.path for record in view.records() if not record.skip)
    return [Collision("case", paths, stored=True) for paths in groups]


def find_pending_collisions(codebase: Codebase) -> list[Collision]:
    """Collisions in the tree that the next sync would index. Raises GitError, ConfigError."""
    return scan_if_git_fails(codebase, SyncOptions(), lambda options: _find_pending(codebase, options))


def _find_pending(codebase: Codebase, options: SyncOptions) -> list[Collision]:
    with open_source(codebase, options, bulk=False) as source:
        policy = make_policy(codebase.settings, read_ignore_rules(codebase, source, options))
        eligible_paths = [
            key
            for key, item in source.list_files().items()
            if item.skip is None and policy.path_skip(key, item.mode) is None
        ]
        spellings = [Collision("normalisation", pair, stored=False) for pair in source.duplicate_spellings]
    return [*(Collision("case", paths, stored=False) for paths in _group_by_case(eligible_paths)), *spellings]


def _group_by_case(paths: Iterable[str]) -> list[tuple[str, ...]]:
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(casefold_key(path), []).append(path)
    return sorted(tuple(sorted(group)) for group in groups.values() if len(group) > 1)
