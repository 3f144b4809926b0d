"""One JSON answer of every reading command and of every tool, over a small repository.

Values that differ from run to run (ids, times, commits, fingerprints, scores) are replaced by their kind in `<>`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gitindex.config import load_environment
from gitindex.mcp.server import Service
from tests.support import harness
from tests.support.gitrepo import GitRepo

GOLDEN = Path(__file__).with_name("golden")
RECORD = "python -m tests.answers.record"
COMMANDS: dict[str, tuple[str, ...]] = {
    "search": ("search", "alpha"),
    "symbol": ("symbol", "alpha"),
    "symbol_not_found": ("symbol", "alhpa"),
    "symbol_no_such_file": ("symbol", "nonesuch.py:1:1"),
    "refs": ("refs", "beta"),
    "outline": ("outline", "a.py"),
    "outline_skipped": ("outline", "x.bin"),
    "callgraph": ("callgraph", "alpha", "--direction", "callees"),
    "callgraph_ambiguous": ("callgraph", "save"),
    "imports": ("imports", "a.py"),
    "map": ("map",),
    "slice": ("slice", "a.py:6", "result"),
    "read": ("read", "a.py:4-6"),
    "read_past_end": ("read", "b.py:99"),
    "state": ("state", "a.py"),
    "status": ("status",),
    "health": ("health",),
}
TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "search_codebase": ("search_codebase", {"query": "alpha"}),
    "explore": ("explore", {"question": "alpha"}),
    "find_symbol": ("find_symbol", {"name": "alpha"}),
    "find_references": ("find_references", {"target": "beta"}),
    "file_outline": ("file_outline", {"file": "a.py"}),
    "call_graph": ("call_graph", {"symbol": "alpha", "direction": "callees", "format": "mermaid"}),
    "import_graph": ("import_graph", {"file": "a.py"}),
    "repo_map": ("repo_map", {}),
    "slice_variable": ("slice_variable", {"file": "a.py", "line": 6, "name": "result"}),
    "read_file": ("read_file", {"file": "a.py", "start_line": 4, "end_line": 6}),
    "file_state": ("file_state", {"files": ["a.py"]}),
    "list_codebases": ("list_codebases", {}),
    "manage_index_status": ("manage_index", {"action": "status"}),
    "manage_index_create": ("manage_index", {"action": "create"}),
}
_FILES = {
    "a.py": "import os\nimport b\n\ndef alpha(value):\n    result = b.beta(value)\n    return value.save(result)\n",
    "b.py": 'def beta(value):\n    """Gives it back."""\n    return value\n',
    "c.py": "class First:\n    def save(self):\n        pass\n\n\nclass Second:\n    def save(self):\n        pass\n",
    "x.bin": b"\0\1\2",
}
_TIMES = {"created_at", "last_sync_at", "last_used_at", "refreshed_at", "started_at", "ended_at"}
_IDS = {"snapshot_id", "store_id", "blob", "active_snapshot_id"}
_NUMBERS = {"score", "size_bytes", "bytes"}


def measure(where: Path) -> dict[str, Any]:
    """name of a golden file → answer; `where` is an empty folder, GITINDEX_HOME one of its own."""
    repo = GitRepo.create(where / "project")
    repo.git("config", "user.name", "A U Thor")
    repo.git("config", "user.email", "author@example.com")
    repo.commit("one", **_FILES)
    harness.index(repo.root)
    words = {str(repo.root): "<root>", repo.git("rev-parse", "HEAD"): "<commit>"}
    words |= {repo.git("rev-parse", "HEAD")[:7]: "<commit>"}
    path = ("--json", "--path", str(repo.root))
    answers = {f"cli_{name}": harness.cli(*arguments, *path).json for name, arguments in COMMANDS.items()}
    service = Service(load_environment(), repo.root)
    for name, (tool, arguments) in TOOLS.items():
        answers[f"mcp_{name}"] = json.loads(service.call(tool, arguments).text)
    return {name: _stable(answer, words) for name, answer in answers.items()}


def _stable(value: Any, words: Mapping[str, str], key: str = "") -> Any:
    if isinstance(value, dict):
        if key == "fingerprints":
            return dict.fromkeys(value, "<fingerprint>")
        return {name: _stable(item, words, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_stable(item, words, key) for item in value]
    if value is not None and key in _TIMES | _IDS | _NUMBERS:
        return f"<{'time' if key in _TIMES else 'id' if key in _IDS else 'number'}>"
    if isinstance(value, str):
        for volatile, word in words.items():
            value = value.replace(volatile, word)
    return value


def read_golden() -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(GOLDEN.glob("*.json"))}


def write_golden(answers: Mapping[str, Any]) -> None:
    for path in GOLDEN.glob("*.json"):
        path.unlink()
    for name, answer in answers.items():
        text = json.dumps(answer, indent=1, ensure_ascii=False) + "\n"
        (GOLDEN / f"{name}.json").write_text(text, "utf-8")
