"""What of a segment is dead, and what a merged run keeps (SN-8)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitindex.lifecycle import merging
from gitindex.segment.facts import Facts
from gitindex.segment.lexical_index import LexicalIndex
from gitindex.view.snapshot import SnapshotView
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def view(repo: GitRepo) -> Iterator[SnapshotView]:
    """Three segments: the second replaces a.py and deletes b.py, the third replaces a.py and d.py again."""
    repo.commit("one", **{name: f"{name[0]} = 1\n" for name in ("a.py", "b.py", "c.py")})
    harness.index(repo.root)
    repo.git("rm", "-q", "b.py")
    repo.commit("two", **{"a.py": "a = 2\n", "d.py": "d = 2\n"})
    harness.index(repo.root)
    repo.commit("three", **{"a.py": "a = 3\n", "d.py": "d = 3\n"})
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        yield view


def merge(view: SnapshotView, folder: Path, *runs: range) -> list[merging.MergedRun]:
    merged_runs = merging.merge(view, runs, folder, "S9")
    for merged_run in merged_runs:
        for writer in merged_run.writers:
            writer.write_table(None)
            writer.write_facts(())
    return merged_runs


def paths_of(folder: Path, merged_run: merging.MergedRun) -> list[str]:
    (writer,) = merged_run.writers
    return sorted(Facts(folder / writer.id / "facts.sqlite").paths())


def test_dead_rows_and_hidden_paths_are_counted(view: SnapshotView) -> None:
    usages = merging.measure_segments(view)
    assert [(usage.rows, usage.dead_rows) for usage in usages] == [(6, 4), (4, 4), (4, 0)]
    assert [usage.tombstones for usage in usages] == [2, 2 + 2, 2]
    assert all(usage.size > 0 for usage in usages)
    assert [(usage.documents, usage.dead_documents) for usage in usages] == [(0, 0)] * 3


def test_only_tombstones_of_paths_in_unmerged_older_segments_are_kept(
    view: SnapshotView, tmp_path: Path
) -> None:
    (merged_run,) = merge(view, tmp_path, range(1, 3))
    assert sorted(merged_run.tombstones) == [("a.py", "replace"), ("b.py", "delete")]
    assert paths_of(tmp_path, merged_run) == ["a.py", "d.py"]
    assert merged_run.kind == "delta"


def test_a_run_of_all_segments_has_no_tombstones(view: SnapshotView, tmp_path: Path) -> None:
    (merged_run,) = merge(view, tmp_path, range(3))
    assert merged_run.tombstones == ()
    assert merged_run.kind == "base"
    assert paths_of(tmp_path, merged_run) == ["a.py", "c.py", "d.py"]


def test_segments_of_several_runs_are_numbered_consecutively(view: SnapshotView, tmp_path: Path) -> None:
    first, second = merge(view, tmp_path, range(1), range(2, 3))
    assert [writer.id for run in (first, second) for writer in run.writers] == ["seg_S9_0", "seg_S9_1"]
    assert paths_of(tmp_path, first) == ["c.py"]
    assert sorted(second.tombstones) == [("a.py", "replace"), ("d.py", "replace")], "both are in the second"


@pytest.mark.parametrize(("limit", "segments"), [(18, 1), (17, 2), (6, 2)])
def test_a_run_is_split_at_the_size_limit(
    view: SnapshotView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, segments: int
) -> None:
    """Live files of 6, 0 and 12 bytes."""
    monkeypatch.setattr(merging, "MAX_SYNC_BYTES", limit)
    (merged_run,) = merge(view, tmp_path, range(3))
    assert len(merged_run.writers) == segments


def test_the_lexical_index_can_be_rebuilt_from_the_tables(view: SnapshotView, tmp_path: Path) -> None:
    merging.rebuild_lexical(view, tmp_path / "lexical")
    rebuilt = LexicalIndex(tmp_path / "lexical")
    assert sorted(rebuilt.iter_documents()) == sorted(view.lexical.iter_documents())
