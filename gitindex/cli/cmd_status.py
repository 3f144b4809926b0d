"""`gitindex status`."""

from __future__ import annotations

from typing import Any

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.ops.codebase import open_codebase
from gitindex.ops.status import status

_SHUT = ("not_ready", "requires_reindex", "not_indexed")


@command("What is indexed, what is pending, and whether to believe it.")
def run(call: Call) -> Answer:
    found = status(open_codebase(call.path, call.environment))
    return Answer(found, _text(found), 3 if found["status"] in _SHUT else 0)


def _text(found: dict[str, Any]) -> str:
    if found["status"] in _SHUT:
        hints = found["hints"]
        following = next(hints[name] for name in ("reindex", "create", "status") if name in hints)
        lines = [found["message"], f"  next: {following['command']}"]
        lines += ["", *_ok(found)] if found["snapshot_id"] else []
    elif found["status"] in ("corrupt", "incompatible"):
        lines = [f"the index of {found['root']} is {found['status']}"]
    else:
        lines = _ok(found)
    for problem in found["problems"]:
        lines.append(f"problem: {problem['message']}")
        lines.extend([f"  next: {problem['next']}"] if problem.get("next") else [])
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
    ]
    rows += [(f"skipped {reason}", f"{count:,}") for reason, count in found["skipped"].items()]
    lines = [found["truth"], "", output.table(rows)]
    lines += [f"degraded: {error['path_key']}: {error['message']}" for error in found["errors"]]
    return lines


def _pending(found: dict[str, Any]) -> str:
    if found["pending"] is None:
        return "unknown"
    if found["in_sync"]:
        return "nothing"
    return f"{output.plural(found['pending'], 'file')}; run: gitindex sync"
