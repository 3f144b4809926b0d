"""`gitindex status`."""

from __future__ import annotations

from typing import Any

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.ops.codebase import open_codebase
from gitindex.ops.status import status


@command("What is indexed, what is pending, and whether to believe it.")
def run(call: Call) -> Answer:
    found = status(open_codebase(call.path, call.environment))
    return Answer(found, _text(found), 3 if found["status"] == "not_indexed" else 0)


def _text(found: dict[str, Any]) -> str:
    if found["status"] == "not_indexed":
        lines = [f"{found['root']} is not indexed", "  next: gitindex init"]
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
