"""Everything that can go wrong between a request and its import: named, and nothing half-imported (SE-2, SE-3, SE-7)."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from gitindex.lifecycle import check
from gitindex.lifecycle.digest import compute_digest
from gitindex.ops.exact import refresh_jobs
from gitindex.scip.symbol_grammar import hash64
from gitindex.semantic.indexers.adapter import Diagnosis
from gitindex.semantic.process import Caps
from gitindex.store import manifests, steps
from gitindex.view.snapshot import open_active
from tests.campaigns.refresh.project import Project, scip_of, symbol
from tests.scip import writer

DISC = hash64(symbol("shapes", "Disc#").encode())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Refreshed once, then changed: the next refresh has something to lose and something to do."""
    made = Project(tmp_path)
    assert made.refresh().status == "ok"
    made.change("other.py", "def lonely():\n    return 9\n")
    made.sync()
    return made


def everything(project: Project) -> tuple[Any, ...]:
    """What a failed refresh must leave as it is: the snapshot, its facts, its documents, its books."""
    layout = project.codebase.layout
    with open_active(layout) as view:
        assert check.inspect(view) == []
        documents = {item.path: (item.blob, item.digest) for item in view.scip.documents()}
        places = sorted(view.scip.positions(DISC))
        return (
            manifests.read_active_id(layout),
            compute_digest(view),
            documents,
            places,
            view.manifest.semantic,
        )


class Failure(NamedTuple):
    diagnosis: Diagnosis
    step: Mapping[str, Any] = MappingProxyType({})
    caps: Caps = Caps(seconds=30)
    data: bytes | None = None  # instead of a good index


def about(*paths: str) -> bytes:
    found = [writer.occurrence(symbol("other", "lonely()."), (0, 4, 10), 1)]
    return writer.index(*(writer.document(path, found) for path in paths), tool="scip-python")


