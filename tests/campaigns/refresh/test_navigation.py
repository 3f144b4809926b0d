"""Exact answers where the bytes are the indexed ones, labelled others elsewhere (SE-8, QU-3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.ops.answers.gated_read import ReadOptions
from gitindex.ops.answers.structural_answers import call_graph, find_references, find_symbol, outline
from tests.campaigns.refresh.project import Project, document, symbol
from tests.scip import writer

READ = ReadOptions()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    assert made.refresh().status == "ok"
    return made


def found(answer: dict, kind: str = "references") -> list[tuple]:
    return [(item["path"], item["line"], item["column"], item["precision"]) for item in answer[kind]]


def test_references_follow_types_that_syntax_cannot(project: Project):
    """`disc.area()` is Disc's method, not Shape's: only the indexer knows."""
    disc = find_references(project.codebase, "Disc.area", READ)
    assert found(disc) == [("report.py", 6, 17, "semantic")]
    assert [item["role"] for item in disc["references"]] == ["call"]
    shape = find_references(project.codebase, "Shape.area", READ)
    assert shape["references"] == []
    imported = find_references(project.codebase, "Disc", READ)
    assert found(imported) == [("report.py", 1, 20, "semantic"), ("report.py", 5, 12, "semantic")]
    assert [item["role"] for item in imported["references"]] == ["import", "call"]


def test_a_position_means_what_the_indexer_says(project: Project):
    answer = find_symbol(project.codebase, "report.py:6:18", READ)
    (result,) = answer["results"]
    assert (result["path"], result["line"], result["precision"]) == ("shapes.py", 7, "semantic")
    assert answer["hover"]["signature"] == "def area()"
    assert answer["hover"]["documentation"] == "About area."
    base = find_symbol(project.codebase, "Shape.area", READ)
    assert [(item["path"], item["line"]) for item in base["implementations"]] == [("shapes.py", 7)]


def test_calls_and_outline_are_labelled(project: Project):
    callers = call_graph(project.codebase, "Disc.area", READ, depth=2)
    edges = {(edge["from"], edge["to"], edge["precision"]) for edge in callers["edges"]}
    total, area, show = "report.py#total:4", "shapes.py#Disc.area:7", "report.py#show:9"
    assert edges == {(total, area, "semantic"), (show, total, "semantic")}
    callees = call_graph(project.codebase, "total", READ, direction="callees", depth=1)
    assert (total, area, "semantic") in {
        (edge["from"], edge["to"], edge["precision"]) for edge in callees["edges"]
    }
    answer = outline(project.codebase, "shapes.py", READ)
    assert answer["precision"] == "semantic"
    assert {item["precision"] for item in answer["symbols"]} == {"semantic"}


def test_changed_files_fall_back_and_say_so(project: Project):
    """SE-8: a file with other bytes answers syntactically; unchanged files stay exact, also about it."""
    project.repo.write("report.py", "\n" + project.files["report.py"])
    project.sync()
    assert outline(project.codebase, "report.py", READ)["precision"] == "syntactic"
    answer = find_references(project.codebase, "Disc", READ)
    assert {item["precision"] for item in answer["references"]} == {"syntactic"}
    assert {item["line"] for item in answer["references"]} == {2, 6}
    project.repo.write("report.py", project.files["report.py"])
    project.repo.write("shapes.py", "# moved\n" + project.files["shapes.py"])
    project.sync()
    answer = find_references(project.codebase, "Disc.area", READ)
    assert [item["line"] for item in answer["definitions"]] == [8], "where it is now"
    assert found(answer) == [("report.py", 6, 17, "semantic")], "the unchanged file knows its symbol"


def test_unchanged_lines_of_a_changed_file_keep_their_meaning(project: Project):
    """SE-8: positions are shifted by the diff and labelled so; a changed line is judged by syntax alone."""
    text = project.files["report.py"].replace("def show", "# a\n# b\ndef show").replace("Disc()", "Disc( )")
    project.repo.write("report.py", "\n" + text)
    project.sync()
    answer = find_references(project.codebase, "Disc.area", READ)
    (moved,) = answer["references"]
    assert (moved["path"], moved["line"], moved["column"]) == ("report.py", 7, 17)
    assert (moved["precision"], moved["how"]) == ("syntactic", "shifted")
    assert find_references(project.codebase, "Shape.area", READ)["references"] == []
    (meant,) = find_symbol(project.codebase, "report.py:7:18", READ)["results"]
    assert (meant["path"], meant["line"]) == ("shapes.py", 7)
    changed = {
        item["line"]: item["how"] for item in find_references(project.codebase, "Disc", READ)["references"]
    }
    assert changed[2] == "shifted"
    assert changed[6] != "shifted"


def test_contradicted_occurrences_are_never_exact(tmp_path: Path):
    """SE-7: the tool says `total`, the text says `total_of`: a candidate at best."""
    project = Project(tmp_path)
    text = "from report import total\n\n\ndef wrong():\n    return compute()\n"
    project.files["user.py"] = text
    project.repo.commit("user", **{"user.py": text})
    meant = symbol("report", "total().")
    lies = writer.document("user.py", [writer.occurrence(meant, (4, 11, 18), 8)])
    documents = [document(path, body) for path, body in project.files.items() if path.endswith(".py")]
    documents = [item for item in documents if item.relative_path != "user.py"]
    project.answer(writer.index(*documents, lies, tool="scip-python", version="0.6.6"))
    (done,) = project.refresh().contexts
    assert done.detail["demoted"] == 1
    answer = find_references(project.codebase, "total", READ)
    assert ("user.py", 5, 12) not in [item[:3] for item in found(answer)]
    assert ("user.py", 5, 12, "text") in found(answer, "candidates")
    assert ("user.py", 1, 20, "text") in found(answer, "candidates"), "the indexer is silent about the import"
