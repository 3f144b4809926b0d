"""Starts processes for the hooks package, and is its only module that does: the shim, which starts the worker.

posix_spawn instead of subprocess: importing that would cost a hook more than its work. The shell exits as soon as the
worker is in the background, so there is no child to wait for.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from gitindex.hooks import shim

_SHELL = "/bin/sh"
_CHDIR_SCRIPT = 'cd -- "$1" && shift && exec "$@"'  # posix_spawn cannot change the directory


def start(event: str, where: Path, environ: Mapping[str, str]) -> None:
    """Do what the native hook does for `event` in the work tree `where`: request, then worker."""
    run(
        [_SHELL, "-c", shim.render_call(event, sys.executable, shim.find_shim()).standalone],
        environ,
        where=where,
    )


def run(command: list[str], environ: Mapping[str, str], *, where: Path) -> int:
    """Run `command` in `where`, in a session of its own with no descriptor of ours; its exit code."""
    command = [_SHELL, "-c", _CHDIR_SCRIPT, "sh", str(where), *command]
    null_actions = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    close_actions = [(os.POSIX_SPAWN_CLOSE, number) for number in _inheritable_descriptors()]
    pid = os.posix_spawn(
        _SHELL, command, dict(environ), file_actions=[*null_actions, *close_actions], setsid=True
    )
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def close_inherited() -> None:
    """Close descriptors inherited from the process that ran git: a lock held through one would stay locked."""
    for number in _inheritable_descriptors():
        with contextlib.suppress(OSError):
            os.close(number)


def _inheritable_descriptors() -> list[int]:
    """Open descriptors above stderr that would survive an exec."""
    descriptors = []
    for number in (int(name) for name in os.listdir("/dev/fd") if int(name) > 2):
        with contextlib.suppress(OSError):  # the listing used a descriptor that is closed by now
            if os.get_inheritable(number):
                descriptors.append(number)
    return descriptors
