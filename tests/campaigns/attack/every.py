"""Run every command and every MCP tool in one repository, each in a process of its own: `python -m tests.campaigns.attack.every ROOT`.

Prints one JSON object: what was run → its exit code. What is run comes from the command table and the tool schema.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from gitindex.cli.boundary import run_command
from gitindex.cli.main import COMMANDS, group
from gitindex.config import load_environment
from gitindex.errors import GitindexError
from gitindex.mcp.tool_schemas import TOOLS, ToolSpec
from gitindex.mcp.tools import Tools

_SECONDS = 60
_FAILED = 99  # no exit code of ours


def commands(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Name and arguments of every command; one that nobody foresaw gets a file for every word it needs."""
    special = {
        "hooks worker": ["--path", str(root), "--git-dir", str(root / ".git")],
        "hooks run": ["post-commit"],
        "refresh": ["--wait"],
        "slice": ["a.py:1", "a"],
        "indexers": ["list"],  # `install` downloads programs
        "keys new": [str(root.parent / "key")],
        "build": ["--commit", "HEAD"],
    }
    context = click.Context(group)
    for name in COMMANDS:
        found = group.get_command(context, name)
        assert found is not None
        for words, command in _leaves(context, name, found):
            given = special.get(words)
            yield words, _needed(command) if given is None else given


def _leaves(context: click.Context, name: str, found: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(found, click.Group):
        yield name, found
        return
    for part in found.list_commands(context):
        inner = found.get_command(context, part)
        assert inner is not None
        yield from _leaves(context, f"{name} {part}", inner)


def _needed(command: click.Command) -> list[str]:
    return ["a.py" for item in command.params if isinstance(item, click.Argument)]


def tool_calls(root: Path, inside: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every tool, asked about the root and about a file of the embedded repository, with and without a sync."""
    for spec in TOOLS:
        for action in spec.properties.get("action", {}).get("enum", [None]):
            given = {name: _value(name, spec) for name in spec.required}
            given |= {"action": action, "wait": True} if action else {}
            if "path" not in spec.properties:
                yield spec.name, given
                continue
            yield spec.name, {**given, "path": str(inside)}
            files = {"files": ["a.py"]} if spec.name == "file_state" else {"file": "a.py"}
            named = files if files.keys() <= spec.properties.keys() and spec.name != "search_codebase" else {}
            query = {"query": "def"} if "query" in spec.properties else {}
            synced = {"sync": True} if "sync" in spec.properties else {}
            yield spec.name, {**given, **named, **query, **synced, "path": str(root)}


def _value(name: str, spec: ToolSpec) -> object:
    schema: Mapping[str, Any] = spec.properties[name]
    return schema["enum"][0] if "enum" in schema else {"integer": 1, "array": ["a"]}.get(schema["type"], "a")


def apart(work: Callable[[], int]) -> int:
    """The exit code of `work` in a child: some commands change their process, and one may hang."""
    child = os.fork()
    if not child:
        code = _FAILED
        try:
            signal.alarm(_SECONDS)
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1):
                os.dup2(null, fd)
            code = work()
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def call_tool(root: Path, name: str, given: dict[str, Any]) -> int:
    try:
        Tools(load_environment(), root).call(name, given)
    except GitindexError as error:
        return error.exit_code
    return 0


def main(root: Path, inside: Path) -> None:
    os.chdir(root)
    done: dict[str, int] = {}
    for where in (root, inside):
        for words, arguments in commands(root):
            if words == "hooks run":
                os.environ["GITINDEX_SKIP"] = "1"  # what it starts in the background is `hooks worker`
            line = [*words.split(" "), *arguments]
            os.chdir(where)
            done[f"{words} in {where.name}"] = apart(lambda line=line: run_command(group, line))  # type: ignore[misc]
            os.environ.pop("GITINDEX_SKIP", None)
    os.chdir(root)
    for number, (name, given) in enumerate(tool_calls(root, inside / "config")):
        done[f"{number} {name} {given}"] = apart(lambda n=name, g=given: call_tool(root, n, g))  # type: ignore[misc]
    print(json.dumps(done))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
