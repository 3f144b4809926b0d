"""The command line: a table of commands, each imported only when it runs (UI-3)."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

import gitindex
from gitindex.cli.boundary import guarded
from gitindex.config import calm_numpy

# name → what `gitindex --help` says; the code is in cmd_<name>.py, as `run`
COMMANDS: dict[str, str] = {
    "init": "Set up a repository: first snapshot and what to do next.",
    "sync": "Index what changed and publish a snapshot.",
    "hooks": "Index in the background after commits, checkouts, merges and rewrites.",
    "search": "Search the index.",
    "explore": "Answer a question in one go, within a token budget.",
    "symbol": "Definitions by name or position.",
    "refs": "References to a definition.",
    "outline": "The definitions of one file.",
    "callgraph": "Who calls a definition, or what it calls.",
    "imports": "Which files a file imports, or which import it.",
    "map": "The definitions that the codebase leans on most, within a token budget.",
    "read": "A file's text as indexed.",
    "slice": "What a variable depends on, or what depends on it.",
    "refresh": "Import exact facts (SCIP) of HEAD.",
    "jobs": "Refresh jobs and what became of them.",
    "indexers": "Exact indexers: list them, install those that can be pinned.",
    "state": "May these files be edited on the strength of the index?",
    "mcp": "Serve the index to agents over MCP.",
    "build": "Build the snapshot of a commit, to be pushed.",
    "merge": "Make one build of its shards.",
    "push": "Sign and upload the build of a commit.",
    "fetch": "Get the index of this commit from the team's remote.",
    "verify": "Is a published snapshot genuine and whole?",
    "remote": "Upkeep of the remote.",
    "keys": "Make keys that sign snapshots.",
    "trust": "Whose signatures count, and which remote.",
    "status": "What is indexed, and is it fresh, complete and trusted?",
    "health": "Check every artifact of the active snapshot.",
    "audit": "Digest of the live view; prove that incremental equals clean.",
    "list": "Codebases with an index on this machine.",
    "stores": "Every store with its size and last use.",
    "stats": "Where the bytes and the milliseconds go.",
    "gc": "Delete snapshots nobody needs any more.",
    "compact": "Merge segments and drop what is dead.",
    "repair": "Rebuild what is damaged.",
    "upgrade-store": "Bring a store to this release's formats.",
}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"gitindex.cli.cmd_{cmd_name.replace('-', '_')}")
        found: click.Command = module.run
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gitindex.__version__, prog_name="gitindex")
@click.option("--no-pager", is_flag=True, help="Write long answers straight to the terminal.")
def group(no_pager: bool) -> None:
    """Immutable, verified snapshots of a code index, bound to git trees.

    Every command takes --json (one object on stdout) and --path DIR (default: the current repository).
    Exit codes: 0 done, 1 failed, 2 usage, 3 gated, 4 integrity, 5 untrusted, 6 remote, 7 busy, 8 version.
    """


def _open_streams() -> None:
    """Where the caller closed stdout or stderr there is none: let writing fail, not whoever asks about a terminal."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")  # its writes fail, as to a closed one
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def main() -> None:
    _open_streams()
    calm_numpy()
    code = guarded(group, sys.argv[1:])
    gc.freeze()  # the process ends: its collector need not look at every module once more
    sys.exit(code)
