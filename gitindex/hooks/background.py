"""The worker as a process: its own session, no inherited descriptors, a small rotated log."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from gitindex.gitdir import folder
from gitindex.gitdir.folder import Folder
from gitindex.hooks import spawn

LOG_NAMES = ("worker.log", "worker.log.1")
_LOG_BYTES = 256 * 1024
_AUTOGROUP = Path("/proc/self/autogroup")
_FORMAT = "%(asctime)s %(process)d %(levelname)s %(message)s"


def detach_process() -> None:
    """Leave the session and close descriptors where the shim could not: without `setsid`, and above 9."""
    spawn.close_inherited()
    with contextlib.suppress(PermissionError):  # already the leader of its session
        os.setsid()
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            # Linux divides the processor among sessions before it applies nice, so the session needs a nice value too.
            # Half of ours: one session competes with all others, and people wait for the locks that we hold.
            _AUTOGROUP.write_text(str(os.nice(0) // 2))


@contextlib.contextmanager
def log_to_folder(git_dir: Path) -> Iterator[None]:
    """Send our log records to the user's folder: the process has no terminal to write to."""
    with folder.open_folder(git_dir) as user_folder:
        if user_folder is None:
            yield
            return
        handler = _FolderHandler(user_folder)
        handler.setFormatter(logging.Formatter(_FORMAT))
        root = logging.getLogger("gitindex")
        root.addHandler(handler)
        root.setLevel(logging.INFO)
        try:
            yield
        finally:
            root.removeHandler(handler)
            handler.close()


class _FolderHandler(logging.Handler):
    """Appends to the log through the open folder, which follows no links; keeps one older file."""

    def __init__(self, user_folder: Folder) -> None:
        super().__init__()
        self._user_folder = user_folder

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):  # a log that cannot be written fails no run
            line = (self.format(record) + "\n").encode("utf-8", "backslashreplace")
            log_stat = self._user_folder.stat(LOG_NAMES[0])
            if log_stat is not None and log_stat.st_size + len(line) > _LOG_BYTES:
                self._user_folder.rename(*LOG_NAMES)
            descriptor = self._user_folder.open(LOG_NAMES[0], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
