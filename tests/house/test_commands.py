"""Every command: documented, the same options, one JSON object, an exit code (UI-1)."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise

import click
import pytest

from gitindex.cli.main import COMMANDS, group
from tests.house.graph import REPOSITORY
from tests.house.reference import commands, render
from tests.support import harness
from tests.support.gitrepo import GitRepo

DOCS = ("README.md", "docs/cli.md", "docs/configuration.md", "docs/exit-codes.md", "docs/design.md")
SERVICES = {"mcp", "hooks run", "hooks worker"}  # speak protocols of their own on stdout
LANDING = {"refresh", "jobs", "indexers", "state"}  # named by the contract, on their way


def test_the_reference_is_complete():
    """`docs/cli.md` is what the commands say of themselves; `python -m tests.house.reference` writes it."""
    same = (REPOSITORY / "docs" / "cli.md").read_text("utf-8") == render()
    assert same, "docs/cli.md is old: run `python -m tests.house.reference`"


def test_every_command_has_its_file_and_its_line():
    files = {
        path.stem.removeprefix("cmd_").replace("_", "-")
        for path in (REPOSITORY / "gitindex/cli").glob("cmd_*.py")
    }
    assert files - set(COMMANDS) == set(), "cli/main.py COMMANDS does not have it"
    assert set(COMMANDS) - files == set(), "no file cli/cmd_<name>.py for it"
    assert all(line.endswith(("?", ".")) and len(line) <= 80 for line in COMMANDS.values())


@pytest.mark.parametrize("name", [name for name in commands() if name not in SERVICES])
def test_every_command_takes_the_shared_options(name: str):
    """UI-1."""
    options = {option for parameter in commands()[name].params for option in parameter.opts}
    assert {"--json", "--path"} <= options
    assert commands()[name].help


@pytest.mark.parametrize("name", [name for name in commands() if name not in SERVICES])
def test_json_is_one_object_whatever_happens(name: str, tmp_path):
    """UI-1: on an empty directory, with arguments that lead nowhere; text for people goes to stderr on failure."""
    arguments = [
        f"{tmp_path / 'out'}" if name == "keys new" else "nowhere"
        for p in commands()[name].params
        if needed(p)
    ]
    extra = [
        part
        for p in commands()[name].params
        if isinstance(p, click.Option) and p.required
        for part in (p.opts[0], "HEAD")
    ]
    empty = tmp_path / "empty"
    empty.mkdir()
    ran = harness.cli(*name.split(), *arguments, *extra, "--json", "--path", str(empty))
    lines = ran.out.splitlines()
    assert len(lines) == 1, ran.out
    answer = json.loads(lines[0])
    assert isinstance(answer, dict)
    assert "status" in answer, answer
    assert ran.code in range(9)
    assert answer.get("error", {}).get("code") != "defect", answer
    assert "Traceback" not in ran.err


def needed(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Argument) and parameter.required


def test_usage_errors_are_json_too(repo: GitRepo):
    """UI-1."""
    for arguments in (("nonsense",), ("sync", "--nonsense"), ("search",), ("sync", "--wait", "soon")):
        ran = harness.cli(*arguments, "--json")
        assert ran.code in (2, 3), arguments
        assert json.loads(ran.out)["status"] != "ok"


def examples() -> list[tuple[str, str]]:
    """Every `$ gitindex …` line of a console block."""
    found = []
    for name in DOCS:
        text = (REPOSITORY / name).read_text("utf-8")
        for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
            found += [(name, line[2:]) for line in block.splitlines() if line.startswith("$ gitindex")]
    return found


def test_documented_examples_run(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """In the order they are written, in one repository; `# exit N` says what is expected when it is not 0."""
    repo.commit(
        "one",
        **{
            "store/publish.py": 'def publish_snapshot(name):\n    """Publish."""\n    return check(name)\n\n\ndef check(name):\n    return name\n',
            "docs/note.md": "---\ntags: [design]\ndate: 2026-01-05\n---\n# Publishing\n\nA snapshot is published.\n",
        },
    )
    monkeypatch.chdir(repo.root)
    assert len(examples()) >= 10
    for where, line in examples():
        command, _, remark = line.partition("  #")
        expected = int(match[1]) if (match := re.search(r"exit (\d+)", remark)) else 0
        ran = harness.cli(*shlex.split(command)[1:])
        assert ran.code == expected, f"{where}: {line}\n{ran.out}{ran.err}"


def completed(instruction: str, **words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "gitindex"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "_GITINDEX_COMPLETE": instruction, **words},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_documented_completion_works(shell: str):
    """UI-1: the script of each documented shell, and what it asks for when somebody types `gitindex sea<Tab>`."""
    lines = re.findall(
        r"_GITINDEX_COMPLETE=(\w+) gitindex", (REPOSITORY / "docs" / "cli.md").read_text("utf-8")
    )
    assert f"{shell}_source" in lines
    if shell == "bash" and shutil.which("bash") is None:
        pytest.skip("click asks bash for its version")
    script = completed(f"{shell}_source")
    assert f"_GITINDEX_COMPLETE={shell}_complete" in script
    asked = {"COMP_WORDS": "gitindex sea", "COMP_CWORD": "sea" if shell == "fish" else "1"}
    assert "search" in completed(f"{shell}_complete", **asked)


def test_hints_name_commands_that_exist():
    """EN-3: a next step can be typed as printed."""
    pattern = re.compile(r"""hint=f?["']gitindex ([a-z-]+)""")
    for path in (REPOSITORY / "gitindex").rglob("*.py"):
        for name in pattern.findall(path.read_text("utf-8")):
            assert name in COMMANDS or name in LANDING, f"{path.name}: {name}"


def test_a_hint_that_begins_as_a_command_is_one():
    """docs/exit-codes.md: `gitindex …` holds no prose; capitals and braces stand for what is filled in."""
    words = {"new", "add", "list", "install", "python", "typescript"}
    for path in (REPOSITORY / "gitindex").rglob("*.py"):
        for hint in re.findall(r"""(?:hint|next) ?= ?f?["']gitindex ([^"']+)["']""", path.read_text("utf-8")):
            name, *rest = hint.split()
            assert name in COMMANDS, f"{path.name}: {hint}"
            for before, part in pairwise([name, *rest]):
                known = part in words or before.startswith("--") or re.match(r"-|\{|[A-Z]", part)
                assert known, f"{path.name}: {hint}"


def test_help_lists_every_command():
    ran = harness.cli("--help")
    assert ran.code == 0
    assert all(f"  {name} " in ran.out for name in COMMANDS)
    assert isinstance(group, click.Group)
