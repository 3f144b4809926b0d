"""What every command shares: `--path`, `--json`, and how an answer is written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitindex.cli import output
from gitindex.cli.boundary import translate_output_errors
from gitindex.config import Environment, load_environment
from gitindex.model.frozen import frozen
from gitindex.ops.discovery import begin_discovery, find_journal_directory

if TYPE_CHECKING:
    from gitindex.ops.codebase import Codebase


@frozen
class Answer:
    """One answer as JSON and as text. `verbatim`: the text is a file's own; a pipe gets it without changes."""

    data: dict[str, Any]
    text: str
    exit_code: int = 0
    verbatim: bool = False
    remarks: str = ""  # about a verbatim text: on stderr where stdout is a pipe


@frozen
class CommandCall:
    """The values of the options that every command has."""

    path: Path
    as_json: bool
    environment: Environment

    def open_codebase(self) -> Codebase:
        """The codebase around `path`. Git searches for it while the modules load that need the answer (UI-3)."""
        with begin_discovery(self.path) as pending_discovery:
            from gitindex.ops.codebase import open_codebase

            return open_codebase(self.path, self.environment, pending=pending_discovery)


def warn_of_failed_run(path: Path) -> None:
    """Report a failed background run, which nobody else sees. Starts no git, and loads nothing where none ran."""
    git_dir = find_journal_directory(path)
    if git_dir is None:
        return
    from gitindex.hooks.worker import failed_run_message

    warning = failed_run_message(git_dir)
    if warning:
        output.write_error(warning)
        output.write_error("  next: gitindex sync")


def _write_answer(answer: Answer) -> None:
    if answer.verbatim and not sys.stdout.isatty():
        output.write_verbatim(answer.text)
        if answer.remarks:
            output.write_error_lines(answer.remarks)
        return
    text = answer.text.removesuffix("\n") if answer.verbatim else answer.text
    text = output.render_escapes("\n".join(filter(None, (text, answer.remarks))))
    if not _show_in_pager(text):
        output.write_text(text)


def _show_in_pager(text: str) -> bool:
    """Show the text in a pager, on a terminal and without --no-pager; False when the caller has to write it."""
    if not sys.stdout.isatty() or click.get_current_context().find_root().params.get("no_pager"):
        return False
    from gitindex.cli import pager

    return pager.show(text, load_environment().variables)


class WordsCommand(click.Command):
    """A command whose arguments may begin with a minus: what is not one of its options is an argument.

    Two minus signs always mean an option, so that a misspelled one is still an error.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options_by_name = {
            name: item
            for item in self.get_params(ctx)
            if isinstance(item, click.Option)
            for name in item.opts
        }
        options: list[str] = []
        words: list[str] = []
        remaining = iter(args)
        for argument in remaining:
            if argument == "--":
                words += remaining
            elif not argument.startswith("--") and argument not in options_by_name:
                words.append(argument)
            else:
                options.append(argument)
                if argument in options_by_name and not options_by_name[argument].is_flag:
                    value = next(remaining, None)
                    if value is None:
                        return super().parse_args(ctx, options)  # reports that the value is missing
                    options.append(value)
        return super().parse_args(ctx, [*options, "--", *words])


def command(help_text: str, **settings: Any) -> Callable[[Callable[..., Answer]], click.Command]:
    """Turn `run(call, **options) -> Answer` into a click command with the shared options."""

    def wrap(run: Callable[..., Answer]) -> click.Command:
        @wraps(run)
        def invoke(path: str, as_json: bool, **options: Any) -> int:
            answer = run(CommandCall(Path(path), as_json, load_environment()), **options)
            with translate_output_errors():
                if as_json:
                    output.write_json(answer.data)
                else:
                    _write_answer(answer)
            if not as_json:
                warn_of_failed_run(Path(path))
            return answer.exit_code

        path_option = click.option("--path", default=".", metavar="DIR", help="Any path inside the codebase.")
        json_flag = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
        decorate: Callable[[Callable[..., int]], click.Command] = click.command(help=help_text, **settings)
        return decorate(path_option(json_flag(invoke)))

    return wrap
