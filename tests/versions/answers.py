"""Field names of the JSON answers that programs read: the version of an answer is raised when one goes (docs/format.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gitindex.model import versions
from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.versions.guard import COMMAND, TABLE

RECORDED = Path(__file__).with_name("answers.json")
COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "search": ("query_answer", ("search", "alpha")),
    "explore": ("query_answer", ("explore", "alpha")),
    "symbol": ("query_answer", ("symbol", "alpha")),
    "refs": ("query_answer", ("refs", "alpha")),
    "outline": ("query_answer", ("outline", "a.py")),
    "callgraph": ("query_answer", ("callgraph", "alpha")),
    "imports": ("query_answer", ("imports", "a.py")),
    "map": ("query_answer", ("map",)),
    "slice": ("query_answer", ("slice", "a.py:5", "value")),
    "read": ("query_answer", ("read", "a.py")),
    "state": ("query_answer", ("state", "a.py")),
    "status": ("status_answer", ("status",)),
    "health": ("health_answer", ("health",)),
    "audit": ("health_answer", ("audit",)),
}
# Under these, names are data: a reason, a language, a phase.
_OPEN = {"skipped", "languages", "text_only", "skipped_paths", "timings_ms"}
_FILES = {
    "a.py": "import b\n\n\ndef alpha(value):\n    result = value\n    return b.beta(result)\n\n\nalpha(1)\n",
    "b.py": "def beta(value):\n    return value\n",
    "x.bin": b"\0\1\2",
}


def measure(where: Path) -> dict[str, list[str]]:
    """command → names of its fields; `where` is an empty folder."""
    repo = GitRepo.create(where / "answers")
    repo.git("config", "user.name", "A U Thor")
    repo.git("config", "user.email", "author@example.com")
    repo.commit("one", **_FILES)
    harness.index(repo.root)
    return {
        name: sorted(set(_names(harness.cli(*arguments, "--json", "--path", str(repo.root)).json)))
        for name, (_, arguments) in COMMANDS.items()
    }


def _names(value: Any, above: str = "") -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _names(item, f"{above}[]")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield f"{above}.{name}".removeprefix(".")
            if name not in _OPEN:
                yield from _names(item, f"{above}.{name}".removeprefix("."))


def read_recorded() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text("utf-8"))
    return found


def write_recorded(fields: Mapping[str, list[str]]) -> None:
    data = {name: {"version": _version(name), "fields": found} for name, found in fields.items()}
    RECORDED.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "utf-8")


def find_faults(recorded: Mapping[str, Mapping[str, Any]], fields: Mapping[str, list[str]]) -> list[str]:
    """One sentence for every command that lost a field under the same version. New fields are no fault."""
    faults = []
    for name, before in recorded.items():
        gone = sorted(set(before["fields"]) - set(fields.get(name, ())))
        if gone and before["version"] == _version(name):
            constant = f'MATRIX["{COMMANDS[name][0]}"]'
            faults.append(
                f"`{name} --json` no longer has {', '.join(gone)}. Programs read these: bring them back, or raise "
                f"{constant} in {TABLE} and in docs/format.md, then run `{COMMAND}`."
            )
    return faults


def _version(name: str) -> int:
    return versions.MATRIX[COMMANDS[name][0]].current
