"""Reading a file that only this user can have written (RE-5). Light: every answer about a fetched index asks.

The file and its folder belong to the user, nobody else may write either, and the file is no link. What fails one of
these is refused by name: believing another user's list of trusted keys would install whatever that user signs.
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
_OPEN_FLAGS = (
    os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
)  # NONBLOCK: a pipe must not keep us waiting
_OWN_HOME_HINT = "set GITINDEX_HOME to a directory of your own"


def read(path: Path) -> bytes | None:
    """At most MAX_BYTES + 1 bytes of the file; None without one.

    Raises Untrusted when somebody else could have written it, ConfigError when it cannot be read.
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
    """Raises Untrusted unless the folder is the user's alone to write, FileNotFoundError without one.

    A link to it counts as the user's own when the user made it.
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
