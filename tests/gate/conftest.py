"""A small indexed project, and every read of it on both surfaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.ops.codebase import Codebase
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase, index

FILES = {
    "app/core.py": (
        "def start(port):\n    return helper(port)\n\n\n"
        "def helper(port):\n    total = port + 1\n    return total\n"
    ),
    "app/main.py": "from app.core import start\n\n\ndef main():\n    return start(80)\n",
    "README.md": "# App\n\nStarts things.\n",
}
# Every index-dependent read of the command line (EN-5).
READS: tuple[tuple[str, ...], ...] = (
    ("search", "start"),
    ("explore", "start"),
    ("symbol", "start"),
    ("refs", "start"),
    ("outline", "app/core.py"),
    ("callgraph", "start"),
    ("imports", "app/main.py"),
    ("map",),
    ("read", "app/core.py"),
    ("slice", "app/core.py:7", "total"),
)
# The same over MCP: (tool, arguments besides path).
TOOLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("search_codebase", {"query": "start"}),
    ("explore", {"question": "start"}),
    ("find_symbol", {"name": "start"}),
    ("find_references", {"target": "start"}),
    ("file_outline", {"file": "app/core.py"}),
    ("call_graph", {"symbol": "start"}),
    ("import_graph", {"file": "app/main.py"}),
    ("repo_map", {}),
    ("slice_variable", {"file": "app/core.py", "line": 7, "name": "total"}),
    ("read_file", {"file": "app/core.py"}),
    ("file_state", {"files": ["app/core.py", "README.md"]}),
)


@pytest.fixture
def project(repo: GitRepo) -> GitRepo:
    repo.commit("first", **FILES)
    return repo


@pytest.fixture
def indexed(project: GitRepo) -> Codebase:
    index(project.root)
    return codebase(project.root)


@pytest.fixture
def root(indexed: Codebase) -> Path:
    return indexed.root
