"""What is damaged, and the smallest rebuild that mends it (SN-11). Decides; `ops.repair` acts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitindex.errors import IntegrityError
from gitindex.indexing.compose import count
from gitindex.lifecycle.check import damaged, differences
from gitindex.model.manifest import Manifest, Segment
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """`scope`: none · control (lease, state file, queue) · files (drop segments, index their files again) ·
    lexical (rebuild from tables) · full.
    """

    scope: str
    damaged: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()  # to drop
    paths: frozenset[str] = frozenset()  # whose live rows they may hold


def plan(view: SnapshotView) -> RepairPlan:
    """Read every artifact and decide.

    Damage to the lexical index alone is mended from the tables; damage to a segment from the files it held, as long as
    one of its two lists of paths is whole. Everything else needs a full reindex, also layers that differ though every
    byte is what the manifest says. Raises IncompatibleVersion for a snapshot of another release.
    """
    broken = [artifact.path for artifact, _ in damaged(view)]
    if not broken:
        problems = tuple(problem.message for problem in differences(view))
        return RepairPlan("full" if problems else "none", problems)
    bad = [segment for segment in view.manifest.segments if _touches(segment, broken)]
    dropped = tuple(segment.id for segment in bad)
    if any(path.startswith("lexical/") for path in broken):
        alone = all(path.startswith("lexical/") for path in broken)
        return RepairPlan("lexical" if alone else "full", tuple(broken), dropped)
    held = {segment.id: _held(view.layout, segment, broken) for segment in bad}
    if any(paths is None for paths in held.values()):
        return RepairPlan("full", tuple(broken), dropped)
    lost = _lost_paths(view, {name: paths for name, paths in held.items() if paths is not None})
    return RepairPlan("files", tuple(broken), dropped, lost)


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


def _lost_paths(view: SnapshotView, held: Mapping[str, set[str]]) -> frozenset[str]:
    """Paths of the dropped segments but for those that a newer segment, which stays, replaced or deleted.

    The lexical index keeps one document set per path, that of the live rows: dropping it for a path that is not
    indexed again would lose it.
    """
    kept = tuple(segment for segment in view.manifest.segments if segment.id not in held)
    places = {segment.id: at for at, segment in enumerate(view.manifest.segments)}
    newest: dict[str, int] = {}
    with SnapshotView(view.layout, replace(view.manifest, segments=kept), None, view.verifier) as left:
        for at, segment in enumerate(kept):
            newest.update((record.path, places[segment.id]) for record in left.segment_records(at))
            newest.update(
                (path, places[segment.id]) for path in left.find_tombstoned_paths(range(at, at + 1))
            )
    return frozenset(
        path for name, paths in held.items() for path in paths if newest.get(path, -1) < places[name]
    )


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
