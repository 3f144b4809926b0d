"""How the worker behaves as a process: its own session, no borrowed descriptors, a small rotated log."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path

from gitindex.hooks import spawn

_LOG_NAME = "worker.log"
_LOG_BYTES = 256 * 1024
_AUTOGROUP = Path("/proc/self/autogroup")
_FORMAT = "%(asctime)s %(process)d %(levelname)s %(message)s"


def become() -> None:
    """Finish what the shim began, where it lacked `setsid` or met a descriptor above nine."""
    spawn.close_inherited()
    with contextlib.suppress(PermissionError):  # already the leader of its session
        os.setsid()
    if os.getsid(0) == os.getpid():
        with contextlib.suppress(OSError):
            # Linux divides the processor among sessions before it looks at nice: ours must be modest as a whole.
            # Half as modest, because one session stands against all others, and people wait for what we hold.
            _AUTOGROUP.write_text(str(os.nice(0) // 2))


@contextlib.contextmanager
def logged(folder: Path) -> Iterator[None]:
    """Send our log records to `folder`; nothing else can be seen of a process without a terminal."""
    if not folder.is_dir():
        yield
        return
    with contextlib.suppress(FileNotFoundError, PermissionError):
        if not os.access(folder / _LOG_NAME, os.W_OK):  # another user's, or none
            (folder / _LOG_NAME).unlink()
    handler = RotatingFileHandler(folder / _LOG_NAME, maxBytes=_LOG_BYTES, backupCount=1, delay=True)
    handler.setFormatter(logging.Formatter(_FORMAT))
    root = logging.getLogger("gitindex")
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()
