"""Every module has a test that imports it: a fault in it is then noticed beside it, not five layers above."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.house.graph import REPOSITORY, sources

# Modules that no test can import with profit, each with the reason.
EXCUSED = {
    "gitindex.__main__": "two lines that call `cli.start`; tests run `python -m gitindex`",
    "gitindex.extract.embed.transformers": "needs torch; tests marked `models` run it through `embedders`",
}
COMMAND = "gitindex.cli.cmd_"  # a module for each command, loaded by its name
RUNNERS = {"cli", "ok", "ask", "run", "ran", "gitindex", "start"}


def imported_by_tests() -> set[str]:
    """Modules that some file below tests/ imports, by either form of `import`."""
    return {name for tree in _tests() for node in ast.walk(tree) for name in _imported(node)}


@cache
def _tests() -> list[ast.Module]:
    paths = (path for path in (REPOSITORY / "tests").rglob("*.py") if "samples" not in path.parts)
    return [ast.parse(path.read_text("utf-8")) for path in paths]


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def run_by_tests() -> set[str]:
    """Texts among the first two arguments of the helpers that run a command line; some take a place before it."""
    return {
        argument.value
        for tree in _tests()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (getattr(node.func, "id", "") or getattr(node.func, "attr", "")) in RUNNERS
        for argument in node.args[:2]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }


@pytest.fixture(scope="module")
def without_test() -> set[str]:
    imported = imported_by_tests()
    modules = (name for name, (path, _) in sources().items() if path.name != "__init__.py")
    return {name for name in modules if name not in imported}


def test_every_module_is_imported_by_a_test(without_test: set[str]):
    missing = sorted(name for name in without_test - EXCUSED.keys() if not name.startswith(COMMAND))
    assert missing == [], f"write tests/<package>/test_<module>.py for {', '.join(missing)}"
    assert EXCUSED.keys() <= without_test


def test_every_command_is_run_by_a_test(without_test: set[str]):
    """Its module is little more than the command: a test runs it by name, or imports it."""
    run = {f"{COMMAND}{name.replace('-', '_')}" for name in run_by_tests()}
    missing = sorted(name for name in without_test if name.startswith(COMMAND) and name not in run)
    assert missing == [], f"run it by `tests.support.harness.cli` in a test, or import {', '.join(missing)}"
