"""Text for people: tables, sizes, escapes (UI-1)."""

from __future__ import annotations

import io
import json

import pytest

from gitindex.cli import output


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1024**2, "1.0 MiB"),
        (1024**5, "1024.0 TiB"),
    ],
)
def test_sizes_change_their_unit_at_1024(count: int, text: str):
    assert output.format_size(count) == text


def test_only_one_is_singular():
    assert [output.pluralize(count, "file") for count in (0, 1, 2, 1000)] == [
        "0 files",
        "1 file",
        "2 files",
        "1,000 files",
    ]


def test_columns_are_as_wide_as_their_widest_cell():
    assert output.format_table([("a", "bcd"), ("long", "e")], ("x", "y")) == "x     y\na     bcd\nlong  e"
    assert output.format_table([]) == ""


def test_a_cell_cannot_break_its_row():
    """A path may hold a line break or an escape sequence."""
    table = output.format_table([("a\nb", "\x1b[31mred")])
    assert "\n" not in table
    assert "\x1b" not in table


def test_only_our_own_escapes_reach_a_terminal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(output, "is_styling_enabled", lambda: True)
    text = output.render_escapes(f"{output.style('ours', bold=True)} \x1b[31mtheirs")
    assert text.startswith("\x1b[1mours\x1b[0m ")
    assert text.count("\x1b") == 2


def test_without_a_terminal_there_is_no_style():
    assert output.style("text", bold=True) == "text"


def test_json_is_one_line_in_a_pipe(monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    output.write_json({"a": [1, "\x1b"]})
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue()
    assert json.loads(stream.getvalue()) == {"a": [1, "\x1b"]}
