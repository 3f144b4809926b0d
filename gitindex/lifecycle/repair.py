"""What is damaged, and the smallest rebuild that mends it (SN-11). Decides; `ops.repair` acts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitindex.errors import IntegrityError
from gitindex.indexing.compose import count
from gitindex.lifecycle.check import damaged
from gitindex.model.manifest import Manifest, Segment
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """`scope`: none · control (lease, state file) · files (drop segments, index their files again) ·
    lexical (rebuild from tables) · full.
    """

    scope: str
    damaged: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()  # to drop
    paths: frozenset[str] = frozenset()  # whose rows they held


def plan(view: SnapshotView) -> RepairPlan:
    """Read every artifact and decide.

    Damage to the lexical index is mended from the tables; damage to a segment from the files it held, as long as
    one of its two lists of paths is whole; damage to both at once needs a full reindex.
    """
    broken = [artifact.path for artifact, _ in damaged(view)]
    if not broken:
        return RepairPlan("none")
    bad = [segment for segment in view.manifest.segments if _touches(segment, broken)]
    words = any(path.startswith("lexical/") for path in broken)
    if words:
        return RepairPlan("full" if bad else "lexical", tuple(broken), tuple(segment.id for segment in bad))
    paths: set[str] = set()
    for segment in bad:
        held = _held(view.layout, segment, broken)
        if held is None:
            return RepairPlan("full", tuple(broken), tuple(item.id for item in bad))
        paths.update(held)
    return RepairPlan("files", tuple(broken), tuple(segment.id for segment in bad), frozenset(paths))


def reduced(view: SnapshotView, chosen: RepairPlan) -> Manifest:
    """The snapshot without its damaged segments, its counts taken anew from what is left.

    Older rows that the dropped tombstones hid come back; comparing the whole tree buries or replaces them.
    """
    kept = tuple(segment for segment in view.manifest.segments if segment.id not in chosen.segments)
    bare = replace(view.manifest, segments=kept, semantic=_semantic(view.manifest, chosen))
    left = SnapshotView(view.layout, bare, None, view.verifier)
    try:
        return replace(bare, counts=count(None, (), left.records(), 0))
    finally:
        left.close()


def _semantic(manifest: Manifest, chosen: RepairPlan) -> tuple[Mapping[str, Any], ...]:
    """Where documents were lost, no project counts as refreshed any more: the next refresh writes what is missing."""
    dropped = [segment for segment in manifest.segments if segment.id in chosen.segments]
    lost = any(
        artifact.path.endswith("/scip.sqlite") for segment in dropped for artifact in segment.artifacts
    )
    return tuple({**item, "inputs": ""} for item in manifest.semantic) if lost else manifest.semantic


def _touches(segment: Segment, broken: Iterable[str]) -> bool:
    own = {artifact.path for artifact in segment.artifacts}
    if segment.tombstones is not None:
        own.add(segment.tombstones.artifact.path)
    return not own.isdisjoint(broken)


def _held(layout: Layout, segment: Segment, broken: list[str]) -> set[str] | None:
    """The paths a segment holds, from its path map or its facts; None when neither is whole."""
    listing = layout.file_index(segment.id)
    if listing.relative_to(layout.base).as_posix() not in broken:
        return {json.loads(line)["path_key"] for line in listing.read_bytes().splitlines()}
    facts = layout.facts(segment.id)
    if facts.relative_to(layout.base).as_posix() in broken:
        return None
    from gitindex.segment.facts import Facts

    try:
        opened = Facts(facts)
    except IntegrityError:
        return None
    try:
        return {record.path for record in opened.records()}
    finally:
        opened.close()
