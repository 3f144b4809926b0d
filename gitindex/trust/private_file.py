"""Reads a file that only this user can have written (RE-5). Imports little: every answer from a fetched index uses it.

The file and its folder must belong to the user, no one else may write either, and the file must not be a link. All
else is refused: another user's list of trusted keys would let that user install whatever they sign.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from gitindex.errors import ConfigError, Untrusted
from gitindex.model.foreign import escape_line, quote_argument

MAX_BYTES = 4 * 1024 * 1024
# O_NONBLOCK: opening a named pipe must not block.
_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OWN_HOME_HINT = "set GITINDEX_HOME to a directory of your own"


def read(path: Path) -> bytes | None:
    """The content of the file, at most MAX_BYTES + 1 bytes of it; None when it does not exist.

    Raises Untrusted when another user could have written it, ConfigError when it cannot be read.
    """
    try:
        check_folder(path.parent)
        with open(os.open(path, _OPEN_FLAGS), "rb") as file:
            _check_owner(path, os.fstat(file.fileno()), stat.S_ISREG)
            return file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _untrusted_error(path, "is a link", f"ls -l {quote_argument(str(path))}") from error
        raise ConfigError(
            f"cannot read {escape_line(str(path))}: {error.strerror}",
            hint=f"ls -l {quote_argument(str(path))}",
        ) from error


def check_folder(folder: Path) -> None:
    """Raises Untrusted unless only the user may write to the folder, FileNotFoundError when it does not exist.

    The folder may be a link that the user made.
    """
    if folder.lstat().st_uid != os.geteuid():
        raise _untrusted_error(folder, "belongs to another user", _OWN_HOME_HINT)
    _check_owner(folder, folder.stat(), stat.S_ISDIR)


def _check_owner(path: Path, file_stat: os.stat_result, is_kind: Callable[[int], bool]) -> None:
    if not is_kind(file_stat.st_mode):
        raise _untrusted_error(path, "is no ordinary file or folder", f"ls -ld {quote_argument(str(path))}")
    if file_stat.st_uid != os.geteuid():
        raise _untrusted_error(path, "belongs to another user", _OWN_HOME_HINT)
    if stat.S_IMODE(file_stat.st_mode) & 0o022:
        raise _untrusted_error(
            path, "can be written by others", f"check it, then chmod go-w {quote_argument(str(path))}"
        )


def _untrusted_error(path: Path, why: str, hint: str) -> Untrusted:
    return Untrusted(
        f"{escape_line(str(path))} {why}, so what it says about trust is not believed", hint=hint
    )
