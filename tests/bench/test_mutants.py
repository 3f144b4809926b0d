"""`ci/mutants` makes the mistakes it says, finds the tests that concern a module, and tells a survivor from a kill."""

from __future__ import annotations

import ast
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest
from mutating import mistakes

from tests.house.graph import REPOSITORY

SOURCE = """\
def is_small(number, known):
    \"\"\"Whether it is below the bound, or known.\"\"\"
    return number < 10 and not known


def stub(number):
    \"\"\"Of a protocol: has nothing to change.\"\"\"
    ...


class Box:
    def first(self, items):
        rows = sorted(items)
        return rows
"""
TEST = """\
from gitindex.boxes import Box, is_small


def test_small():
    assert is_small(9, known=False) and not is_small(9, known=True) and not is_small(10, known=False)
"""


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    loader = SourceFileLoader("mutants_entry", str(REPOSITORY / "ci" / "mutants"))
    spec = spec_from_loader("mutants_entry", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name, text in {"gitindex/boxes.py": SOURCE, "tests/test_boxes.py": TEST}.items():
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    (root / "gitindex" / "__init__.py").touch()
    (root / "tests" / "test_other.py").write_text("def test_nothing():\n    pass\n")
    return root


def test_each_kind_of_mistake(project: Path):
    every = mistakes.functions(project)
    assert sorted(every) == ["gitindex.boxes:Box.first", "gitindex.boxes:is_small"]
    possible = mistakes.changes(every["gitindex.boxes:is_small"][1])
    assert {kind: [text for _, text in places] for kind, places in possible.items()} == {
        "comparison": ["(number <= 10)"],
        "bound": ["(11)"],
        "not": ["(known)"],
        "and/or": ["(number < 10 or not known)"],
    }
    mutant = mistakes.mutate(project, "gitindex.boxes:Box.first", *every["gitindex.boxes:Box.first"], 1)
    assert mutant.source.decode() == SOURCE.replace("return rows", "return None")
    assert (mutant.line, mutant.before) == (14, "return rows")


def test_the_same_seed_gives_the_same_mutant(project: Path):
    name = "gitindex.boxes:is_small"
    path, function = mistakes.functions(project)[name]
    made = [mistakes.mutate(project, name, path, function, seed) for seed in [*range(20), *range(20)]]
    assert made[:20] == made[20:]
    assert len({mutant.after for mutant in made}) == 4
    assert all(ast.parse(mutant.source) for mutant in made)


def test_a_noticed_mistake_is_a_kill_and_the_file_is_put_back(
    mutants: ModuleType, project: Path, tmp_path: Path
):
    scratch = tmp_path / "scratch"
    python = mutants.scratch_copy(project, scratch)
    every = mistakes.functions(project)
    assert mutants.concerned(project, "gitindex.boxes:is_small") == ["tests/test_boxes.py"]
    verdicts = {
        name: mutants.judge(python, scratch, mistakes.mutate(project, name, *every[name], seed=0), 60)
        for name in every
    }
    assert verdicts["gitindex.boxes:Box.first"] == ("lived", "")
    assert verdicts["gitindex.boxes:is_small"] == ("killed", "tests/test_boxes.py::test_small")
    assert (scratch / "gitindex" / "boxes.py").read_text() == SOURCE
