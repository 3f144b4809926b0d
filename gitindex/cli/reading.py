"""Options that every gated read shares, and how its answers are told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gitindex.cli.command import Answer, Call
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.reading import ReadOptions
from gitindex.ops.truth import Coverage, Freshness, Trust, Truth

_FAILED = ("ambiguous", "unsupported", "not_found")


def reads(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--stale-ok`, `--sync` and `--debug`."""
    for option in (
        click.option("--debug", is_flag=True, help="Tell how the gate decided."),
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
    lines = [text or data.get("message", "nothing found")]
    if data.get("suggestions"):
        lines.append(f"did you mean: {', '.join(data['suggestions'])}")
    lines += [
        f"  {item['symbol_id']}" for item in data.get("candidates", ()) if data["status"] == "ambiguous"
    ]
    if data.get("stale"):
        lines.append("a rebuild is running: this is the last good snapshot")
    lines.append(f"\n{truth_line(data)}")
    return Answer(data, "\n".join(lines), 1 if failed and not empty_is_fine else 0)


def truth_line(data: dict[str, Any]) -> str:
    return Truth(Freshness(**data["freshness"]), Coverage(**data["coverage"]), Trust(**data["trust"])).line()
