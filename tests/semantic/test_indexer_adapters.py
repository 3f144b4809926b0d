"""SE-2: what the adapters choose from a checkout: build files, databases, configurations, crashing files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitindex.semantic.indexers.adapter import Diagnosis, Indexer, IndexerFailure, IndexerRun, Program
from gitindex.semantic.indexers.rust_analyzer import RustAnalyzer
from gitindex.semantic.indexers.scip_clang import ScipClang
from gitindex.semantic.indexers.scip_dotnet import ScipDotnet
from gitindex.semantic.indexers.scip_go import ScipGo
from gitindex.semantic.indexers.scip_java import ScipJava
from gitindex.semantic.indexers.scip_python import ScipPython
from gitindex.semantic.indexers.scip_typescript import ScipTypescript

PROGRAM = Program(("tool",), "path")


@pytest.fixture
def run(tmp_path: Path) -> IndexerRun:
    checkout, work = tmp_path / "checkout", tmp_path / "work"
    checkout.mkdir()
    work.mkdir()
    return IndexerRun(checkout, "", ("a.py", "b.py"), work)


def create(run: IndexerRun, *paths: str, text: str = "") -> None:
    for path in paths:
        target = run.checkout / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


@pytest.mark.parametrize(
    ("indexer", "less", "preferred", "word"),
    [
        (ScipJava(), "build.gradle", "pom.xml", "maven"),
        (ScipClang(), "out/compile_commands.json", "build/compile_commands.json", "--compdb-path=build/"),
        (ScipDotnet(), "App.csproj", "Tool.sln", "Tool.sln"),
    ],
)
def test_of_two_build_descriptions_the_better_one_is_used(run, indexer: Indexer, less, preferred, word):
    create(run, less, preferred)
    assert any(argument.startswith(word) for argument in indexer.command(PROGRAM, run))
    (run.checkout / preferred).unlink()
    assert not any(argument.startswith(word) for argument in indexer.command(PROGRAM, run))
    (run.checkout / less).unlink()
    with pytest.raises(IndexerFailure) as caught:
        indexer.command(PROGRAM, run)
    assert caught.value.diagnosis is Diagnosis.NO_BUILD_DESCRIPTION


def test_only_tools_that_build_run_project_code():
    builders = (RustAnalyzer(), ScipClang(), ScipDotnet(), ScipJava())
    readers = (ScipGo(), ScipPython(), ScipTypescript())
    assert all(indexer.runs_project_code for indexer in builders)
    assert not any(indexer.runs_project_code for indexer in readers)


def test_pyright_settings_of_the_project_stay_but_for_what_selects_files(run: IndexerRun):
    create(
        run,
        "pyrightconfig.json",
        text='{"pythonVersion": "3.9", // old\n "include": ["src"], "url": "http://x" /* kept */}',
    )
    ScipPython().prepare(
        IndexerRun(run.checkout, "", run.files, run.work, nested=("sub",), excluded=("b.py",))
    )
    assert json.loads((run.checkout / "pyrightconfig.json").read_text()) == {
        "pythonVersion": "3.9",
        "url": "http://x",
        "include": ["."],
        "exclude": ["**/node_modules", "**/__pycache__", "b.py", "sub"],
    }


def test_the_file_that_crashed_last_is_named_once(run: IndexerRun):
    log = "".join(f"currentFilepath: '{run.checkout}/{name}'\n" for name in ("b.py", "a.py", "foreign.py"))
    assert ScipPython().find_crashing_file(log, run) == "a.py"
    excluded = IndexerRun(run.checkout, "", run.files, run.work, excluded=("a.py",))
    assert ScipPython().find_crashing_file(log, excluded) == "b.py"
    assert ScipPython().find_crashing_file("fine", run) is None


def test_a_base_configuration_that_is_not_installed_is_dropped(run: IndexerRun):
    create(run, "tsconfig.json", text='{"extends": "./base", "include": ["src"]}')
    create(run, "node_modules/@org/other/package.json", text="{}")
    create(run, "base.json", text='{"extends": "@org/settings/strict.json", "strict": true}')
    remarks = ScipTypescript().prepare(run)
    assert remarks == ["base.json: settings of @org/settings/strict.json are not installed and were left out"]
    assert json.loads((run.checkout / "base.json").read_text()) == {"strict": True}
    assert "extends" in (run.checkout / "tsconfig.json").read_text()


def test_an_installed_base_configuration_stays(run: IndexerRun):
    create(run, "tsconfig.json", text='{"extends": "@org/settings/strict.json"}')
    create(run, "node_modules/@org/settings/strict.json", text="{}")
    assert ScipTypescript().prepare(run) == []
    assert "extends" in (run.checkout / "tsconfig.json").read_text()


def test_packages_of_a_monorepo_are_linked_by_valid_names_only(run: IndexerRun):
    create(run, "one/package.json", text='{"name": "@org/one"}')
    create(run, "two/package.json", text='{"name": "../two"}')
    create(run, "package.json", text='{"name": "top"}')
    ScipTypescript().prepare(run)
    modules = run.checkout / "node_modules"
    assert (modules / "@org/one").resolve() == (run.checkout / "one").resolve()
    assert sorted(path.name for path in modules.iterdir()) == ["@org"]
