"""What every command shares: options, words that begin with a minus, the warning about a failed run (UI-1)."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from gitindex.cli.command import Answer, CommandCall, WordsCommand, command, warn_of_failed_run
from gitindex.gitdir import hookrequest
from gitindex.hooks import journal
from tests.support.gitrepo import GitRepo


@click.command(cls=WordsCommand)
@click.argument("words", nargs=-1)
@click.option("--limit", type=int)
@click.option("--files", is_flag=True)
def words(words: tuple[str, ...], limit: int | None, files: bool) -> tuple[tuple[str, ...], int | None, bool]:
    return words, limit, files


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["a", "-b", "--limit", "3"], (("a", "-b"), 3, False)),
        (["--files", "-path:tests", "x"], (("-path:tests", "x"), None, True)),
        (["a", "--", "--limit", "3"], (("a", "--limit", "3"), None, False)),
        (["--limit=4", "-"], (("-",), 4, False)),
    ],
)
def test_a_minus_begins_a_word_unless_it_is_an_option(arguments: list[str], expected: object):
    assert words.main(arguments, standalone_mode=False) == expected


@pytest.mark.parametrize("arguments", [["--limt", "3"], ["a", "--limit"]])
def test_a_misspelled_option_and_a_missing_value_are_errors(arguments: list[str]):
    with pytest.raises(click.UsageError):
        words.main(arguments, standalone_mode=False)


def test_the_exit_code_of_an_answer_is_returned(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    @command("Help.")
    def run(call: CommandCall) -> Answer:
        return Answer({"json": call.as_json}, f"text of {call.path}", exit_code=5)

    assert run.main(["--path", str(tmp_path)], standalone_mode=False) == 5
    assert capsys.readouterr().out == f"text of {tmp_path}\n"
    assert run.main(["--json"], standalone_mode=False) == 5
    assert capsys.readouterr().out == '{"json": true}\n'


def test_a_failed_run_is_reported_until_a_sync_served_its_request(
    repo: GitRepo, capsys: pytest.CaptureFixture[str]
):
    """HK-3: nobody else sees a worker that failed."""
    git_dir = repo.root / ".git"
    hookrequest.write_request(git_dir, hookrequest.HookRequest(commit_only=False))
    journal.end(git_dir, journal.begin(git_dir), journal.FAILED, error="no space")
    inner = repo.root / "deep" / "folder"
    inner.mkdir(parents=True)
    warn_of_failed_run(inner)
    assert "failed: no space\n  next: gitindex sync" in capsys.readouterr().err
    hookrequest.withdraw(git_dir)
    warn_of_failed_run(inner)
    assert capsys.readouterr().err == ""
