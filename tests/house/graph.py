"""Who imports whom, and what the sources say: read once for all house tests."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import grimp

REPOSITORY = Path(__file__).resolve().parents[2]


@cache
def imports() -> grimp.ImportGraph:
    """The import graph, lazy imports and third-party packages included."""
    return grimp.build_graph("gitindex", include_external_packages=True, cache_dir=None)


def importers(package: str) -> set[str]:
    """Modules of ours that import a third-party or standard package."""
    graph = imports()
    return set(graph.find_modules_that_directly_import(package)) if package in graph.modules else set()


@cache
def sources() -> dict[str, tuple[Path, ast.Module]]:
    """module name → file and syntax tree."""
    found = {}
    for path in sorted((REPOSITORY / "gitindex").rglob("*.py")):
        name = ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
        found[name] = (path, ast.parse(path.read_text("utf-8")))
    return found


def tracked() -> list[Path]:
    """Files of the repository as git knows them."""
    import subprocess

    listed = subprocess.run(
        ["git", "-C", str(REPOSITORY), "ls-files", "-z"], capture_output=True, check=True
    ).stdout
    return [path for name in listed.decode().split("\0") if name and (path := REPOSITORY / name).is_file()]
