"""`gitindex trust list|add|revoke`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall, command
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
_CHANGE_LABELS = {
    "remote": "remote",
    "endpoint": "endpoint",
    "keys": "trusted keys",
    "revoked_key": "revoked key",
}


@click.group(help="Manage the trusted keys and the pinned remote of this clone.")
def run() -> None:
    pass


@command(
    "List the pins of this clone and of others, who introduced each key, and what the repository proposes."
)
def list_trust(call: CommandCall) -> Answer:
    trust_status = trusted_keys.read_trust(call.path, call.environment)
    return Answer({"status": "ok", **trust_status.to_json()}, _render_text(trust_status))


@command("Pin a key, a remote or a threshold in this clone.")
@click.argument("files", nargs=-1, metavar="[FILE.pub]...", type=click.Path(path_type=Path))
@click.option(
    "--remote",
    default="",
    metavar="URL",
    help="Remote to read snapshots from; the current endpoint is pinned with it.",
)
@click.option(
    "--proposed",
    is_flag=True,
    help="Pin what the repository's .gitindex.toml proposes, after a confirmation.",
)
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@click.option("--threshold", type=click.IntRange(1, 16), help="Number of trusted keys that must have signed.")
@click.option("--repository", default="", metavar="ID", help="Repository id, for a shallow clone.")
@click.option(
    "--all-clones", is_flag=True, help="Pin for every clone of this repository that has no pin of its own."
)
def add(
    call: CommandCall,
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
    pin_request = PinRequest(trusted_keys.load_keys(files), remote, threshold or 0)
    if proposed:
        pin_request = _confirm_proposal(call, pin_request, yes)
    if pin_request == PinRequest() and not repository:
        raise UsageError("nothing to pin", hint="gitindex trust add FILE.pub")
    trust_changes = trusted_keys.list_changes(
        trusted_keys.read_trust(call.path, call.environment), call.environment, pin_request
    )
    trust_status = trusted_keys.add(call.path, call.environment, pin_request, all_clones=all_clones)
    data = {"status": "ok", **trust_status.to_json(), "changes": [asdict(change) for change in trust_changes]}
    return Answer(data, "\n".join([*map(_render_change, trust_changes), _render_text(trust_status)]))


@command("Revoke a key, named by its id or its .pub file, and every key that it introduced.")
@click.argument("key")
def revoke(call: CommandCall, key: str) -> Answer:
    trust_status = trusted_keys.revoke(call.path, call.environment, key)
    return Answer({"status": "ok", **trust_status.to_json()}, _render_text(trust_status))


def _confirm_proposal(call: CommandCall, pin_request: PinRequest, yes: bool) -> PinRequest:
    """Show the fingerprints and ask before pinning what the repository proposes (RE-5)."""
    trust_status = trusted_keys.read_trust(call.path, call.environment)
    keys = trusted_keys.proposed_keys(trust_status.proposal)
    if not keys and not trust_status.proposal.url:
        raise UsageError("the repository proposes nothing", hint="gitindex trust add FILE.pub")
    extended_request = PinRequest(
        (*pin_request.keys, *keys), pin_request.remote or trust_status.proposal.url, pin_request.threshold
    )
    lines = [
        f"remote  {quote_text(trust_status.proposal.url)}"
        if trust_status.proposal.url
        else "remote  none proposed"
    ]
    lines += [f"key     {key.id} {quote_text(key.comment)}" for key in keys]
    lines += map(_render_change, trusted_keys.list_changes(trust_status, call.environment, extended_request))
    for line in lines:
        output.write_error(line)
    if not yes:
        click.confirm("pin these in this clone?", abort=True, err=True)
    return extended_request


def _render_change(change: TrustChange) -> str:
    used_by = "" if change.where == "here" else f" (used by {quote_text(change.where)})"
    return f"CHANGE  {_CHANGE_LABELS[change.what]}: {quote_text(change.old)} -> {quote_text(change.new)}{used_by}"


def _render_text(trust_status: TrustStatus) -> str:
    repository_trust = trust_status.trust
    comments = {trusted_key.key.id: trusted_key.key.comment for trusted_key in repository_trust.trusted}
    comments |= {revoked_key.id: revoked_key.comment for revoked_key in repository_trust.revoked}
    rows = [
        ("repository", trust_status.repository),
        ("pinned", _SCOPES[trust_status.scope]),
        ("remote", " ".join((repository_trust.remote, repository_trust.endpoint)).strip() or "-"),
    ]
    rows += [
        ("trusted", f"{item.key.id} {item.key.comment}  since {item.added}, {_render_origin(item, comments)}")
        for item in repository_trust.trusted
    ]
    rows += [
        (
            "revoked",
            f"{item.id} {item.comment}  since {item.revoked}{_render_introducer(item.through, comments)}",
        )
        for item in repository_trust.revoked
    ]
    rows += [("threshold", str(repository_trust.threshold))] if repository_trust.threshold > 1 else []
    if not repository_trust.trusted:
        rows.append(("trusted", "nobody; next: gitindex trust add FILE.pub"))
    rows += [("elsewhere", _render_other_pin(clone, pin)) for clone, pin in trust_status.other_pins.items()]
    rows += (
        [("proposed", quote_text(trust_status.proposal.url))]
        if trust_status.proposal.url not in ("", repository_trust.remote)
        else []
    )
    return output.format_table(rows)


def _render_origin(trusted_key: TrustedKey, comments: dict[str, str]) -> str:
    """Who introduced a key: revoking any of them revokes it too, unless the user added it by hand."""
    introducers = ", ".join(f"{name} {comments.get(name, '')}".strip() for name in trusted_key.introduced_by)
    handover = f"handed over by {introducers}" if introducers else "handed over by an unknown key"
    if trusted_key.by_rotation:
        return handover
    return f"added by hand, {handover}" if introducers else "added by hand"


def _render_introducer(introducer: str, comments: dict[str, str]) -> str:
    return f", introduced by {introducer} {comments.get(introducer, '')}".rstrip() if introducer else ""


def _render_other_pin(clone: str, repository_trust: RepositoryTrust) -> str:
    keys = ", ".join(entry.key.id for entry in repository_trust.trusted) or "no key"
    return f"{clone}: {repository_trust.remote or 'no remote'}, {keys}"


for part, name in ((list_trust, "list"), (add, "add"), (revoke, "revoke")):
    run.add_command(part, name)
