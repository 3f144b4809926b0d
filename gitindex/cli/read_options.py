"""Options that every gated read shares, and how its answers are rendered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, CommandCall
from gitindex.ops.answers.answer_truths import Coverage, IndexFreshness, Trust, Truth
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


def render_answer(data: dict[str, Any], text: str, *, empty_is_fine: bool = False) -> Answer:
    """The answer with its freshness, coverage and trust line. An answer that found nothing has a message and fails."""
    failed = data["status"] in _FAILURE_STATUSES
    lines = [text or output.single_line(data.get("message", "nothing found"))]
    if data.get("suggestions"):
        lines.append(output.single_line(f"did you mean: {', '.join(data['suggestions'])}"))
    if data["status"] == "ambiguous":
        lines += [output.single_line(f"  {item['symbol_id']}") for item in data.get("candidates", ())]
    lines += [*_stale_lines(data), "", truth_line(data)]
    return Answer(data, "\n".join(lines), 1 if failed and not empty_is_fine else 0)


def render_left_out(data: dict[str, Any], *counts: tuple[int, str]) -> list[str]:
    """The line that says what a limit left out of the answer, and how to see it."""
    parts = [f"{count:,} {noun}" for count, noun in counts if count]
    # `left_out`: the answer met its size budget before the limit.
    remedy = "raise query.max_answer_chars in .gitindex.toml" if data.get("left_out") else "raise --limit"
    return ["", f"not shown: {', '.join(parts)}; {remedy}"] if parts else []


def render_comments(data: dict[str, Any], comment_prefix: str) -> list[str]:
    """The lines that `render_answer` adds, as comments, so that a diagram stays valid."""
    return [f"{comment_prefix} {' '.join(line.split())}" for line in (*_stale_lines(data), truth_line(data))]


def _stale_lines(data: dict[str, Any]) -> list[str]:
    stale = ["a rebuild is running: this is the last good snapshot"] if data.get("stale") else []
    return stale + ([data["sync_skipped"]] if data.get("sync_skipped") else [])


def truth_line(data: dict[str, Any]) -> str:
    return Truth(
        IndexFreshness(**data["freshness"]), Coverage(**data["coverage"]), Trust(**data["trust"])
    ).summary_line()
