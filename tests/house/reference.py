"""Writes `docs/cli.md` from what the commands say of themselves: `python -m tests.house.reference`."""

from __future__ import annotations

import click

from gitindex.cli.main import COMMANDS, group
from tests.house.graph import REPOSITORY

INTRO = r"""# Command line

`python -m tests.house.reference` writes this page from the help of the commands; a test compares the two.

Every command takes `--path DIR` (any path inside the codebase, default: the current directory) and `--json` (one JSON
object on stdout and nothing else; progress and messages go to stderr). Exit codes: [exit-codes.md](exit-codes.md).
The tables below list the other options of each command.

On a terminal, text longer than the screen goes through `$GITINDEX_PAGER`, `$PAGER` or `less`, as with git; `gitindex
--no-pager COMMAND` writes it to the terminal. Pipes, files and `--json` never use a pager.

The fields of `--json` are those of the MCP tools: [mcp.md](mcp.md#answers) explains them. Keys are in `snake_case`, except those of
gate answers and of call-graph notes. `status --json` also says what is pending (`pending`, `pending_files`, `blocked`), how the last
sync ended (`last_sync_at`, `last_result`), what the index holds (`counts`, `segments`, `tombstones`, `semantic`), what the gate says
(`gate`, `completion_proof`, `freshness_mode`) and what hooks did (`background`).

A first session:

```console
$ gitindex init --no-hooks
$ gitindex search "publish snapshot"
$ gitindex search publish --mode lexical --json
$ gitindex search --files "publish a snapshot only once"
$ gitindex search --tag design
$ gitindex symbol publish_snapshot
$ gitindex outline store/publish.py
$ gitindex callgraph publish_snapshot --direction callees
$ gitindex read store/publish.py:1-3
$ gitindex sync
$ gitindex status
$ gitindex audit --digest
$ gitindex audit --rebuild
$ gitindex health
$ gitindex compact
$ gitindex gc --dry-run
$ gitindex repair --dry-run
$ gitindex stores
$ gitindex list
$ gitindex upgrade-store
```

## Shell completion

Commands and options complete with the Tab key. Add the line of your shell to the file named beside it; bash must be 4.4 or newer.

| shell | line | file |
|---|---|---|
| bash | `eval "$(_GITINDEX_COMPLETE=bash_source gitindex)"` | `~/.bashrc` |
| zsh | `eval "$(_GITINDEX_COMPLETE=zsh_source gitindex)"` (after `compinit`) | `~/.zshrc` |
| fish | `_GITINDEX_COMPLETE=fish_source gitindex \| source` | `~/.config/fish/completions/gitindex.fish` |

These lines start gitindex whenever a shell starts. To avoid that, write the output of `_GITINDEX_COMPLETE=… gitindex` to a file once
and source it.
"""
_SHARED = {"--path", "--json", "--help"}


def commands() -> dict[str, click.Command]:
    """All commands that can be typed, those of groups under their full name."""
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found.update((f"{name} {part}", child) for part, child in sorted(command.commands.items()))
        else:
            found[name] = command
    return found


def render() -> str:
    parts = [INTRO]
    for name, command in commands().items():
        if command.hidden:
            continue
        parts.append(f"## {name}\n\n{_help(command)}\n")
        parts.append(f"```\n{_usage(name, command)}\n```\n")
        rows = [_row(option) for option in command.params if _own(option)]
        if rows:
            parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def _help(command: click.Command) -> str:
    paragraphs = (command.help or "").replace("\b", "").strip().split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _usage(name: str, command: click.Command) -> str:
    parts = [
        parameter.make_metavar(click.Context(command))
        for parameter in command.params
        if isinstance(parameter, click.Argument)
    ]
    return " ".join(["gitindex", name, *parts, "[options]"])


def _own(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and not parameter.hidden and not _SHARED & set(parameter.opts)


def _row(option: click.Parameter) -> str:
    assert isinstance(option, click.Option)
    context = click.Context(click.Command("x"))
    record = option.get_help_record(context)
    assert record is not None
    names, text = record
    shown = " ".join(text.split()).replace("|", "\\|")
    names = names.replace("|", "\\|")
    return f"| `{names}` | {shown} |"


if __name__ == "__main__":
    (REPOSITORY / "docs" / "cli.md").write_text(render(), "utf-8")
