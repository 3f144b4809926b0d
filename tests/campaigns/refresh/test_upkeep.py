"""Exact facts through damage, repair, builds and worktrees (SN-7, SN-11, ST-4, RE-1, SE-7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.errors import ChecksumMismatch
from gitindex.lifecycle import check
from gitindex.lifecycle.compact import compact
from gitindex.ops.answers.gated_read import ReadOptions
from gitindex.ops.answers.structural_answers import find_references
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.repair import repair_store
from gitindex.ops.sharing.build import build
from gitindex.ops.sharing.build_area import open_build_area
from gitindex.ops.sharing.build_options import BuildOptions
from gitindex.ops.syncing.sync import SyncOptions, sync
from gitindex.view.snapshot import open_active
from tests.campaigns.refresh.project import Project
from tests.campaigns.refresh.test_refresh import DISC, all_documents, places


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.refresh()
    return made


def damage(project: Project) -> Path:
    (target,) = project.codebase.layout.segments.glob("*/scip.sqlite")
    data = bytearray(target.read_bytes())
    data[len(data) // 2] ^= 255
    target.write_bytes(data)
    return target


def test_damaged_documents_are_noticed_and_mended(project: Project):
    """SN-7, SN-11: never read damaged; repair drops them, the next refresh writes them again."""
    before = all_documents(project)
    damage(project)
    with open_active(project.codebase.layout) as view:
        assert [problem.code for problem in check.inspect(view)] == ["checksum_mismatch"]
        with pytest.raises(ChecksumMismatch):
            list(view.scip.positions(DISC))
    repair_store(project.codebase)
    with open_active(project.codebase.layout) as view:
        assert check.inspect(view) == []
    assert find_references(project.codebase, "Disc", ReadOptions())["references"]
    (done,) = project.refresh().contexts
    assert done.outcome == "refreshed"
    assert all_documents(project) == before


def test_a_build_carries_exact_facts(project: Project):
    """RE-1: what CI publishes was refreshed for that very commit, from git objects alone."""
    environment = project.codebase.environment
    done = build(project.repo.root, environment, BuildOptions(workers=1))
    assert [item["commit"] for item in done.semantic] == [done.commit]
    codebase, _ = open_build_area(project.repo.root, environment, "HEAD")
    with open_active(codebase.layout) as view:
        assert len(list(view.scip.positions(DISC))) == 3
        assert check.inspect(view) == []


def test_a_build_sees_the_installed_packages(project: Project, tmp_path: Path):
    """RE-1, SE-2: CI builds with the environment it has; packages.json is what was read from it."""
    (tmp_path / "env" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    options = BuildOptions(workers=1, python_env=tmp_path / "env")
    build(project.repo.root, project.codebase.environment, options)
    call = project.tool.calls[-1]
    listed = call["argv"][call["argv"].index("--environment") + 1]
    assert Path(listed).name == "packages.json"


@pytest.mark.parametrize("compacted", [False, True])
def test_a_full_reindex_keeps_what_is_exact(project: Project, compacted: bool):
    """SE-7: documents belong to bytes; only what changed is refreshed, and nothing when nothing did."""
    before, runs = all_documents(project), len(project.tool.calls)
    if compacted:
        compact(project.codebase.layout)
    report = sync(project.codebase, SyncOptions(full=True, workers=1))
    assert all_documents(project) == before
    assert find_references(project.codebase, "Disc", ReadOptions())["references"]
    with open_active(project.codebase.layout) as view:
        assert check.inspect(view) == []
        assert view.manifest.snapshot_id == report.snapshot_id
    assert [item.outcome for item in project.refresh().contexts] == ["current"]
    assert not [call for call in project.tool.calls[runs:] if "index" in call["argv"]]
    project.change("other.py", "def lonely():\n    return 2\n")
    sync(project.codebase, SyncOptions(full=True, workers=1))
    with open_active(project.codebase.layout) as view:
        assert view.scip.is_current("shapes.py")
        assert not view.scip.is_current("other.py")


def test_a_full_reindex_does_without_damaged_documents(project: Project):
    """SN-7: reindexing is a way out of damage, so it must not stumble over it."""
    damage(project)
    sync(project.codebase, SyncOptions(full=True, workers=1))
    assert all_documents(project) == {}
    assert [item.outcome for item in project.refresh().contexts] == ["refreshed"]


def test_another_worktree_starts_with_the_documents(project: Project):
    """ST-4: hard links to the sibling's segments bring its exact facts along."""
    other = project.repo.root.parent / "other"
    project.repo.git("worktree", "add", "-q", "-b", "side", str(other))
    codebase = open_codebase(other, project.codebase.environment)
    report = sync(codebase, SyncOptions(workers=1))
    assert report.seeded_from
    with open_active(codebase.layout) as view:
        assert len(list(view.scip.positions(DISC))) == 3
    assert len(places(project)) == 3
