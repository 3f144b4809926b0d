"""Long answers on a terminal go through a pager, chosen as git chooses one. Never a pipe, never JSON."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping

_DEFAULT = "less"
# As git sets them: quit when it fits after all, keep colours, leave the text on the screen.
_HABITS = {"LESS": "FRX", "LV": "-c"}
_NOT_FOUND = 127


def chosen(variables: Mapping[str, str]) -> str:
    """A command for the shell: GITINDEX_PAGER, PAGER or less; "" when nothing is to page."""
    if variables.get("TERM") == "dumb":
        return ""
    asked = variables.get("GITINDEX_PAGER", variables.get("PAGER"))
    if asked is None:
        return _DEFAULT if shutil.which(_DEFAULT) else ""
    return "" if asked.strip() in ("", "cat") else asked


def is_long(text: str) -> bool:
    """Does it need more lines than the terminal has, the prompt's included?"""
    return text.count("\n") + 2 > shutil.get_terminal_size().lines


def show(text: str, variables: Mapping[str, str]) -> bool:
    """Show the text and wait for the reader; False when it has to be written plainly."""
    command = chosen(variables)
    if not command or not is_long(text):
        return False
    # A shell, as for git: the user's own setting may hold options and pipes.
    running = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env={**_HABITS, **variables})  # noqa: S602
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # from now on ^C is the pager's
    try:
        running.communicate(
            text.encode("utf-8", "replace") + b"\n"
        )  # a reader who leaves early is no failure
    finally:
        signal.signal(signal.SIGINT, before)
    return running.returncode != _NOT_FOUND
