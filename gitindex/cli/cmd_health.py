"""`gitindex health`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.errors import GitDamaged, GitMissing
from gitindex.model import versions
from gitindex.model.json_answer import to_json
from gitindex.ops.codebase import Notice, open_codebase
from gitindex.ops.maintain.audit import NEXT_COMMANDS, health
from gitindex.ops.maintain.index_status import StatusAnswer, status

_WITHOUT_GIT = (GitMissing.code, GitDamaged.code)


@command("Check every artifact of the active snapshot: checksums, counts, and agreement between the layers.")
def run(call: CommandCall) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    health_report = health(codebase)
    problems = health_report.problems
    index_status = status(codebase)
    coverage = index_status.truth.coverage if index_status.truth else None
    notices = (*index_status.notices, *_git_notices(index_status), *health_report.notices)
    git_problem = next((problem.code for problem in problems if problem.code in NEXT_COMMANDS), "")
    data: dict[str, Any] = {
        **versions.answer_version("health"),
        "status": git_problem or ("problems" if problems else "ok"),
        "snapshot_id": index_status.snapshot_id,
        "problems": [asdict(problem) for problem in problems],
        "collisions": [collision.to_json() for collision in health_report.collisions],
        "skipped": dict(coverage.skipped) if coverage else {},
        "text_only": dict(index_status.text_only_files),
        "degraded": coverage is not None and coverage.degraded,
        "errors": to_json(index_status.errors),
        "fallback": to_json(index_status.fallback),
        "notices": to_json(notices),
    }
    lines = [f"problem: {problem.message}" for problem in problems]
    if git_problem:
        lines.append(f"  next: {NEXT_COMMANDS[git_problem]}")
    elif problems:
        lines.append("  next: gitindex repair")
    else:
        lines = [f"healthy: snapshot {index_status.snapshot_id}"]
        lines += [f"skipped {reason}: {count:,}" for reason, count in data["skipped"].items()]
        lines += [
            f"text only ({limit}): {path}"
            for limit, paths in index_status.text_only_files.items()
            for path in paths
        ]
    for collision in health_report.collisions:
        lines.append(output.single_line(f"collision: {collision.describe()}"))
    if health_report.collisions:
        lines.append("  next: rename one of them, or list it in .gitindexignore")
    for notice in notices:
        lines += [f"notice: {notice.message}", f"  next: {notice.next}"]
    return Answer(data, "\n".join(lines), 3 if git_problem else 4 if problems else 0)


def _git_notices(index_status: StatusAnswer) -> list[Notice]:
    """That this snapshot was made without git, or that the next one would be (C-1)."""
    git_problems = [problem for problem in index_status.problems if problem.code in _WITHOUT_GIT]
    fallback = index_status.fallback
    if fallback is None:
        return git_problems
    message = f"the index was made by scanning the files, because git failed: {fallback.message}"
    return [Notice(fallback.code, message, git_problems[0].next if git_problems else "gitindex sync")]
