"""`gitindex audit`."""

from __future__ import annotations

import click

from gitindex.cli.command import Answer, Call, command
from gitindex.cli.progress_bar import bar
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.audit import Audit, audit


@command("Read the whole live view, check it, and print its digest: equal trees have equal digests.")
@click.option("--digest", "digest_only", is_flag=True, help="Print the digest only.")
@click.option("--rebuild", is_flag=True, help="Also build the tree from nothing and compare.")
def run(call: Call, digest_only: bool, rebuild: bool) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    with bar(not call.as_json) as progress:
        found = audit(codebase, rebuild=rebuild, progress=progress)
    text = found.digest.digest if digest_only else _text(found)
    return Answer(found.to_json(), text, 0 if found.is_clean else 4)


def _text(found: Audit) -> str:
    seen = found.digest
    lines = [
        f"digest {seen.digest}",
        f"{seen.files:,} files, {seen.chunks:,} chunks, {seen.symbols:,} symbols, "
        f"{seen.edges:,} edges, {seen.entities:,} entities",
    ]
    if found.rebuilt_digest is not None and found.rebuilt_digest == seen:
        lines.append("a clean build has the same digest")
    lines += [f"problem: {problem.message}" for problem in found.problems]
    return "\n".join(lines if found.problems else [*lines, "no problems"])
