"""Shows long answers on a terminal in a pager, chosen as git chooses one. Never into a pipe, never for JSON."""

from __future__ import annotations

import shutil
import signal
import subprocess
from collections.abc import Mapping

_DEFAULT = "less"
# As git sets them: quit if the text fits on one screen, keep colours, leave the text on the screen.
_PAGER_DEFAULTS = {"LESS": "FRX", "LV": "-c"}
_NOT_FOUND = 127


def choose_pager(variables: Mapping[str, str]) -> str:
    """A command for the shell: GITINDEX_PAGER, PAGER or less; "" for no pager."""
    if variables.get("TERM") == "dumb":
        return ""
    setting = variables.get("GITINDEX_PAGER", variables.get("PAGER"))
    if setting is None:
        return _DEFAULT if shutil.which(_DEFAULT) else ""
    return "" if setting.strip() in ("", "cat") else setting


def is_long(text: str) -> bool:
    """Whether the text and the prompt need more lines than the terminal has."""
    return text.count("\n") + 2 > shutil.get_terminal_size().lines


def show(text: str, variables: Mapping[str, str]) -> bool:
    """Show the text in a pager and wait until it ends. False: no pager was used, and the caller writes the text."""
    command = choose_pager(variables)
    if not command or not is_long(text):
        return False
    # In a shell, as git does: the setting may hold options and pipes.
    process = subprocess.Popen(  # noqa: S602  the user's own setting
        command, shell=True, stdin=subprocess.PIPE, env={**_PAGER_DEFAULTS, **variables}
    )
    previous_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C now belongs to the pager
    try:
        process.communicate(
            text.encode("utf-8", "replace") + b"\n"
        )  # quitting the pager early is not an error
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    return process.returncode != _NOT_FOUND
