"""Every command that an error hints at exists as printed, and those without a placeholder run: a remedy that does
nothing is worse than none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gitindex.cli.main import COMMANDS, group
from gitindex.ops.codebase import Codebase
from tests.support.harness import cli

SOURCE = Path(__file__).parents[2] / "gitindex"
_COMMAND = re.compile(r"gitindex((?: (?:--?[a-z][\w-]*|[a-z][\w-]*|[A-Z]+\b|I/N))+)")
# Local commands whose hint holds no placeholder: they must run on an ordinary index. The order is that of growing damage.
RUN = (
    "status", "jobs", "sync", "init", "compact", "gc", "upgrade-store", "repair", "sync --full", "build --commit HEAD",
    "build --full", "indexers", "gc --stores", "gc --stores --force",
)  # fmt: skip


def hinted() -> Iterator[tuple[str, str]]:
    """(file:line, words after `gitindex`) of every `hint=` in the product."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "hint":
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        for found in _COMMAND.finditer(part.value):
                            if found[1].split()[0] in COMMANDS:
                                yield f"{path.relative_to(SOURCE)}:{node.value.lineno}", found[1].strip()


def resolve(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command or sub-command that the words name, and the words left."""
    found: click.Command = group
    while isinstance(found, click.Group) and words:
        inner = found.get_command(click.Context(found), words[0])
        if inner is None:
            break
        found, words = inner, words[1:]
    return found, words


def test_every_hinted_option_exists() -> None:
    """UI-1: a hint names a command of this release with options that it has."""
    seen = list(hinted())
    assert len(seen) > 60, "the scan finds the hints"
    for where, text in seen:
        command, rest = resolve(text.split())
        known = {option for parameter in command.params for option in parameter.opts}
        missing = [word for word in rest if word.startswith("--") and word not in known]
        assert not missing, f"{where}: gitindex {text}"


def test_hints_name_no_unknown_command() -> None:
    """A word after `gitindex` at the start of a hint is a command."""
    for path in sorted(SOURCE.rglob("*.py")):
        for found in re.finditer(r"hint=f?\"gitindex ([a-z-]+)", path.read_text("utf-8")):
            assert found[1] in COMMANDS, f"{path.name}: {found[0]}"


@pytest.mark.parametrize("text", RUN)
def test_hinted_commands_run(indexed: Codebase, text: str) -> None:
    """Every local command of a hint without a placeholder is accepted and succeeds on an ordinary index."""
    assert text in {words for _, words in hinted()} | {"jobs"}
    ran = cli(*text.split(), "--json", "--path", str(indexed.root))
    assert ran.code == 0, ran.err or ran.out
