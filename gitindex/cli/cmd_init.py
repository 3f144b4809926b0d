"""`gitindex init`."""

from __future__ import annotations

from typing import Any

import click

from gitindex.cli.cmd_sync import report_json, report_text
from gitindex.cli.command import Answer, CommandCall, command
from gitindex.cli.progress_bar import progress_bar
from gitindex.cli.transfer import transfer_bar
from gitindex.config import FILE_NAME
from gitindex.errors import GitError, HookError, IntegrityError, RemoteError, Untrusted
from gitindex.hooks import install as native
from gitindex.hooks import precommit
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.discovery import is_git_unusable
from gitindex.ops.maintain.settings_file import write_settings
from gitindex.ops.sharing.fetch import fetch, is_pinned
from gitindex.ops.syncing.catchup import catch_up

_PRE_COMMIT = ".pre-commit-config.yaml"


@command("Set up a codebase: hooks, first snapshot, and what to do next. Safe to run again.")
@click.option("--no-hooks", is_flag=True, help="Do not install git hooks.")
@click.option(
    "--pre-commit", "pre_commit", metavar="REV", help=f"Add the hook to {_PRE_COMMIT} at this revision."
)
@click.option(
    "--fetch/--no-fetch",
    "wanted",
    default=None,
    help="Start from the team's remote; by default when you trust keys for this repository.",
)
@click.option(
    "--write-config",
    is_flag=True,
    help=f"Write a {FILE_NAME} with the present settings, defaults as comments.",
)
def run(
    call: CommandCall, no_hooks: bool, pre_commit: str | None, wanted: bool | None, write_config: bool
) -> Answer:
    codebase = open_codebase(call.path, call.environment)
    if write_config:
        write_settings(codebase)
        codebase = open_codebase(call.path, call.environment)
    if pre_commit is not None and not no_hooks:
        _require_precommit(codebase)
    fetch_result = _fetch_base(call, codebase, wanted)
    with progress_bar(not call.as_json) as progress:
        report = catch_up(codebase, progress)
    # Last: hooks of an index that cannot be made would fail at every commit.
    hooks = {"hooks": "left alone"} if no_hooks else _install_hooks(codebase, pre_commit)
    data = {
        **report_json(report),
        "fetched": fetch_result,
        "root": str(codebase.root),
        "store_id": codebase.layout.id,
        **hooks,
    }
    lines = [
        f"root    {codebase.root}",
        f"store   {codebase.layout.base}",
        f"config  {FILE_NAME if (codebase.root / FILE_NAME).exists() else 'defaults'}",
        f"hooks   {hooks['hooks']}",
        *([f"fetch   {fetch_result}"] if fetch_result else []),
        report_text(report),
        "",
        "next:",
        '  gitindex search "what you are looking for"',
        "  gitindex status    is it fresh, complete and trusted?",
    ]
    if hooks["hooks"] in ("left alone", "no git repository") or hooks["hooks"].startswith("not installed"):
        lines.append("  gitindex sync      after a change")
    return Answer(data, "\n".join([*lines, *_snippet_lines(hooks)]))


def _fetch_base(call: CommandCall, codebase: Codebase, fetch_requested: bool | None) -> str | None:
    """Start from the remote: when asked for it must work, else a failure only means building here."""
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
    if codebase.repo is not None and not (codebase.root / _PRE_COMMIT).exists():
        raise HookError(f"there is no {_PRE_COMMIT} in {codebase.root}", hint="gitindex init")


def _install_hooks(codebase: Codebase, pre_commit: str | None) -> dict[str, Any]:
    """pre-commit when asked for (or agreed to on a terminal), git's own hooks otherwise."""
    if codebase.repo is None:
        return {"hooks": "no git repository"}
    if pre_commit is not None:
        precommit.extend(codebase.root, pre_commit)
        return {"hooks": f"added to {_PRE_COMMIT}; run: pre-commit install --install-hooks"}
    try:
        report = native.install(codebase.repo)
    except GitError as error:
        if not is_git_unusable(error):
            raise
        return {"hooks": f"not installed: {error.message}"}
    refused = [outcome.event for outcome in report.refused_outcomes]
    installed = [outcome.event for outcome in report.outcomes if outcome.event not in refused]
    return {
        "hooks": f"installed for {', '.join(installed)}"
        if installed
        else "refused: another hook manager is in charge",
        "refused": [
            {"event": o.event, "reason": o.reason, "snippet": o.snippet} for o in report.refused_outcomes
        ],
    }


def _snippet_lines(hooks: dict[str, Any]) -> list[str]:
    lines = []
    for refused in hooks.get("refused", []):
        lines += [
            "",
            f"{refused['event']}: {refused['reason']}. Add this yourself:",
            refused["snippet"] or "",
        ]
    return lines
