"""What every answer carries: the version of its schema, and the fingerprints of what it was made with (CF-2, ST-6)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitindex.config import load_environment
from gitindex.mcp.server import Service
from gitindex.mcp.tool_schemas import BY_NAME
from gitindex.model import versions
from tests.gate import forge
from tests.support import harness
from tests.support.gitrepo import GitRepo

COMMANDS = {
    "search": ("search", "alpha"),
    "explore": ("explore", "alpha"),
    "symbol": ("symbol", "alpha"),
    "symbol not found": ("symbol", "nonesuch"),
    "refs": ("refs", "alpha"),
    "outline": ("outline", "a.py"),
    "outline not found": ("outline", "nonesuch.py"),
    "callgraph": ("callgraph", "alpha"),
    "imports": ("imports", "a.py"),
    "map": ("map",),
    "slice": ("slice", "a.py:2", "value"),
    "read": ("read", "a.py"),
    "state": ("state", "a.py"),
}
TOOLS: dict[str, dict[str, Any]] = {
    "search_codebase": {"query": "alpha"},
    "explore": {"question": "alpha"},
    "find_symbol": {"name": "alpha"},
    "find_references": {"target": "alpha"},
    "file_outline": {"file": "a.py"},
    "call_graph": {"symbol": "alpha"},
    "import_graph": {"file": "a.py"},
    "repo_map": {},
    "slice_variable": {"file": "a.py", "line": 2, "name": "value"},
    "read_file": {"file": "a.py"},
    "file_state": {"files": ["a.py"]},
}


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    repo.commit(
        "one",
        **{"a.py": "def alpha(value):\n    return value\n\n\nalpha(1)\n", ".gitignore": "*.tmp\n"},
    )
    harness.index(repo.root)
    return repo


def status(repo: GitRepo) -> dict[str, Any]:
    found: dict[str, Any] = harness.cli("status", "--json", "--path", str(repo.root)).json
    return found


def assert_complete(answer: dict[str, Any], repo: GitRepo) -> None:
    assert answer["schema_version"] == versions.MATRIX["query_answer"].current
    assert answer["fingerprints"] == status(repo)["fingerprints"]
    assert all(answer["fingerprints"].values())


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_tell_version_and_fingerprints(command: str, indexed: GitRepo):
    """CF-2: also where nothing was found."""
    assert_complete(harness.cli(*COMMANDS[command], "--json", "--path", str(indexed.root)).json, indexed)


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_tell_version_and_fingerprints(tool: str, indexed: GitRepo):
    """CF-2, UI-2."""
    text = Service(load_environment(), indexed.root).call(tool, TOOLS[tool]).text
    assert_complete(json.loads(text), indexed)


def test_every_reading_tool_is_tried():
    offered = set(BY_NAME) - {"manage_index", "list_codebases"}
    assert offered - set(TOOLS) == set(), "add it to TOOLS above"
    assert set(TOOLS) - offered == set(), "mcp/tool_schemas.py TOOLS does not offer it"


def test_every_read_opens_the_same_snapshot(indexed: GitRepo):
    """C-3: also during a rebuild, where the gate refuses, and where a stale answer will do."""

    def opened(command: str, *more: str) -> dict[str, Any]:
        answer = harness.cli(*COMMANDS[command], *more, "--json", "--path", str(indexed.root)).json
        return {name: answer.get(name) for name in ("reason", "snapshot_id", "stale")}

    def assert_same(*more: str) -> None:
        searched = opened("search", *more)
        for command in COMMANDS.keys() - {"search"}:
            assert opened(command, *more) == searched, (
                f"search opens its snapshot in ops/answers/search_answer.py, {command} in ops/answers/gated_read.py: "
                "they differ"
            )

    assert_same()
    with forge.rebuilding(harness.codebase(indexed.root)):
        assert_same()
        assert_same("--stale-ok")


def test_status_health_and_audit_tell_their_version(indexed: GitRepo):
    """ST-6."""
    for command, kind in (("status", "status"), ("health", "health"), ("audit", "health")):
        answer = harness.cli(command, "--json", "--path", str(indexed.root)).json
        assert answer["schema_version"] == versions.MATRIX[f"{kind}_answer"].current, command


def test_gates_tell_their_version_and_audit_is_gated(repo: GitRepo):
    """EN-1: what was never indexed is not corrupt, whichever command asks."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    for command in (("search", "alpha"), ("symbol", "alpha"), ("audit",), ("audit", "--digest")):
        ran = harness.cli(*command, "--json", "--path", str(repo.root))
        assert (ran.code, ran.json["status"], ran.json["reason"]) == (3, "not_indexed", "not_indexed")
        assert ran.json["schema_version"] == versions.MATRIX["query_answer"].current
    assert status(repo)["schema_version"] == versions.MATRIX["status_answer"].current
