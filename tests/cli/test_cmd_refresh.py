"""`refresh`, `jobs`, `indexers` and `state`: arguments of the worker, rows of the answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.cli import cmd_indexers, cmd_jobs, cmd_refresh, cmd_state
from gitindex.ops.exact.edit_gate import FileStateEntry, FileStatesAnswer
from gitindex.ops.exact.indexer_inputs import make_caps
from gitindex.ops.exact.refresh import ContextReport, RefreshOptions, RefreshReport
from gitindex.semantic.mutation import Witness
from tests.support import harness
from tests.support.gitrepo import GitRepo


def test_the_worker_gets_the_same_request():
    options = RefreshOptions(
        contexts=("python",),
        files=("-a.py",),
        allow_project_code=True,
        caps=make_caps(seconds=60.0, memory_gib=0.5),
        python_env=Path("/env"),
    )
    assert cmd_refresh._worker_arguments(Path("/root"), options) == [
        "refresh",
        "--wait",
        "--path=/root",
        "--timeout=60.0",
        "--memory=0.5",
        "--context=python",
        "--python-env=/env",
        "--allow-project-code",
        "--files",
        "--",
        "-a.py",
    ]
    plain = cmd_refresh._worker_arguments(Path("/root"), RefreshOptions())
    assert plain[-1] == "--memory=8.0"


def test_a_path_is_resolved_where_the_command_runs_first(repo: GitRepo):
    repo.commit("one", **{"a.py": "", "inner/a.py": "", "b.py": ""})
    codebase = harness.codebase(repo.root)
    resolve = cmd_refresh._resolve_key
    assert resolve(codebase, repo.root / "inner", "a.py") == "inner/a.py"
    assert resolve(codebase, repo.root / "inner", "b.py") == "b.py"
    assert resolve(codebase, repo.root / "inner" / "a.py", "a.py") == "inner/a.py"
    assert resolve(codebase, repo.root, "gone.py") == "gone.py"


def test_a_context_says_what_became_of_it():
    detail = {
        **dict.fromkeys(("documents", "written", "unchanged", "buried", "occurrences"), 1),
        **dict.fromkeys(("demoted", "repaired", "unresolved"), 0),
        "excluded": ["bad.py"],
        "remarks": ["one", "two", "three", "four", "five", "six"],
    }
    done = ContextReport("c", "python", "", 2, "scip-python", "refreshed", detail=detail)
    failed = ContextReport(
        "d",
        "go",
        "",
        1,
        "scip-go",
        "failed",
        diagnosis="timeout",
        message="took too long",
        next="gitindex jobs",
    )
    text = cmd_refresh._render_text(RefreshReport("failed", "a" * 40, None, (done, failed)))
    assert "1 document: 1 written, 1 unchanged, 1 removed; 1 occurrences" in text
    assert "excluded, because it crashes the indexer: bad.py" in text
    assert "  five" in text
    assert "  six" not in text
    assert text.endswith("  timeout: took too long\n  next: gitindex jobs")


def test_only_a_queued_job_leads_to_the_list_of_jobs():
    queued = ContextReport("c", "python", "", 2, "scip-python", "queued")
    assert cmd_refresh._render_text(RefreshReport("ok", "a" * 40, None, (queued,))).endswith(
        "next: gitindex jobs"
    )
    assert cmd_refresh._render_text(RefreshReport("ok", "a" * 40, None, ())).startswith("no project")


def test_a_job_shows_the_first_line_of_its_reason():
    job = {
        "id": 3,
        "context": "c",
        "status": "failed",
        "head": "a" * 40,
        "attempts": 2,
        "scope": "files",
        "error": "crashed\nlong log",
        "superseded_reason": None,
    }
    assert cmd_jobs._job_row(job) == ("3", "c", "failed", "a" * 12, "2", "part", "crashed")
    moved = {**job, "error": None, "superseded_reason": "HEAD moved", "scope": "full"}
    assert cmd_jobs._job_row(moved)[-2:] == ("full", "HEAD moved")


@pytest.mark.parametrize(("installed", "version"), [(True, "?"), (False, "-")])
def test_an_indexer_without_a_version(installed: bool, version: str):
    item = {
        "name": "scip-go",
        "language": "go",
        "version": None,
        "installed": installed,
        "source": "",
        "how_to_get": "go install",
        "runs_project_code": True,
    }
    row = cmd_indexers._indexer_table({"indexers": [item]}).splitlines()[1].split()
    assert row == ["scip-go", "go", version, "go", "install", "runs", "project", "code"]


def test_installing_needs_a_name():
    ran = harness.cli("indexers", "install", "--json")
    assert ran.code == 2
    assert ran.json["error"]["message"] == "name at least one indexer"


@pytest.mark.parametrize(
    ("gate", "last"), [("needs_decision", "--decide"), ("blocked", "next: gitindex sync")]
)
def test_the_gate_says_what_to_do(gate: str, last: str):
    answer = FileStatesAnswer(
        status="ok",
        basis=None,  # type: ignore[arg-type]  # the text does not show it
        head="c",
        gate=gate,
        files=(FileStateEntry("a.py", "clean", "ambiguous", "", ("x", "y")),),
        witnesses=(Witness("b.py", "dirty", "certain", "changed", "", "gitindex sync"),),
        ambiguous=("a.py",),
        signature="s",
        decision=None,
    )
    lines = cmd_state._render_text(answer).splitlines()
    assert lines[:2] == ["a.py  clean  ambiguous  x, y", f"gate: {gate}"]
    assert last in lines[-1]
