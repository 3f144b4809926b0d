"""Text for people, one JSON object for programs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

import click

from gitindex.config import no_color

_COMMANDING = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def write_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None) + "\n")


def write_text(text: str) -> None:
    if text:
        click.echo(_printable(text))


def write_verbatim(text: str) -> None:
    """Nothing taken away, nothing added."""
    sys.stdout.write(_printable(text))


def harmless(text: str) -> str:
    """Somebody else's text for a terminal: what would command it is spelled out."""
    return _COMMANDING.sub(lambda sign: f"\\x{ord(sign[0]):02x}", text.removeprefix("\ufeff"))


def write_error(text: str) -> None:
    click.echo(text, err=True)


def _printable(text: str) -> str:
    """Paths may hold bytes no encoding knows; printing must not fail for that."""
    return text.encode("utf-8", "replace").decode("utf-8")


def style(text: str, **how: Any) -> str:
    return click.style(text, **how) if styled() else text


def styled() -> bool:
    """May the text hold escapes? On a terminal only, and not for those who asked for none."""
    return sys.stdout.isatty() and not no_color()


def table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Left-aligned columns."""
    every = [list(header), *map(list, rows)] if header else [list(row) for row in rows]
    if not every:
        return ""
    widths = [max(len(row[at]) for row in every) for at in range(len(every[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in every
    ]
    if header:
        lines[0] = style(lines[0], bold=True)
    return "\n".join(lines)


def size(count: float) -> str:
    for unit in _UNITS:
        if count < 1024 or unit == _UNITS[-1]:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return ""


def number(count: int) -> str:
    return f"{count:,}"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