FAILURES = {
    "crashing": Failure(Diagnosis.CRASHED, {"exit": 3, "print": "boom"}),
    "killed": Failure(Diagnosis.CRASHED, {"signal": int(signal.SIGSEGV)}),
    "crashing after writing": Failure(Diagnosis.CRASHED, {"exit": 1}, data=scip_of({})),
    "hanging": Failure(Diagnosis.TIMED_OUT, {"hang": 1}, Caps(seconds=0.5)),
    "eating memory": Failure(
        Diagnosis.OUT_OF_MEMORY, {"eat": 300, "hang": 1}, Caps(seconds=20, memory_bytes=100 << 20)
    ),
    "out of heap": Failure(
        Diagnosis.OUT_OF_MEMORY,
        {"signal": int(signal.SIGABRT), "print": "FATAL ERROR: Reached heap limit Allocation failed"},
    ),
    "flooding": Failure(
        Diagnosis.OUTPUT_TOO_LARGE, {"flood": 100_000}, Caps(seconds=30, output_bytes=20_000)
    ),
    "without output": Failure(Diagnosis.NO_OUTPUT, {"output": None}),
    "truncated in a document": Failure(Diagnosis.TRUNCATED_OUTPUT, {"cut": 200}),
    "truncated in the middle": Failure(Diagnosis.TRUNCATED_OUTPUT, {"cut": -7}),
    "empty file": Failure(Diagnosis.NO_DOCUMENTS, {"cut": 0}),
    "no documents, exit 0": Failure(Diagnosis.NO_DOCUMENTS, data=writer.index(tool="scip-python")),
    "about another directory": Failure(Diagnosis.WRONG_ROOT, data=about("elsewhere/x.py", "elsewhere/y.py")),
    "only hostile paths": Failure(
        Diagnosis.WRONG_ROOT, data=about("../other.py", "/etc/passwd", "../../../other.py", "..")
    ),
    "not protobuf": Failure(Diagnosis.TRUNCATED_OUTPUT, data=b"\xff" * 500),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failing_tool_leaves_everything_as_it_was(project: Project, name: str):
    """SE-2, SE-3: a named diagnosis in the answer and in the queue, the old documents, nothing left in staging."""
    before = everything(project)
    failure = FAILURES[name]
    project.answer(failure.data, **failure.step)
    report = project.refresh(caps=failure.caps)
    (failed,) = report.contexts
    assert (report.status, failed.outcome, failed.diagnosis) == ("failed", "failed", failure.diagnosis), (
        failed
    )
    assert failed.message
    assert failed.next
    assert everything(project) == before
    assert not any(project.codebase.layout.staging.iterdir())
    listed = refresh_jobs.list_jobs(project.codebase)["jobs"][0]
    assert (listed["status"], listed["error"].partition(":")[0]) == ("failed", failure.diagnosis)
    project.answer()
    assert project.refresh().status == "ok", "and it does not stand in the way of the next one"


def test_a_missing_tool_is_unavailable_not_an_error_of_the_index(project: Project):
    """SE-2: the report says how to get it; nothing is queued that nobody could do."""
    before = everything(project)
    os.unlink(project.tool.directory / "scip-python")
    report = project.refresh()
    (missing,) = report.contexts
    assert (report.status, missing.outcome, missing.diagnosis) == ("failed", "unavailable", "missing_tool")
    assert "indexers install" in missing.next
    assert everything(project) == before
    assert [job["status"] for job in refresh_jobs.list_jobs(project.codebase)["jobs"]] == ["completed"]


HOSTILE = {
    "../../etc/passwd": "leaves the repository",
    "/etc/passwd": "absolute path",
    "": "absolute path",
    "..": "leaves the repository",
    "sub/../../up.py": "leaves the repository",
    ".git/config": "not a tracked file",
    "nul\0.py": "leaves the repository",
    "nowhere.py": "not a tracked file",
    "README.md/x.py": "not a tracked file",
}


def test_hostile_documents_are_refused_one_by_one(project: Project):
    """SE-7: each with its reason; what stands beside them is imported, and only that."""
    lies = [
        writer.document(path, [writer.occurrence(symbol("x", "evil()."), (0, 0, 1), 1)]) for path in HOSTILE
    ]
    project.answer(writer.index(*lies, tool="scip-python") + scip_of(project.files))
    (done,) = project.refresh().contexts
    assert done.outcome == "refreshed"
    assert sorted(map(tuple, done.detail["rejected"])) == sorted(HOSTILE.items())
    with open_active(project.codebase.layout) as view:
        assert {item.path for item in view.scip.documents()} == {"shapes.py", "report.py", "other.py"}
        assert list(view.scip.positions(hash64(symbol("x", "evil().").encode()))) == []
        assert check.inspect(view) == []


def test_duplicate_documents_count_once(project: Project):
    """SE-7: the same document twice is one, two different ones about one file are their union."""
    project.answer(scip_of(project.files) * 2)
    project.refresh()
    once = everything(project)[2:4]
    project.change("other.py", "def lonely():\n    return 10\n")
    halves = [
        writer.document("other.py", [writer.occurrence(symbol("other", "lonely()."), (0, 4, 10), 1)]),
        writer.document("other.py", [writer.occurrence(symbol("shapes", "Disc#"), (0, 0, 3), 8)]),
    ]
    others = {path: text for path, text in project.files.items() if path != "other.py"}
    project.answer(scip_of(others) + writer.index(*halves, tool="scip-python"))
    (done,) = project.refresh().contexts
    assert (done.detail["documents"], done.detail["written"]) == (3, 1)
    assert done.detail["demoted"] == 1, "`def` is not what Disc is called"
    documents, places = everything(project)[2:4]
    assert {path for path in documents if documents[path] == once[0].get(path)} == {"shapes.py", "report.py"}
    assert [place[:3] for place in places if place not in once[1]] == [("other.py", 1, 1)]


MOVES = (
    *steps.EXACT_STEPS["refresh"][:3],
    *steps.EXACT_STEPS["import"],
    *steps.STEPS["publish"][: steps.STEPS["publish"].index("publish.gate") + 1],
)


def test_head_moving_at_any_step_before_the_swap_discards_the_output(project: Project):
    """SE-3: HEAD is asked again last before the swap; whenever it moved until then, nothing is published."""
    for number, step in enumerate(MOVES):
        project.change("other.py", f"def lonely():\n    return {number + 100}\n")
        project.sync()
        before = everything(project)
        moved: list[str] = []

        def move(name: str, wanted: str = step, moved: list[str] = moved) -> None:
            if name == wanted and not moved:
                moved.append(project.repo.commit("meanwhile", **{"README.md": f"# {wanted}\n"}))

        steps.observe(move)
        try:
            report = project.refresh(catch_up=False)
        finally:
            steps.observe(None)
        assert moved, f"a refresh no longer reaches {step}"
        assert [item.outcome for item in report.contexts] == ["superseded"], step
        assert everything(project) == before, step
        assert not any(project.codebase.layout.staging.iterdir()), step
    assert project.refresh().status == "ok"
