"""Progress bars: on a terminal only, drawn seldom, cleared at the end."""

from __future__ import annotations

import io
from contextlib import redirect_stderr

from gitindex.cli.progress_bar import progress_bar
from gitindex.cli.transfer import transfer_bar
from gitindex.remote.transport import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_filled_in_proportion_and_cleared():
    with redirect_stderr(Terminal()) as terminal, progress_bar() as show:
        show("write", 5, 10)
        show("write", 6, 10)  # too soon after the first
        show("write", 10, 10)  # the last is always drawn
    first, last, cleared = terminal.getvalue().split("\r")[1:]
    assert first == f"write [{'#' * 15}{'.' * 15}] 5/10\x1b[K"
    assert last == f"write [{'#' * 30}] 10/10\x1b[K"
    assert cleared == "\x1b[K"


def test_without_a_total_the_bar_is_empty():
    with redirect_stderr(Terminal()) as terminal, progress_bar() as show:
        show("plan", 0, 0)
    assert f"[{'.' * 30}] 0/0" in terminal.getvalue()


def test_a_transfer_shows_bytes_and_objects():
    with redirect_stderr(Terminal()) as terminal, transfer_bar("fetching") as show:
        show(Progress(1, 4, 1024, 4096))
        show(Progress(2, 4, 2048, 4096))  # too soon after the first
        show(Progress(4, 4, 4096, 4096))
    text = terminal.getvalue()
    assert f"fetching [{'#' * 7}{'.' * 23}] 1.0 KiB of 4.0 KiB, 1/4 objects, " in text
    assert "2.0 KiB of" not in text
    assert f"[{'#' * 30}] 4.0 KiB of 4.0 KiB, 4/4 objects, " in text
    assert text.endswith("\r\x1b[K")


def test_a_pipe_gets_nothing():
    with (
        redirect_stderr(io.StringIO()) as stream,
        progress_bar() as show,
        transfer_bar("pushing") as transfer,
    ):
        show("write", 1, 2)
        transfer(Progress(1, 1, 1, 1))
    assert stream.getvalue() == ""


def test_json_gets_none_on_a_terminal_either():
    with (
        redirect_stderr(Terminal()) as terminal,
        progress_bar(False) as show,
        transfer_bar("pushing", False) as transfer,
    ):
        show("write", 1, 2)
        transfer(Progress(1, 1, 1, 1))
    assert terminal.getvalue() == ""
