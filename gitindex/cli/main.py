"""The command line: a table of commands, each imported only when it runs (UI-3)."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

import gitindex
from gitindex.cli.boundary import run_command
from gitindex.config import limit_numpy_threads

# name → what `gitindex --help` says; the code is in cmd_<name>.py, as `run`
COMMANDS: dict[str, str] = {
    "init": "Set up a repository: hooks, first snapshot, next steps.",
    "sync": "Index what changed and publish a snapshot.",
    "hooks": "Index in the background after commits, checkouts, merges and rewrites.",
    "search": "Search the index.",
    "explore": "Answer a question in one call, within a token budget.",
    "symbol": "Find definitions by name or position.",
    "refs": "Find references to a definition.",
    "outline": "List the definitions of one file.",
    "callgraph": "List the callers or the callees of a definition.",
    "imports": "List the files that a file imports, or that import it.",
    "map": "List the most referenced definitions, within a token budget.",
    "read": "Print a file as indexed.",
    "slice": "Find what a variable depends on, or what depends on it.",
    "refresh": "Import exact facts (SCIP) for HEAD.",
    "jobs": "List refresh jobs and their results.",
    "indexers": "List exact indexers, and install those that can be pinned.",
    "state": "Report whether the index is fresh enough to edit these files safely.",
    "mcp": "Serve the index to agents over MCP.",
    "build": "Build the snapshot of a commit for publishing.",
    "merge": "Merge the shards of a build.",
    "push": "Sign and upload the build of a commit.",
    "fetch": "Download the index of this commit from the team's remote.",
    "verify": "Check that a published snapshot is genuine and complete.",
    "remote": "Maintain the remote.",
    "keys": "Create keys that sign snapshots.",
    "trust": "Manage the trusted keys and the pinned remote.",
    "status": "Report what is indexed, and whether it is fresh, complete and trusted.",
    "health": "Check every artifact of the active snapshot.",
    "audit": "Check the live view and print its digest.",
    "list": "List the codebases with an index on this machine.",
    "stores": "List every store with its size and last use.",
    "stats": "Report index size, dead rows and publish times.",
    "gc": "Delete snapshots that are no longer retained.",
    "compact": "Merge segments and drop dead rows.",
    "repair": "Rebuild damaged artifacts.",
    "upgrade-store": "Upgrade a store to this release's formats.",
}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"gitindex.cli.cmd_{cmd_name.replace('-', '_')}")
        command: click.Command = module.run
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gitindex.__version__, prog_name="gitindex")
@click.option("--no-pager", is_flag=True, help="Do not send long answers through a pager.")
def group(no_pager: bool) -> None:
    """Immutable, verified snapshots of a code index, bound to git trees.

    Every command takes --json (one object on stdout) and --path DIR (default: the current repository).
    Exit codes: 0 done, 1 failed, 2 usage, 3 gated, 4 integrity, 5 untrusted, 6 remote, 7 busy, 8 version.
    """


def _open_streams() -> None:
    """Replace a stdout or stderr that the caller closed: writing then fails, but `isatty` can be called."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(
            os.open(os.devnull, os.O_RDONLY), "w"
        )  # opened for reading: every write fails, as on a closed stream
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def main() -> None:
    _open_streams()
    limit_numpy_threads()
    code = run_command(group, sys.argv[1:])
    gc.freeze()  # the process ends: spare the collector a last walk over every module
    sys.exit(code)
