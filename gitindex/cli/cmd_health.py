"""`gitindex health`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.errors import GitDamaged, GitMissing
from gitindex.model import versions
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.audit import NEXT_COMMANDS, health
from gitindex.ops.maintain.index_status import status

_WITHOUT_GIT = (GitMissing.code, GitDamaged.code)


@command("Check every artifact of the active snapshot: bytes, counts, and layers against each other.")
def run(call: Call) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    checked = health(codebase)
    problems = checked.problems
    found = status(codebase)
    missing = next((problem.code for problem in problems if problem.code in NEXT_COMMANDS), "")
    data = {
        **versions.answer_version("health"),
        "status": missing or ("problems" if problems else "ok"),
        "snapshot_id": found["snapshot_id"],
        "problems": [asdict(problem) for problem in problems],
        "collisions": [collision.to_json() for collision in checked.collisions],
        "skipped": found["skipped"],
        "text_only": found.get("text_only_files", {}),
        "degraded": found.get("degraded", False),
        "errors": found.get("errors", []),
        "fallback": found["fallback"],
        "notices": [*found["notices"], *_git_notices(found), *checked.notices],
    }
    lines = [f"problem: {problem.message}" for problem in problems]
    if missing:
        lines.append(f"  next: {NEXT_COMMANDS[missing]}")
    elif problems:
        lines.append("  next: gitindex repair")
    else:
        lines = [f"healthy: snapshot {found['snapshot_id']}"]
        lines += [f"skipped {reason}: {count:,}" for reason, count in found["skipped"].items()]
        lines += [
            f"text only ({limit}): {path}"
            for limit, paths in found["text_only_files"].items()
            for path in paths
        ]
    for collision in checked.collisions:
        lines.append(output.name(f"collision: {collision.describe()}"))
    if checked.collisions:
        lines.append("  next: rename one of them, or list it in .gitindexignore")
    for notice in data["notices"]:
        lines += [f"notice: {notice['message']}", f"  next: {notice['next']}"]
    return Answer(data, "\n".join(lines), 3 if missing else 4 if problems else 0)


def _git_notices(found: dict[str, Any]) -> list[dict[str, str]]:
    """That this snapshot was made without git, or that the next one would be (C-1)."""
    said = [problem for problem in found["problems"] if problem["code"] in _WITHOUT_GIT]
    made = found["fallback"]
    if made is None:
        return said
    message = f"the index was made by scanning the files, because git failed: {made['message']}"
    following = said[0]["next"] if said else "gitindex sync"
    return [{"code": made["code"], "message": message, "next": following}]
