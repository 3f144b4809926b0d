"""`state` over a real repository: freshness × certainty, gate, witnesses, decisions (SE-5, SE-6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.ops.answers.gated_read import ReadOptions
from gitindex.ops.exact.edit_gate import read_file_states
from gitindex.scip.symbol_grammar import hash64
from gitindex.view.snapshot import open_active
from tests.campaigns.refresh.project import Project, document, symbol
from tests.scip import writer

ALL = ("shapes.py", "report.py", "other.py", "README.md")


def states(project: Project, *paths: str, **more: str) -> dict:
    answer = read_file_states(project.codebase, paths or ALL, ReadOptions(), **more)
    return {
        **answer,
        "states": {item["path"]: (item["freshness"], item["certainty"]) for item in answer["files"]},
    }


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.refresh()
    return made


def test_clean_files_may_be_edited(project: Project):
    answer = states(project, "shapes.py", "report.py", "other.py")
    assert set(answer["states"].values()) == {("clean", "certain")}
    assert answer["gate"] == "allowed"


def test_unindexed_files_block_with_a_witness(project: Project):
    answer = states(project)
    assert answer["states"]["README.md"] == ("unindexed", "unknown")
    assert answer["gate"] == "blocked"
    (witness,) = answer["witnesses"]
    assert witness["path"] == "README.md"


def test_advice_is_of_some_use(project: Project):
    """SE-6: the command clears the reason; a refresh would not help with these."""
    project.repo.write("new.py", "x = 1\n")
    told = {item["path"]: item for item in states(project, "new.py", "gone.py", "README.md")["witnesses"]}
    assert told["new.py"]["reason"] == "git does not track it"
    assert told["new.py"]["command"].startswith("git add")
    assert told["gone.py"]["reason"] == "there is no such file"
    assert told["README.md"]["command"] == "gitindex indexers"
    project.repo.commit("new")
    answer = states(project, "new.py")
    assert answer["witnesses"][0]["command"] == "gitindex refresh --wait --files new.py"


def test_a_changed_interface_makes_dependants_stale(project: Project):
    """The change need not be synced; a change of a body alone disturbs nobody."""
    project.repo.write("shapes.py", project.files["shapes.py"].replace("return 3", "return 4"))
    answer = states(project)
    assert answer["states"]["shapes.py"] == ("dirty", "unknown")
    assert answer["states"]["report.py"] == ("clean", "certain")
    project.repo.write("shapes.py", project.files["shapes.py"].replace("area(self)", "area(self, unit)"))
    answer = states(project, "shapes.py", "report.py", "other.py")
    assert answer["states"]["report.py"] == ("stale", "certain")
    assert answer["states"]["other.py"] == ("clean", "certain")
    blamed = {item["path"]: item["because"] for item in answer["witnesses"]}
    assert blamed == {"shapes.py": "", "report.py": "shapes.py"}


def test_refreshing_a_dependency_alone_renews_its_dependants(project: Project):
    """SE-4, SE-5: `--files` must not turn a stale file clean while it keeps what it meant before."""
    report = hash64(symbol("shapes", "Disc#").encode())
    renamed = project.files["shapes.py"].replace("class Disc", "class Disk")
    project.change("shapes.py", renamed)
    project.sync()
    assert states(project)["states"]["report.py"] == ("stale", "certain")
    told = {**project.files, "report.py": ""}  # the tool no longer resolves the name
    documents = [document(path, text) for path, text in told.items() if path.endswith(".py")]
    project.answer(writer.index(*documents, tool="scip-python", version="0.6.6"))
    (done,) = project.refresh(files=("shapes.py",)).contexts
    assert done.detail["written"] == 2
    assert states(project)["states"]["report.py"] == ("clean", "certain")
    with open_active(project.codebase.layout) as view:
        assert list(view.scip.positions(report)) == []


def test_head_moving_on_without_a_sync_is_pending(project: Project):
    """Nobody has looked at the new interface yet."""
    project.repo.commit(
        "new", **{"shapes.py": project.files["shapes.py"] + "\n\ndef more():\n    return 1\n"}
    )
    answer = states(project)
    assert answer["states"]["shapes.py"] == ("dirty", "unknown")
    assert answer["states"]["report.py"] == ("pending_check", "certain")


def test_an_ambiguity_needs_one_decision_per_head(tmp_path: Path):
    """SE-6: the answer holds for this HEAD and these bytes, and for nothing else."""
    project = Project(tmp_path)
    project.files["user.py"] = "def wrong():\n    return compute()\n"
    project.repo.commit("user", **{"user.py": project.files["user.py"]})
    lies = writer.document("user.py", [writer.occurrence(symbol("report", "total()."), (1, 11, 18), 8)])
    documents = [document(path, text) for path, text in project.files.items() if path.endswith(".py")]
    documents = [item for item in documents if item.relative_path != "user.py"]
    project.answer(writer.index(*documents, lies, tool="scip-python", version="0.6.6"))
    project.refresh()
    asked = states(project, "user.py")
    assert asked["states"]["user.py"] == ("clean", "ambiguous")
    assert (asked["gate"], asked["ambiguous"]) == ("needs_decision", ["user.py"])
    decided = states(project, "user.py", decide="compute is ours", proof="read it")
    assert (decided["gate"], decided["decision"]["proof"]) == ("allowed", "read it")
    assert states(project, "user.py")["gate"] == "allowed", "replayed"
    project.repo.commit("on", **{"README.md": "# On\n"})
    project.sync()
    assert states(project, "user.py")["gate"] == "needs_decision", "another HEAD"
