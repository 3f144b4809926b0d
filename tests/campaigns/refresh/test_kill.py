"""A refresh killed at any step: the old or the new documents, and a later refresh finishes the work (SE-3, SN-4)."""

from __future__ import annotations

import signal
import time
from contextlib import closing
from pathlib import Path

import pytest

from gitindex.lifecycle import check
from gitindex.scip.symbol_grammar import hash64
from gitindex.semantic import control_database, job_queue
from gitindex.store import steps
from gitindex.view.snapshot import open_active
from tests.campaigns.refresh.crashing import kill_at
from tests.campaigns.refresh.project import Project, symbol

STEPS = (*steps.EXACT_STEPS["refresh"], *steps.EXACT_STEPS["import"], *steps.STEPS["publish"])
MORE = hash64(symbol("other", "lonely().").encode())
OLD, NEW = [("other.py", 1, 5)], [("other.py", 1, 5), ("other.py", 6, 12)]


def places(project: Project) -> list[tuple]:
    with open_active(project.codebase.layout) as view:
        assert check.inspect(view) == []
        return sorted((item.path, item.line, item.column) for item in view.scip.positions(MORE))


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_leaves_old_or_new(tmp_path: Path, step: str):
    project = Project(tmp_path)
    project.refresh()
    assert places(project) == OLD
    project.change("other.py", "def lonely():\n    return 2\n\n\ndef more():\n    return lonely()\n")
    project.sync()
    assert places(project) == [], "the file changed, its old document is no longer exact"
    assert kill_at(step, project.repo.root, project.home, project.tool.path) == -signal.SIGKILL
    assert places(project) in ([], NEW), step
    with closing(control_database.open_control(project.codebase.layout.control)) as connection:
        job_queue.recover(connection, time.time() + 3600)  # as if the dead worker had been silent for long
    report = project.refresh()
    assert report.status == "ok", (step, report)
    assert places(project) == NEW
