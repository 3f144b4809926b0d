"""What users give to indexers is checked before a job is queued; progress of a rebuild."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.errors import UsageError
from gitindex.ops.exact.indexer_inputs import locate_node_modules, locate_python_env, make_caps, memory_gib
from gitindex.ops.maintain.rebuild_progress import initial_progress, measure_progress


def test_nothing_given_is_nothing_used():
    assert locate_python_env(None) is None
    assert locate_node_modules(None) is None


def test_node_modules_are_named_by_themselves_or_by_their_project(tmp_path: Path):
    modules = tmp_path / "node_modules"
    modules.mkdir()
    assert locate_node_modules(tmp_path) == locate_node_modules(modules) == modules.resolve()


def test_a_directory_without_packages_is_a_mistake(tmp_path: Path):
    with pytest.raises(UsageError):
        locate_node_modules(tmp_path)
    with pytest.raises(UsageError):
        locate_python_env(tmp_path)


def test_memory_is_given_in_gib():
    caps = make_caps(seconds=1.5, memory_gib=0.5)
    assert (caps.seconds, caps.memory_bytes) == (1.5, 512 * 1024**2)
    assert memory_gib(caps) == 0.5


def test_progress_is_a_percentage_where_there_is_a_total():
    assert measure_progress("write", 1, 3).progress_pct == 33.3
    assert measure_progress("write", 3, 3).progress_pct == 100.0
    assert measure_progress("plan", 0, 0).progress_pct is None
    assert (initial_progress().progress_pct, initial_progress().phase) == (None, "starting")
