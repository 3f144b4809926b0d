"""Text for people, one JSON object for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gitindex.config import is_color_disabled
from gitindex.model.foreign import MAX_MESSAGE, escape_controls, escape_line, json_text

# Stands for our own escape characters until the text is shown. Random, so that no indexed text can contain it.
_ESCAPE = f"\ufdd0{os.urandom(8).hex()}\ufdd1"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def write_json(value: Any) -> None:
    """Write one JSON object; control characters are escaped as JSON allows, so that a terminal obeys none."""
    sys.stdout.write(json_text(value, indent=2 if sys.stdout.isatty() else None) + "\n")


def write_text(text: str) -> None:
    if text:
        click.echo(_replace_surrogates(text))


def write_verbatim(text: str) -> None:
    """Write the text without changes, not even a final newline."""
    sys.stdout.write(_replace_surrogates(text))


def render_escapes(text: str) -> str:
    """Neutralise control characters in foreign text, then restore our own colours and links."""
    return escape_controls(text).replace(_ESCAPE, "\x1b")


def single_line(text: str) -> str:
    """Keep a foreign path or name on one line; our own colours stay."""
    return _ESCAPE.join(map(escape_line, text.split(_ESCAPE)))


def write_error(text: str, max_length: int = MAX_MESSAGE) -> None:
    """Write one line to stderr. Our messages are one line each, so a line break in one is foreign text."""
    click.echo(escape_line(text, max_length), err=True)


def write_error_lines(text: str) -> None:
    """Write several lines that we composed to stderr."""
    click.echo(escape_controls(text), err=True)


def _replace_surrogates(text: str) -> str:
    """Paths may hold bytes that are not UTF-8; printing them must not fail."""
    return text.encode("utf-8", "replace").decode("utf-8")


def style(text: str, **attributes: Any) -> str:
    return (
        click.style(escape_controls(text), **attributes).replace("\x1b", _ESCAPE)
        if is_styling_enabled()
        else text
    )


def link(text: str, target: Path) -> str:
    """A hyperlink to `target` on a terminal; terminals without hyperlinks show the text."""
    text = style(escape_line(text), fg="cyan")
    return (
        f"{_ESCAPE}]8;;{target.as_uri()}{_ESCAPE}\\{text}{_ESCAPE}]8;;{_ESCAPE}\\"
        if is_styling_enabled()
        else text
    )


def is_styling_enabled() -> bool:
    """Whether the text may hold escapes: on a terminal, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not is_color_disabled()


def format_table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Left-aligned columns; control characters in a cell are escaped, so that a row stays one line."""
    cells = [[*map(single_line, row)] for row in ([header, *rows] if header else rows)]
    if not cells:
        return ""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    if header:
        lines[0] = style(lines[0], bold=True)
    return "\n".join(lines)


def format_size(count: float) -> str:
    for unit in _UNITS:
        if count < 1024 or unit == _UNITS[-1]:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return ""


def format_number(count: int) -> str:
    return f"{count:,}"


def pluralize(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
