"""Finds damage and plans the smallest rebuild that repairs it (SN-11). `ops.maintain.repair` executes the plan."""

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
from gitindex.view.snapshot import SnapshotView, exact_artifacts


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """`scope`: none · control (lease, state file, queue) · files (drop segments, index their files again) ·
    lexical (rebuild from tables) · full.
    """

    scope: str
    damaged: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()  # to drop
    paths: frozenset[str] = frozenset()  # whose live rows may be in them: to be indexed again


def plan(view: SnapshotView) -> RepairPlan:
    """Read every artifact and decide.

    A damaged lexical index is rebuilt from the tables, a damaged segment from the files it held, as long as one of its
    two lists of paths is intact. Everything else needs a full reindex, also layers that differ though no artifact is
    damaged. Raises IncompatibleVersion for a snapshot of another release.
    """
    damaged_paths = [damage.artifact.path for damage in find_damaged_artifacts(view)]
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
    """The manifest without the damaged segments, with counts of what is left.

    Older rows that the dropped tombstones hid are visible again; the following full comparison tombstones or replaces
    them.
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
    """Paths of the dropped segments, except those that a newer remaining segment replaced or deleted.

    The lexical index has only the documents of live rows: deleting those of a path that is not indexed again would
    lose them.
    """
    remaining = tuple(segment for segment in view.manifest.segments if segment.id not in segment_paths)
    segment_numbers = {segment.id: number for number, segment in enumerate(view.manifest.segments)}
    # path → number of the newest remaining segment that has a record or tombstone of it
    newest: dict[str, int] = {}
    remaining_manifest = replace(view.manifest, segments=remaining)
    with SnapshotView(view.layout, remaining_manifest, None, view.verifier) as remaining_view:
        for index, segment in enumerate(remaining):
            number = segment_numbers[segment.id]
            newest.update((record.path, number) for record in remaining_view.segment_records(index))
            tombstoned_paths = remaining_view.find_tombstoned_paths(range(index, index + 1))
            newest.update((path, number) for path in tombstoned_paths)
    return frozenset(
        path
        for name, paths in segment_paths.items()
        for path in paths
        if newest.get(path, -1) < segment_numbers[name]
    )


def _reset_exact_inputs(manifest: Manifest, repair_plan: RepairPlan) -> tuple[Mapping[str, Any], ...]:
    """If documents were lost, mark no context as refreshed, so that the next refresh writes what is missing."""
    dropped = [segment for segment in manifest.segments if segment.id in repair_plan.segments]
    if not any(exact_artifacts(segment) for segment in dropped):
        return manifest.semantic
    return tuple({**context, "inputs": ""} for context in manifest.semantic)


def _is_affected(segment: Segment, damaged_paths: Iterable[str]) -> bool:
    segment_files = {artifact.path for artifact in segment.artifacts}
    if segment.tombstones is not None:
        segment_files.add(segment.tombstones.artifact.path)
    return not segment_files.isdisjoint(damaged_paths)


def _list_segment_paths(layout: Layout, segment: Segment, damaged_paths: list[str]) -> set[str] | None:
    """The paths that a segment holds, from its path map or its facts; None when both are damaged."""
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
