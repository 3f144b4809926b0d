"""refresh, jobs, indexers and state from the command line (SE-2, SE-3, SE-5, UI-3)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.campaigns.refresh.project import Project
from tests.support.harness import cli


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path)
    monkeypatch.setenv("PATH", made.tool.path)
    monkeypatch.setenv("GITINDEX_HOME", str(made.home))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[3]))
    return made


def run(project: Project, *words: str):
    return cli(*words, "--path", str(project.repo.root))


def test_refresh_then_ask(project: Project):
    done = run(project, "refresh", "--wait", "--json")
    assert done.code == 0, done.err
    assert [item["outcome"] for item in done.json["contexts"]] == ["refreshed"]
    text = run(project, "refresh", "--wait")
    assert "current" in text.out
    assert "semantic" in run(project, "refs", "Disc").out
    hover = run(project, "symbol", "report.py:6:18")
    assert "def area()" in hover.out
    assert "shapes.py:7:9" in hover.out
    status = run(project, "status", "--json").json["semantic"]
    assert [(item["language"], item["files"]) for item in status] == [("python", 3)]


def test_a_position_without_an_answer_says_why(project: Project):
    """UI-3: no such file, no such line, nothing there; an external name keeps its hover."""
    run(project, "refresh", "--wait")
    for command in ("refs", "symbol"):
        assert "nowhere.py is not in the index" in run(project, command, "nowhere.py:1:1").out
        assert "other.py has 2 lines; line 99 was asked for" in run(project, command, "other.py:99:1").out
        assert "nothing with a definition at other.py:2:5" in run(project, command, "other.py:2:5").out
        assert "no definition of Nobody" in run(project, command, "Nobody").out


def test_jobs_tell_what_happened(project: Project):
    assert run(project, "jobs").code == 0
    project.answer(exit=2, print="something broke inside")
    failed = run(project, "refresh", "--wait")
    assert failed.code == 1
    assert "crashed" in failed.out
    listed = run(project, "jobs", "--json").json["jobs"]
    assert [(job["status"], job["scope"]) for job in listed] == [("failed", "full")]
    assert "something broke inside" in listed[0]["error"]
    assert "crashed" in run(project, "jobs").out


def test_a_refresh_in_the_background_finishes(project: Project):
    asked = run(project, "refresh", "--files", "shapes.py", "--json")
    assert [item["outcome"] for item in asked.json["contexts"]] == ["queued"]
    deadline = time.monotonic() + 60
    while run(project, "jobs", "--json").json["jobs"][0]["status"] in ("queued", "running"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert [item["files"] for item in run(project, "status", "--json").json["semantic"]] == [1]


def test_indexers_are_listed_and_refused(project: Project):
    listed = {item["name"]: item for item in run(project, "indexers", "--json").json["indexers"]}
    assert (listed["scip-python"]["installed"], listed["scip-python"]["source"]) == (True, "path")
    assert len(listed) == 7
    assert run(project, "indexers", "install").code == 2
    refused = run(project, "indexers", "install", "go")
    assert refused.code == 2
    assert "scip-go" in refused.err


def test_state_from_the_command_line(project: Project):
    run(project, "refresh", "--wait")
    allowed = run(project, "state", "shapes.py")
    assert (allowed.code, "gate: allowed" in allowed.out) == (0, True)
    project.repo.write("shapes.py", "class Other:\n    pass\n")
    blocked = run(project, "state", "shapes.py", "report.py")
    assert blocked.code == 1
    assert "the interface of a dependency changed: shapes.py" in blocked.out
