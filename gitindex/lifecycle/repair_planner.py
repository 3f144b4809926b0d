"""What is damaged, and the smallest rebuild that mends it (SN-11). Decides; `ops.repair` acts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitindex.errors import IntegrityError
from gitindex.indexing.compose import compute_counts
from gitindex.lifecycle.check import find_damaged_artifacts, find_inconsistencies
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
    damaged_paths = [artifact.path for artifact, _ in find_damaged_artifacts(view)]
    if not damaged_paths:
        problems = tuple(problem.message for problem in find_inconsistencies(view))
        return RepairPlan("full" if problems else "none", problems)
    damaged_segments = [segment for segment in view.manifest.segments if _is_affected(segment, damaged_paths)]
    dropped = tuple(segment.id for segment in damaged_segments)
    if any(path.startswith("lexical/") for path in damaged_paths):
        only_lexical = all(path.startswith("lexical/") for path in damaged_paths)
        return RepairPlan("lexical" if only_lexical else "full", tuple(damaged_paths), dropped)
    segment_paths = {
        segment.id: _list_segment_paths(view.layout, segment, damaged_paths) for segment in damaged_segments
    }
    if any(paths is None for paths in segment_paths.values()):
        return RepairPlan("full", tuple(damaged_paths), dropped)
    lost_paths = _find_lost_paths(
        view, {name: paths for name, paths in segment_paths.items() if paths is not None}
    )
    return RepairPlan("files", tuple(damaged_paths), dropped, lost_paths)


def drop_damaged_segments(view: SnapshotView, repair_plan: RepairPlan) -> Manifest:
    """The snapshot without its damaged segments, its counts taken anew from what is left.

    Older rows that the dropped tombstones hid come back; comparing the whole tree buries or replaces them.
    """
    segments = tuple(segment for segment in view.manifest.segments if segment.id not in repair_plan.segments)
    reduced_manifest = replace(
        view.manifest, segments=segments, semantic=_reset_exact_inputs(view.manifest, repair_plan)
    )
    remaining_view = SnapshotView(view.layout, reduced_manifest, None, view.verifier)
    try:
        return replace(reduced_manifest, counts=compute_counts(None, (), remaining_view.records(), 0))
    finally:
        remaining_view.close()


def _find_lost_paths(view: SnapshotView, segment_paths: Mapping[str, set[str]]) -> frozenset[str]:
    """Paths of the dropped segments but for those that a newer segment, which stays, replaced or deleted.

    The lexical index keeps one document set per path, that of the live rows: dropping it for a path that is not
    indexed again would lose it.
    """
    remaining = tuple(segment for segment in view.manifest.segments if segment.id not in segment_paths)
    segment_numbers = {segment.id: number for number, segment in enumerate(view.manifest.segments)}
    newest: dict[str, int] = {}
    with SnapshotView(
        view.layout, replace(view.manifest, segments=remaining), None, view.verifier
    ) as remaining_view:
        for at, segment in enumerate(remaining):
            newest.update(
                (record.path, segment_numbers[segment.id]) for record in remaining_view.segment_records(at)
            )
            newest.update(
                (path, segment_numbers[segment.id])
                for path in remaining_view.find_tombstoned_paths(range(at, at + 1))
            )
    return frozenset(
        path
        for name, paths in segment_paths.items()
        for path in paths
        if newest.get(path, -1) < segment_numbers[name]
    )


def _reset_exact_inputs(manifest: Manifest, repair_plan: RepairPlan) -> tuple[Mapping[str, Any], ...]:
    """Where documents were lost, no project counts as refreshed any more: the next refresh writes what is missing."""
    dropped = [segment for segment in manifest.segments if segment.id in repair_plan.segments]
    documents_lost = any(
        artifact.path.endswith("/scip.sqlite") for segment in dropped for artifact in segment.artifacts
    )
    return (
        tuple({**item, "inputs": ""} for item in manifest.semantic) if documents_lost else manifest.semantic
    )


def _is_affected(segment: Segment, damaged_paths: Iterable[str]) -> bool:
    segment_files = {artifact.path for artifact in segment.artifacts}
    if segment.tombstones is not None:
        segment_files.add(segment.tombstones.artifact.path)
    return not segment_files.isdisjoint(damaged_paths)


def _list_segment_paths(layout: Layout, segment: Segment, damaged_paths: list[str]) -> set[str] | None:
    """The paths a segment holds, from its path map or its facts; None when neither is whole."""
    path_map = layout.file_index(segment.id)
    if path_map.relative_to(layout.base).as_posix() not in damaged_paths:
        return {json.loads(line)["path_key"] for line in path_map.read_bytes().splitlines()}
    facts = layout.facts(segment.id)
    if facts.relative_to(layout.base).as_posix() in damaged_paths:
        return None
    from gitindex.segment.facts import Facts

    try:
        facts_reader = Facts(facts)
    except IntegrityError:
        return None
    try:
        return {record.path for record in facts_reader.records()}
    finally:
        facts_reader.close()
