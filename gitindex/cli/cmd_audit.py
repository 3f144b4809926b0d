"""`gitindex audit`."""

from __future__ import annotations

import click

from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.progress_bar import progress_bar
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.audit import Audit, audit


@command("Check the whole live view and print its digest: equal trees have equal digests.")
@click.option("--digest", "digest_only", is_flag=True, help="Print the digest only.")
@click.option("--rebuild", is_flag=True, help="Also build the tree from scratch and compare the digests.")
def run(call: CommandCall, digest_only: bool, rebuild: bool) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    with progress_bar(not call.as_json) as progress:
        result = audit(codebase, rebuild=rebuild, progress=progress)
    text = result.digest.digest if digest_only else _render_text(result)
    return Answer(result.to_json(), text, 0 if result.is_clean else 4)


def _render_text(result: Audit) -> str:
    live_digest = result.digest
    lines = [
        f"digest {live_digest.digest}",
        f"{live_digest.files:,} files, {live_digest.chunks:,} chunks, {live_digest.symbols:,} symbols, "
        f"{live_digest.edges:,} edges, {live_digest.entities:,} entities",
    ]
    if result.rebuilt_digest is not None and result.rebuilt_digest == live_digest:
        lines.append("a clean build has the same digest")
    lines += [f"problem: {problem.message}" for problem in result.problems]
    return "\n".join(lines if result.problems else [*lines, "no problems"])
