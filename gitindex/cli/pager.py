"""Long answers on a terminal go through a pager, chosen as git chooses one. Never a pipe, never JSON."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping

_DEFAULT = "less"
# As git sets them: quit when it fits after all, keep colours, leave the text on the screen.
_PAGER_DEFAULTS = {"LESS": "FRX", "LV": "-c"}
_NOT_FOUND = 127


def choose_pager(variables: Mapping[str, str]) -> str:
    """A command for the shell: GITINDEX_PAGER, PAGER or less; "" when nothing is to page."""
    if variables.get("TERM") == "dumb":
        return ""
    setting = variables.get("GITINDEX_PAGER", variables.get("PAGER"))
    if setting is None:
        return _DEFAULT if shutil.which(_DEFAULT) else ""
    return "" if setting.strip() in ("", "cat") else setting


def is_long(text: str) -> bool:
    """Does it need more lines than the terminal has, the prompt's included?"""
    return text.count("\n") + 2 > shutil.get_terminal_size().lines


def show(text: str, variables: Mapping[str, str]) -> bool:
    """Show the text and wait for the reader; False when it has to be written plainly."""
    command = choose_pager(variables)
    if not command or not is_long(text):
        return False
    # A shell, as for git: the user's own setting may hold options and pipes.
    process = subprocess.Popen(  # noqa: S602  the user's own setting
        command, shell=True, stdin=subprocess.PIPE, env={**_PAGER_DEFAULTS, **variables}
    )
    previous_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # from now on ^C is the pager's
    try:
        process.communicate(
            text.encode("utf-8", "replace") + b"\n"
        )  # a reader who leaves early is no failure
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    return process.returncode != _NOT_FOUND
