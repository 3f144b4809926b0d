"""`gitindex init`."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from gitindex.cli.cmd_sync import report_json, report_text
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.progress_bar import progress_bar
from gitindex.cli.transfer import transfer_bar
from gitindex.config import FILE_NAME
from gitindex.errors import GitError, HookError, IntegrityError, RemoteError, Untrusted
from gitindex.hooks import install as native
from gitindex.hooks import precommit
from gitindex.hooks.hookfile import HookOutcome
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.discovery import is_git_unusable
from gitindex.ops.maintain.settings_file import write_settings
from gitindex.ops.sharing.fetch import fetch, is_pinned
from gitindex.ops.syncing.catchup import catch_up


class HookSetup(NamedTuple):
    """What `init` did about hooks. `refused`: the events that another manager owns; None when none was tried."""

    text: str
    refused: tuple[HookOutcome, ...] | None = None
    needs_manual_sync: bool = True

    def to_json(self) -> dict[str, Any]:
        if self.refused is None:
            return {"hooks": self.text}
        refused = [
            {"event": outcome.event, "reason": outcome.reason, "snippet": outcome.snippet}
            for outcome in self.refused
        ]
        return {"hooks": self.text, "refused": refused}


@command("Set up a codebase: hooks, first snapshot, next steps. Safe to run again.")
@click.option("--no-hooks", is_flag=True, help="Do not install git hooks.")
@click.option(
    "--pre-commit", "pre_commit", metavar="REV", help=f"Add the hook to {precommit.CONFIG} at this revision."
)
@click.option(
    "--fetch/--no-fetch",
    "fetch_requested",
    default=None,
    help="Start from the team's remote. Default: only if you trust keys for this repository.",
)
@click.option(
    "--write-config",
    is_flag=True,
    help=f"Write a {FILE_NAME} with the current settings, defaults as comments.",
)
def run(
    call: CommandCall,
    no_hooks: bool,
    pre_commit: str | None,
    fetch_requested: bool | None,
    write_config: bool,
) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    if write_config:
        write_settings(codebase)
        codebase = open_codebase(call.path, call.environment)
    if pre_commit is not None and not no_hooks:
        _require_precommit(codebase)
    fetch_result = _fetch_base(call, codebase, fetch_requested)
    with progress_bar(not call.as_json) as progress:
        report = catch_up(codebase, progress)
    # Last: hooks of an index that cannot be built would fail at every commit.
    hooks = HookSetup("not installed (--no-hooks)") if no_hooks else _install_hooks(codebase, pre_commit)
    data = {
        **report_json(report),
        "fetched": fetch_result,
        "root": str(codebase.root),
        "store_id": codebase.layout.id,
        **hooks.to_json(),
    }
    lines = [
        f"root    {codebase.root}",
        f"store   {codebase.layout.base}",
        f"config  {FILE_NAME if (codebase.root / FILE_NAME).exists() else 'defaults'}",
        f"hooks   {hooks.text}",
        *([f"fetch   {fetch_result}"] if fetch_result else []),
        report_text(report),
        "",
        "next:",
        '  gitindex search "what you are looking for"',
        "  gitindex status    whether the index is fresh, complete and trusted",
    ]
    if hooks.needs_manual_sync:
        lines.append("  gitindex sync      after a change")
    return Answer(data, "\n".join([*lines, *_snippet_lines(hooks)]))


def _fetch_base(call: CommandCall, codebase: Codebase, fetch_requested: bool | None) -> str | None:
    """Fetch from the remote. A failure is an error when a fetch was requested, else the index is built here."""
    if fetch_requested is False or (fetch_requested is None and not is_pinned(codebase)):
        return None
    try:
        with transfer_bar("fetching", not call.as_json) as transfer:
            report = fetch(codebase, transfer=transfer)
    except (RemoteError, Untrusted, IntegrityError) as error:
        if fetch_requested:
            raise
        return f"not possible: {error.message}"
    return f"{report.base_commit[:12]} from {report.remote}, signed by {report.signer}"


def _require_precommit(codebase: Codebase) -> None:
    if codebase.repo is not None and not (codebase.root / precommit.CONFIG).exists():
        raise HookError(f"there is no {precommit.CONFIG} in {codebase.root}", hint="gitindex init")


def _install_hooks(codebase: Codebase, pre_commit: str | None) -> HookSetup:
    """Add the hook to pre-commit's configuration when its revision was given, else install git's own hooks."""
    if codebase.repo is None:
        return HookSetup("no git repository")
    if pre_commit is not None:
        precommit.extend(codebase.root, pre_commit)
        return HookSetup(
            f"added to {precommit.CONFIG}; run: pre-commit install --install-hooks", needs_manual_sync=False
        )
    try:
        report = native.install(codebase.repo)
    except GitError as error:
        if not is_git_unusable(error):
            raise
        return HookSetup(f"not installed: {error.message}")
    refused = [outcome.event for outcome in report.refused_outcomes]
    installed = [outcome.event for outcome in report.outcomes if outcome.event not in refused]
    text = (
        f"installed for {', '.join(installed)}"
        if installed
        else "not installed: another hook manager owns the hook files"
    )
    return HookSetup(text, report.refused_outcomes, needs_manual_sync=False)


def _snippet_lines(hooks: HookSetup) -> list[str]:
    lines = []
    for outcome in hooks.refused or ():
        lines += ["", f"{outcome.event}: {outcome.reason}. Add this yourself:", outcome.snippet or ""]
    return lines
