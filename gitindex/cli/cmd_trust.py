"""`gitindex trust list|add|revoke`."""

from __future__ import annotations

from pathlib import Path

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.errors import UsageError
from gitindex.ops import trust
from gitindex.ops.trust import Known, Wish
from gitindex.trust.pins import Novelty, novelties


@click.group(help="Whose signatures count for this repository, and which remote.")
def run() -> None:
    pass


@command("What is pinned for this repository, and what the repository proposes.")
def listed(call: Call) -> Answer:
    known = trust.known(call.path, call.environment)
    return Answer({"status": "ok", **known.to_json()}, _text(known))


@command("Pin a key, a remote or a threshold for this repository.")
@click.argument("files", nargs=-1, metavar="[FILE.pub]...", type=click.Path(path_type=Path))
@click.option(
    "--remote", default="", metavar="URL", help="Read snapshots from here (and from this endpoint)."
)
@click.option(
    "--proposed", is_flag=True, help="Pin what the repository's .gitindex.toml proposes, after asking."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--threshold", type=click.IntRange(1, 16), help="How many trusted keys must have signed.")
@click.option("--repository", default="", metavar="ID", help="The id of this clone, when it is shallow.")
def add(
    call: Call,
    files: tuple[Path, ...],
    remote: str,
    proposed: bool,
    yes: bool,
    threshold: int | None,
    repository: str,
) -> Answer:
    if repository:
        trust.set_repository(call.path, repository)
    wish = Wish(trust.load_keys(files), remote, threshold or 0)
    if proposed:
        wish = _proposed(call, wish, yes)
    if wish == Wish() and not repository:
        raise UsageError("nothing to pin", hint="gitindex trust add FILE.pub")
    known = trust.add(call.path, call.environment, wish)
    return Answer({"status": "ok", **known.to_json()}, _text(known))


@command("Never again accept a key, named by its id or its .pub file.")
@click.argument("key")
def revoke(call: Call, key: str) -> Answer:
    known = trust.revoke(call.path, call.environment, key)
    return Answer({"status": "ok", **known.to_json()}, _text(known))


def _proposed(call: Call, wish: Wish, yes: bool) -> Wish:
    """Show fingerprints before pinning anything a repository says about itself (RE-5)."""
    known = trust.known(call.path, call.environment)
    keys = trust.proposed_keys(known.proposal)
    if not keys and not known.proposal.url:
        raise UsageError("the repository proposes nothing", hint="gitindex trust add FILE.pub")
    changes = novelties(known.trust, known.proposal.url, known.trust.endpoint, keys)
    lines = [f"remote  {known.proposal.url}", *(f"key     {key.id} {key.comment}" for key in keys)]
    lines += (
        [f"changes {', '.join(sorted(changes - {Novelty.FIRST_USE}))}"]
        if changes - {Novelty.FIRST_USE}
        else []
    )
    click.echo("\n".join(lines), err=True)
    if not yes:
        click.confirm("pin these for this repository?", abort=True, err=True)
    return Wish((*wish.keys, *keys), wish.remote or known.proposal.url, wish.threshold)


def _text(known: Known) -> str:
    pinned = known.trust
    rows = [
        ("repository", known.repository),
        ("remote", " ".join((pinned.remote, pinned.endpoint)).strip() or "-"),
    ]
    rows += [
        (
            "trusted",
            f"{one.key.id} {one.key.comment}  since {one.added}{' by rotation' if one.by_rotation else ''}",
        )
        for one in pinned.trusted
    ]
    rows += [("revoked", f"{one.id} {one.comment}  since {one.revoked}") for one in pinned.revoked]
    rows += [("threshold", str(pinned.threshold))] if pinned.threshold > 1 else []
    if not pinned.trusted:
        rows.append(("trusted", "nobody; next: gitindex trust add FILE.pub"))
    rows += [("proposed", known.proposal.url)] if known.proposal.url not in ("", pinned.remote) else []
    return output.table(rows)


for part, name in ((listed, "list"), (add, "add"), (revoke, "revoke")):
    run.add_command(part, name)
