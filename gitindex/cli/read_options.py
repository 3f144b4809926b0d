"""Options that every gated read shares, and how its answers are rendered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall
from gitindex.ops.answers.answer_types import AnswerBasis, Miss, NotAnswered, SnapshotAnswer
from gitindex.ops.answers.gated_read import ReadOptions
from gitindex.ops.codebase import Codebase, open_codebase

_FAILURE_STATUSES = ("ambiguous", "unsupported", "not_found")


def add_read_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--stale-ok`, `--sync` and `--debug`."""
    for option in (
        click.option(
            "--debug", is_flag=True, help="With --json: add the completion proof to a not_ready answer."
        ),
        click.option("--sync", "catch_up", is_flag=True, help="Sync before answering."),
        click.option(
            "--stale-ok", is_flag=True, help="While a rebuild runs, answer from the last good snapshot."
        ),
    ):
        run = option(run)
    return run


def open_for_reading(
    call: CommandCall, *, stale_ok: bool, catch_up: bool, debug: bool
) -> tuple[Codebase, ReadOptions]:
    codebase = open_codebase(call.path, call.environment)
    base = Path.cwd() if str(call.path) == "." else call.path
    options = ReadOptions(
        stale_ok=stale_ok,
        debug=debug or call.environment.debug,
        sync=catch_up,
        requested=call.path.absolute(),
        base=base if base.is_dir() else base.parent,
    )
    return codebase, options


def render_answer(answer: SnapshotAnswer, text: str, *, miss: Miss | None = None) -> Answer:
    """The text with its freshness, coverage and trust line. An answer that found nothing has a message and fails.

    A `miss` is one only when it names a place that does not exist: that nothing has a name is an answer.
    """
    failed = answer.status in _FAILURE_STATUSES and (miss is None or bool(miss.path))
    lines = [text or "nothing found"]
    if miss is not None and miss.suggestions:
        lines.append(_suggestion_line(miss.suggestions))
    lines += [*_stale_lines(answer.basis), "", answer.basis.truth.summary_line()]
    return Answer(answer.to_json(), "\n".join(lines), 1 if failed else 0)


def render_not_answered(answer: NotAnswered) -> Answer:
    lines = [output.single_line(answer.message)]
    if answer.suggestions:
        lines.append(_suggestion_line(answer.suggestions))
    lines += [output.single_line(f"  {item.symbol_id}") for item in answer.candidates]
    return render_answer(answer, "\n".join(lines))


def render_left_out(basis: AnswerBasis, *counts: tuple[int, str]) -> list[str]:
    """The line that says what a limit left out of the answer, and how to see it."""
    parts = [f"{count:,} {noun}" for count, noun in counts if count]
    # `left_out`: the answer met its size budget before the limit.
    remedy = "raise query.max_answer_chars in .gitindex.toml" if basis.left_out else "raise --limit"
    return ["", f"not shown: {', '.join(parts)}; {remedy}"] if parts else []


def render_comments(basis: AnswerBasis, comment_prefix: str) -> list[str]:
    """The lines that `render_answer` adds, as comments, so that a diagram stays valid."""
    lines = (*_stale_lines(basis), basis.truth.summary_line())
    return [f"{comment_prefix} {' '.join(line.split())}" for line in lines]


def _suggestion_line(suggestions: Sequence[str]) -> str:
    return output.single_line(f"did you mean: {', '.join(suggestions)}")


def _stale_lines(basis: AnswerBasis) -> list[str]:
    stale = ["a rebuild is running: this is the last good snapshot"] if basis.stale else []
    return stale + ([basis.sync_skipped] if basis.sync_skipped else [])
