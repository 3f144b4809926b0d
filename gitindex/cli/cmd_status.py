"""`gitindex status`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.gitdir import folder, hookrequest
from gitindex.hooks import owner, worker
from gitindex.hooks.journal import DIED, FAILED, RUNNING
from gitindex.indexing.plan import FAILURE_HINT
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.maintain.index_status import status

_SHUT = ("not_ready", "requires_reindex", "not_indexed")
_EXIT = {**dict.fromkeys(_SHUT, 3), "corrupt": 4, "incompatible": 8}


@command("What is indexed, what is pending, and whether to believe it.")
def run(call: Call) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    found = {**status(codebase), "background": background(codebase)}
    return Answer(found, _text(found), _EXIT.get(found["status"], 0))


def background(codebase: Codebase) -> dict[str, Any] | None:
    """What hooks asked for and how the last worker fared."""
    if codebase.repo is None:
        return None
    git_dir = codebase.repo.git_dir
    last = worker.last_run(git_dir)
    return {
        "pending": hookrequest.pending(git_dir),
        "last_run": asdict(last) if last else None,
        "problem": worker.complaint(git_dir),
        "obstacle": owner.obstacle(git_dir) if folder.common(git_dir).exists() else None,
    }


def _text(found: dict[str, Any]) -> str:
    if found["status"] in _SHUT:
        hints = found["hints"]
        following = next(hints[name] for name in ("reindex", "create", "status") if name in hints)
        lines = [output.name(found["message"]), f"  next: {following['command']}"]
        lines += ["", *_ok(found)] if found["snapshot_id"] else []
    elif found["status"] in ("corrupt", "incompatible"):
        lines = [output.name(f"the index of {found['root']} is {found['status']}")]
    else:
        lines = _ok(found)
    for problem in found["problems"]:
        lines.append(output.name(f"problem: {problem['message']}"))
        lines.extend([f"  next: {problem['next']}"] if problem.get("next") else [])
    for notice in found["notices"]:
        lines += [f"notice: {notice['message']}", f"  next: {notice['next']}"]
    return "\n".join(lines)


def _ok(found: dict[str, Any]) -> list[str]:
    counts = found["counts"]
    rows = [
        ("root", found["root"]),
        ("snapshot", f"{found['snapshot_id']}  {found['created_at']}"),
        ("files", f"{counts['files_indexed']:,}  ({output.size(counts['text_bytes'])} of text)"),
        ("chunks", f"{counts['chunks_indexed']:,}"),
        ("symbols", f"{counts['symbols']:,}"),
        ("segments", f"{found['segments']}  ({found['tombstones']:,} tombstones)"),
        ("pending", _pending(found)),
        *_background(found["background"]),
    ]
    rows += [(f"skipped {reason}", f"{count:,}") for reason, count in found["skipped"].items()]
    rows += [(f"text only ({limit})", f"{count:,}") for limit, count in found["text_only"].items()]
    lines = [found["truth"], "", output.table(rows)]
    if found.get("blocked"):
        lines += [output.name(f"blocked: {error['message']}") for error in found["blocked"]]
        lines.append(f"  next: {FAILURE_HINT}")
    lines += [output.name(f"degraded: {error['path_key']}: {error['message']}") for error in found["errors"]]
    return lines


def _background(found: dict[str, Any] | None) -> list[tuple[str, str]]:
    if found and found["obstacle"]:
        return [("background", found["obstacle"])]
    if found is None or found["last_run"] is None:
        return [("background", "a hook asked for a sync")] if found and found["pending"] else []
    last = found["last_run"]
    if last["result"] == RUNNING:
        return [("background", f"running since {last['started_at']}")]
    good = ", made good since" if last["result"] in (FAILED, DIED) and not found["pending"] else ""
    return [("background", f"{last['result']} at {last['ended_at'] or last['started_at']}{good}")]


def _pending(found: dict[str, Any]) -> str:
    if found["pending"] is None:
        return "unknown"
    if found["in_sync"]:
        return "nothing"
    files = output.plural(found["pending"], "file")
    return f"{files}; a sync is blocked" if found.get("blocked") else f"{files}; run: gitindex sync"
