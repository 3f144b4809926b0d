"""One name, one thing: what a reader looks up by name is there once (docs/glossary.md)."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

from tests.house.graph import imports, sources

SHARE = 0.01  # of all functions may be named by a participle alone: `staging` is a noun as well
IRREGULAR = {
    *(
        "asked",
        "begun",
        "bound",
        "brought",
        "built",
        "chosen",
        "done",
        "drawn",
        "found",
        "given",
        "gone",
        "held",
    ),
    *(
        "kept",
        "known",
        "left",
        "lost",
        "made",
        "meant",
        "met",
        "said",
        "seen",
        "sent",
        "shown",
        "spent",
        "spoken",
    ),
    *("taken", "taught", "thought", "told", "torn", "understood", "woken", "written"),
}
NO_PARTICIPLES = {"embed", "feed", "need", "seed", "nothing", "something", "string", "binding"}


def test_a_class_name_stands_in_one_module():
    homes = defaultdict(set)
    for module, (_, tree) in sources().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(module)
    twice = {name: sorted(modules) for name, modules in homes.items() if len(modules) > 1}
    assert twice == {}, f"rename all but one: {twice}"


def test_a_module_name_is_used_once():
    """Nor is it the name of a package: `from gitindex.search import files` beside `gitindex.files` misleads."""
    homes = defaultdict(list)
    packages = set()
    for module, (path, _) in sources().items():
        if path.name == "__init__.py":
            packages.add(module.rpartition(".")[2])
        elif path.name != "__main__.py":
            homes[path.stem].append(module)
    twice = {name: modules for name, modules in homes.items() if len(modules) > 1}
    assert twice == {}, f"rename all but one: {twice}"
    alike = {module for name, modules in homes.items() if name in packages for module in modules}
    assert alike == set(), f"named like a package: rename {sorted(alike)}"


def is_participle(name: str) -> bool:
    word = name.strip("_")
    if "_" in word or word in NO_PARTICIPLES or name.startswith("__"):
        return False
    return word in IRREGULAR or re.fullmatch(r"[a-z]{2,}(ed|ing)", word) is not None


def test_functions_say_what_they_do():
    """A participle alone says neither what is done nor to what."""
    assert [
        name
        for name in ("told", "_ranked", "matching", "read", "embed", "ranked_hits")
        if is_participle(name)
    ] == [*("told", "_ranked", "matching")]
    functions = [
        f"{module}.{node.name}"
        for module, (_, tree) in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    participles = [name for name in functions if is_participle(name.rpartition(".")[2])]
    assert len(participles) <= SHARE * len(functions), (
        f"give them a verb and an object: {', '.join(participles)}"
    )


def test_no_module_imports_itself_through_others():
    """Late imports count: they hide a cycle, they do not break it."""
    graph = imports()
    order = {name: graph.find_modules_directly_imported_by(name) & sources().keys() for name in sources()}
    try:
        TopologicalSorter(order).prepare()
    except CycleError as error:
        raise AssertionError(f"break the cycle {' -> '.join(error.args[1])}") from None
