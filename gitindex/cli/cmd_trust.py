"""`gitindex trust list|add|revoke`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, Call, command
from gitindex.errors import UsageError
from gitindex.model.foreign import quote_text
from gitindex.ops.sharing import trusted_keys
from gitindex.ops.sharing.trusted_keys import PinRequest, TrustStatus
from gitindex.trust.pin_changes import TrustChange
from gitindex.trust.pins import RepositoryTrust, TrustedKey

_SCOPES = {
    "clone": "in this clone",
    "all_clones": "for all clones without a pin of their own",
    "none": "nothing",
}
_CHANGED = {
    "remote": "remote",
    "endpoint": "endpoint",
    "keys": "trusted keys",
    "revoked_key": "revoked key",
}


@click.group(help="Whose signatures count in this clone, and which remote.")
def run() -> None:
    pass


@command(
    "What is pinned in this clone and elsewhere, who introduced each key, and what the repository proposes."
)
def listed(call: Call) -> Answer:
    known = trusted_keys.read_trust(call.path, call.environment)
    return Answer({"status": "ok", **known.to_json()}, _text(known))


@command("Pin a key, a remote or a threshold in this clone.")
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
@click.option(
    "--all-clones", is_flag=True, help="Pin for every clone of this repository that has no pin of its own."
)
def add(
    call: Call,
    files: tuple[Path, ...],
    remote: str,
    proposed: bool,
    yes: bool,
    threshold: int | None,
    repository: str,
    all_clones: bool,
) -> Answer:
    if repository:
        trusted_keys.set_repository(call.path, repository)
    wish = PinRequest(trusted_keys.load_keys(files), remote, threshold or 0)
    if proposed:
        wish = _proposed(call, wish, yes)
    if wish == PinRequest() and not repository:
        raise UsageError("nothing to pin", hint="gitindex trust add FILE.pub")
    changed = trusted_keys.list_changes(
        trusted_keys.read_trust(call.path, call.environment), call.environment, wish
    )
    known = trusted_keys.add(call.path, call.environment, wish, all_clones=all_clones)
    data = {"status": "ok", **known.to_json(), "changes": [asdict(one) for one in changed]}
    return Answer(data, "\n".join([*map(_change, changed), _text(known)]))


@command("Never again accept a key, named by its id or its .pub file, nor any key that it introduced.")
@click.argument("key")
def revoke(call: Call, key: str) -> Answer:
    known = trusted_keys.revoke(call.path, call.environment, key)
    return Answer({"status": "ok", **known.to_json()}, _text(known))


def _proposed(call: Call, wish: PinRequest, yes: bool) -> PinRequest:
    """Show fingerprints before pinning anything a repository says about itself (RE-5)."""
    known = trusted_keys.read_trust(call.path, call.environment)
    keys = trusted_keys.proposed_keys(known.proposal)
    if not keys and not known.proposal.url:
        raise UsageError("the repository proposes nothing", hint="gitindex trust add FILE.pub")
    wanted = PinRequest((*wish.keys, *keys), wish.remote or known.proposal.url, wish.threshold)
    lines = [f"remote  {quote_text(known.proposal.url)}" if known.proposal.url else "remote  none proposed"]
    lines += [f"key     {key.id} {quote_text(key.comment)}" for key in keys]
    lines += map(_change, trusted_keys.list_changes(known, call.environment, wanted))
    for line in lines:
        output.write_error(line)
    if not yes:
        click.confirm("pin these in this clone?", abort=True, err=True)
    return wanted


def _change(one: TrustChange) -> str:
    where = "" if one.where == "here" else f" (used by {quote_text(one.where)})"
    return f"CHANGE  {_CHANGED[one.what]}: {quote_text(one.old)} -> {quote_text(one.new)}{where}"


def _text(known: TrustStatus) -> str:
    pinned = known.trust
    comments = {one.key.id: one.key.comment for one in pinned.trusted}
    comments |= {one.id: one.comment for one in pinned.revoked}
    rows = [
        ("repository", known.repository),
        ("pinned", _SCOPES[known.scope]),
        ("remote", " ".join((pinned.remote, pinned.endpoint)).strip() or "-"),
    ]
    rows += [
        ("trusted", f"{one.key.id} {one.key.comment}  since {one.added}, {_origin(one, comments)}")
        for one in pinned.trusted
    ]
    rows += [
        ("revoked", f"{one.id} {one.comment}  since {one.revoked}{_through(one.through, comments)}")
        for one in pinned.revoked
    ]
    rows += [("threshold", str(pinned.threshold))] if pinned.threshold > 1 else []
    if not pinned.trusted:
        rows.append(("trusted", "nobody; next: gitindex trust add FILE.pub"))
    rows += [("elsewhere", _elsewhere(where, one)) for where, one in known.other_pins.items()]
    rows += (
        [("proposed", quote_text(known.proposal.url))]
        if known.proposal.url not in ("", pinned.remote)
        else []
    )
    return output.table(rows)


def _origin(one: TrustedKey, comments: dict[str, str]) -> str:
    """Who introduced a key; a revocation of any of them reaches it unless the user added it as well."""
    by = ", ".join(f"{name} {comments.get(name, '')}".strip() for name in one.introduced_by)
    handed = f"handed over by {by}" if by else "handed over by an unknown key"
    if one.by_rotation:
        return handed
    return f"added by hand, {handed}" if by else "added by hand"


def _through(through: str, comments: dict[str, str]) -> str:
    return f", introduced by {through} {comments.get(through, '')}".rstrip() if through else ""


def _elsewhere(where: str, one: RepositoryTrust) -> str:
    keys = ", ".join(entry.key.id for entry in one.trusted) or "no key"
    return f"{where}: {one.remote or 'no remote'}, {keys}"


for part, name in ((listed, "list"), (add, "add"), (revoke, "revoke")):
    run.add_command(part, name)
