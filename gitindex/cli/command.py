"""What every command shares: `--path`, `--json`, and how an answer is written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitindex.cli import output
from gitindex.cli.boundary import writing
from gitindex.config import Environment, environment
from gitindex.git.repo import asking
from gitindex.model.frozen import frozen

if TYPE_CHECKING:
    from gitindex.ops.codebase import Codebase


@frozen
class Answer:
    """One answer in two forms. `verbatim`: the text is a file's own, a pipe gets it as it is and a person `aside`."""

    data: dict[str, Any]
    text: str
    exit_code: int = 0
    verbatim: bool = False
    aside: str = ""  # said of the text, not part of it


@frozen
class Call:
    """What the shared options say."""

    path: Path
    as_json: bool
    environment: Environment

    def codebase(self) -> Codebase:
        """What `path` means; git is asked while the modules load that depend on its answer."""
        with asking(self.path.resolve()) as asked:
            from gitindex.ops.codebase import open_codebase

            return open_codebase(self.path, self.environment, pending=asked)


def complain(path: Path) -> None:
    """A failed background run is told by the next command, never silent; found without asking git."""
    for folder in (path.absolute(), *path.absolute().parents):
        if (folder / ".git").is_dir():
            git_dir = folder / ".git"
            if os.path.exists(git_dir / "gitindex" / str(os.geteuid()) / "worker.json"):
                from gitindex.hooks.worker import complaint

                said = complaint(git_dir)
                if said:
                    output.write_error(said)
                    output.write_error("  next: gitindex sync")
            return


def _show(answer: Answer) -> None:
    if answer.verbatim and not sys.stdout.isatty():
        output.write_verbatim(answer.text)
        if answer.aside:
            output.write_lines(answer.aside)
        return
    text = answer.text.removesuffix("\n") if answer.verbatim else answer.text
    text = output.shown("\n".join(filter(None, (text, answer.aside))))
    if not _paged(text):
        output.write_text(text)


def _paged(text: str) -> bool:
    """Was it shown by a pager? Only a person at a terminal who did not refuse gets one."""
    if not sys.stdout.isatty() or click.get_current_context().find_root().params.get("no_pager"):
        return False
    from gitindex.cli import pager

    return pager.show(text, environment().variables)


class WordsCommand(click.Command):
    """A command whose words may begin with a minus: what is no option of its own is a word.

    Two minus signs always mean an option, so that a misspelled one is still told.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {
            name: item
            for item in self.get_params(ctx)
            if isinstance(item, click.Option)
            for name in item.opts
        }
        options: list[str] = []
        words: list[str] = []
        left = iter(args)
        for argument in left:
            if argument == "--":
                words += left
            elif not argument.startswith("--") and argument not in known:
                words.append(argument)
            else:
                options.append(argument)
                if argument in known and not known[argument].is_flag:
                    value = next(left, None)
                    if value is None:
                        return super().parse_args(ctx, options)  # which tells that the value is missing
                    options.append(value)
        return super().parse_args(ctx, [*options, "--", *words])


def command(help_text: str, **settings: Any) -> Callable[[Callable[..., Answer]], click.Command]:
    """Turn `run(call, **options) -> Answer` into a click command with the shared options."""

    def wrap(run: Callable[..., Answer]) -> click.Command:
        @wraps(run)
        def invoke(path: str, as_json: bool, **options: Any) -> int:
            answer = run(Call(Path(path), as_json, environment()), **options)
            with writing():
                if as_json:
                    output.write_json(answer.data)
                else:
                    _show(answer)
            if not as_json:
                complain(Path(path))
            return answer.exit_code

        shared = click.option("--path", default=".", metavar="DIR", help="Any path inside the codebase.")
        json_flag = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
        decorate: Callable[[Callable[..., int]], click.Command] = click.command(help=help_text, **settings)
        return decorate(shared(json_flag(invoke)))

    return wrap
