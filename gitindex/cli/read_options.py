"""Options that every gated read shares, and how its answers are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gitindex.cli import output
from gitindex.cli.command import Answer, Call
from gitindex.ops.answers.answer_truths import Coverage, IndexFreshness, Trust, Truth
from gitindex.ops.answers.gated_read import ReadOptions
from gitindex.ops.codebase import Codebase, open_codebase

_FAILED = ("ambiguous", "unsupported", "not_found")


def reads(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--stale-ok`, `--sync` and `--debug`."""
    for option in (
        click.option("--debug", is_flag=True, help="With --json, a not_ready answer tells of the proof."),
        click.option("--sync", "catch_up", is_flag=True, help="Index what changed first."),
        click.option(
            "--stale-ok", is_flag=True, help="While a rebuild runs, answer from the last good snapshot."
        ),
    ):
        run = option(run)
    return run


def opened(call: Call, *, stale_ok: bool, catch_up: bool, debug: bool) -> tuple[Codebase, ReadOptions]:
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


def told(data: dict[str, Any], text: str, *, empty_is_fine: bool = False) -> Answer:
    """The answer with its line of truth; the tool's own refusals are failures with a message."""
    failed = data["status"] in _FAILED
    lines = [text or output.name(data.get("message", "nothing found"))]
    if data.get("suggestions"):
        lines.append(output.name(f"did you mean: {', '.join(data['suggestions'])}"))
    if data["status"] == "ambiguous":
        lines += [output.name(f"  {item['symbol_id']}") for item in data.get("candidates", ())]
    lines += [*_stale(data), "", truth_line(data)]
    return Answer(data, "\n".join(lines), 1 if failed and not empty_is_fine else 0)


def unshown(data: dict[str, Any], *counts: tuple[int, str]) -> list[str]:
    """What a limit kept out of the answer, and how to see it."""
    said = [f"{count:,} {what}" for count, what in counts if count]
    # `left_out`: the answer met its size budget before the limit.
    wider = "raise query.max_answer_chars in .gitindex.toml" if data.get("left_out") else "raise --limit"
    return ["", f"not shown: {', '.join(said)}; {wider}"] if said else []


def comments(data: dict[str, Any], sign: str) -> list[str]:
    """What `told` says of an answer, for a drawing: the text stays one."""
    return [f"{sign} {' '.join(line.split())}" for line in (*_stale(data), truth_line(data))]


def _stale(data: dict[str, Any]) -> list[str]:
    stale = ["a rebuild is running: this is the last good snapshot"] if data.get("stale") else []
    return stale + ([data["sync_skipped"]] if data.get("sync_skipped") else [])


def truth_line(data: dict[str, Any]) -> str:
    return Truth(
        IndexFreshness(**data["freshness"]), Coverage(**data["coverage"]), Trust(**data["trust"])
    ).summary_line()
