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

# Stands for the escape character of our own until the text is shown: nobody else can write it.
_ESCAPE = f"\ufdd0{os.urandom(8).hex()}\ufdd1"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def write_json(value: Any) -> None:
    """Exact for programs, harmless on a terminal: what it would obey is spelled as JSON allows."""
    sys.stdout.write(json_text(value, indent=2 if sys.stdout.isatty() else None) + "\n")


def write_text(text: str) -> None:
    if text:
        click.echo(_replace_surrogates(text))


def write_verbatim(text: str) -> None:
    """Nothing taken away, nothing added."""
    sys.stdout.write(_replace_surrogates(text))


def render_escapes(text: str) -> str:
    """An answer for people: other people's text in it commands no terminal, our own colours and links do."""
    return escape_controls(text).replace(_ESCAPE, "\x1b")


def single_line(text: str) -> str:
    """A path or name of somebody else's in an answer: it stays on its line. Our own colours in it stay too."""
    return _ESCAPE.join(map(escape_line, text.split(_ESCAPE)))


def write_error(text: str, max_length: int = MAX_MESSAGE) -> None:
    """One line on stderr. Our messages are one line each, so whatever breaks it is somebody else's."""
    click.echo(escape_line(text, max_length), err=True)


def write_error_lines(text: str) -> None:
    """Several lines of our own making on stderr."""
    click.echo(escape_controls(text), err=True)


def _replace_surrogates(text: str) -> str:
    """Paths may hold bytes no encoding knows; printing must not fail for that."""
    return text.encode("utf-8", "replace").decode("utf-8")


def style(text: str, **attributes: Any) -> str:
    return (
        click.style(escape_controls(text), **attributes).replace("\x1b", _ESCAPE)
        if is_styling_enabled()
        else text
    )


def link(text: str, target: Path) -> str:
    """A hyperlink where it can be one; terminals that know none show the text."""
    text = style(escape_line(text), fg="cyan")
    return (
        f"{_ESCAPE}]8;;{target.as_uri()}{_ESCAPE}\\{text}{_ESCAPE}]8;;{_ESCAPE}\\"
        if is_styling_enabled()
        else text
    )


def is_styling_enabled() -> bool:
    """May the text hold escapes? On a terminal only, and not for those who asked for none."""
    return sys.stdout.isatty() and not is_color_disabled()


def format_table(rows: Sequence[Sequence[str]], header: Sequence[str] = ()) -> str:
    """Left-aligned columns; a row is one line, whatever the names in it hold."""
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
