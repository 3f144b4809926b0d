"""`gitindex status`."""

from __future__ import annotations

from typing import Any

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.hooks.background_runs import read_background
from gitindex.hooks.journal import DIED, FAILED, RUNNING
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.maintain.index_status import BLOCKED_HINT, status

_GATED_STATUSES = ("not_ready", "requires_reindex", "not_indexed")
_EXIT = {**dict.fromkeys(_GATED_STATUSES, 3), "corrupt": 4, "incompatible": 8}


@command("Report what is indexed, what is pending, and whether the index is fresh, complete and trusted.")
def run(call: CommandCall) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    index_status = {**status(codebase), "background": background_status(codebase)}
    return Answer(index_status, _render_text(index_status), _EXIT.get(index_status["status"], 0))


def background_status(codebase: Codebase) -> dict[str, Any] | None:
    """Whether a hook request waits and how the last worker run ended; None outside git."""
    return read_background(codebase.repo.git_dir) if codebase.repo else None


def _render_text(index_status: dict[str, Any]) -> str:
    if index_status["status"] in _GATED_STATUSES:
        hints = index_status["hints"]
        next_action = next(hints[name] for name in ("reindex", "create", "status") if name in hints)
        lines = [output.single_line(index_status["message"]), f"  next: {next_action['command']}"]
        lines += ["", *_snapshot_lines(index_status)] if index_status["snapshot_id"] else []
    elif index_status["status"] in ("corrupt", "incompatible"):
        lines = [output.single_line(f"the index of {index_status['root']} is {index_status['status']}")]
    else:
        lines = _snapshot_lines(index_status)
    for problem in index_status["problems"]:
        lines.append(output.single_line(f"problem: {problem['message']}"))
        lines.extend([f"  next: {problem['next']}"] if problem.get("next") else [])
    for notice in index_status["notices"]:
        lines += [f"notice: {notice['message']}", f"  next: {notice['next']}"]
    return "\n".join(lines)


def _snapshot_lines(index_status: dict[str, Any]) -> list[str]:
    counts = index_status["counts"]
    rows = [
        ("root", index_status["root"]),
        ("snapshot", f"{index_status['snapshot_id']}  {index_status['created_at']}"),
        ("files", f"{counts['files_indexed']:,}  ({output.format_size(counts['text_bytes'])} of text)"),
        ("chunks", f"{counts['chunks_indexed']:,}"),
        ("symbols", f"{counts['symbols']:,}"),
        ("segments", f"{index_status['segments']}  ({index_status['tombstones']:,} tombstones)"),
        ("pending", _format_pending(index_status)),
        *_background_rows(index_status["background"]),
    ]
    rows += [(f"skipped {reason}", f"{count:,}") for reason, count in index_status["skipped"].items()]
    rows += [(f"text only ({limit})", f"{count:,}") for limit, count in index_status["text_only"].items()]
    lines = [index_status["truth"], "", output.format_table(rows)]
    if index_status.get("blocked"):
        lines += [output.single_line(f"blocked: {error['message']}") for error in index_status["blocked"]]
        lines.append(f"  next: {BLOCKED_HINT}")
    lines += [
        output.single_line(f"degraded: {error['path_key']}: {error['message']}")
        for error in index_status["errors"]
    ]
    return lines


def _background_rows(background_run: dict[str, Any] | None) -> list[tuple[str, str]]:
    if background_run and background_run["obstacle"]:
        return [("background", background_run["obstacle"])]
    if background_run is None or background_run["last_run"] is None:
        return (
            [("background", "a hook requested a sync")]
            if background_run and background_run["pending"]
            else []
        )
    last_run = background_run["last_run"]
    if last_run["result"] == RUNNING:
        return [("background", f"running since {last_run['started_at']}")]
    recovered = (
        ", a later sync succeeded"
        if last_run["result"] in (FAILED, DIED) and not background_run["pending"]
        else ""
    )
    return [
        ("background", f"{last_run['result']} at {last_run['ended_at'] or last_run['started_at']}{recovered}")
    ]


def _format_pending(index_status: dict[str, Any]) -> str:
    if index_status["pending"] is None:
        return "unknown"
    if index_status["in_sync"]:
        return "nothing"
    files = output.pluralize(index_status["pending"], "file")
    return f"{files}; a sync is blocked" if index_status.get("blocked") else f"{files}; run: gitindex sync"
