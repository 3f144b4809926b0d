"""The smallest rebuild for each kind of damage (SN-11)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitindex.lifecycle import repair_planner
from gitindex.lifecycle.repair_planner import RepairPlan
from gitindex.view.snapshot import SnapshotView
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def view(repo: GitRepo) -> Iterator[SnapshotView]:
    """Two segments: a.py, b.py and c.py; then a.py replaced, b.py deleted and d.py added."""
    repo.commit("one", **{name: f"{name[0]} = 1\n" for name in ("a.py", "b.py", "c.py")})
    harness.index(repo.root)
    repo.git("rm", "-q", "b.py")
    repo.commit("two", **{"a.py": "a = 2\n", "d.py": "d = 2\n"})
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        yield view


def damage(path: Path) -> str:
    path.write_bytes(path.read_bytes() + b"x")
    return path.parent.name + "/" + path.name


def plan_of(view: SnapshotView) -> RepairPlan:
    with SnapshotView(view.layout, view.manifest, None, view.verifier) as reopened:
        return repair_planner.plan(reopened)


def test_an_intact_snapshot_needs_nothing(view: SnapshotView) -> None:
    assert plan_of(view) == RepairPlan("none")


def test_a_damaged_lexical_index_is_rebuilt_alone(view: SnapshotView) -> None:
    artifact = view.manifest.lexical[0]
    damage(view.layout.base / artifact.path)
    assert plan_of(view) == RepairPlan("lexical", (artifact.path,))
    damage(view.layout.facts(view.manifest.segments[0].id))
    assert plan_of(view).scope == "full"


def test_files_of_a_damaged_segment_are_indexed_again_unless_a_newer_segment_has_them(
    view: SnapshotView,
) -> None:
    older, newer = view.manifest.segments
    damage(view.layout.facts(older.id))
    plan = plan_of(view)
    assert (plan.scope, plan.segments) == ("files", (older.id,))
    assert plan.paths == {"c.py"}, "a.py was replaced later, b.py deleted"
    reduced = repair_planner.drop_damaged_segments(view, plan)
    assert [segment.id for segment in reduced.segments] == [newer.id]
    assert reduced.counts.files_indexed == 2


def test_files_of_the_newest_segment_are_all_lost(view: SnapshotView) -> None:
    older, newer = view.manifest.segments
    damage(view.layout.tombstones(newer.id))
    plan = plan_of(view)
    assert (plan.scope, plan.segments, plan.paths) == ("files", (newer.id,), {"a.py", "d.py"})
    reduced = repair_planner.drop_damaged_segments(view, plan)
    assert reduced.counts.files_indexed == older.files == 3, "rows that the lost tombstones hid are back"


def test_the_facts_serve_where_the_path_map_is_damaged(view: SnapshotView) -> None:
    older = view.manifest.segments[0]
    damage(view.layout.file_index(older.id))
    assert plan_of(view).paths == {"c.py"}
    damage(view.layout.facts(older.id))
    assert plan_of(view).scope == "full", "nobody knows which files it held"
