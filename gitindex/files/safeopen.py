"""Opens files below a root without ever leaving it (EL-3).

Invariant: a descriptor that `Root.open` returns is a regular file whose every directory was reached from the
root without a symlink, whatever is renamed meanwhile. The kernel ensures it where it has `openat2`; elsewhere each
component is opened relative to its parent and refused when it is a link.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from gitindex.errors import UnreadableFile
from gitindex.model.foreign import quote_argument

_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW
_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_LISTING = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


class ReadError(UnreadableFile):
    """A file below the root could not be read; the class says why."""


class Vanished(ReadError):
    """Not there (any more), or a parent is no directory (any more)."""


class OutOfRoot(ReadError):
    """A component is a symlink, or the path itself points outside."""


class NotAFile(ReadError):
    """A directory, fifo, socket or device."""


class IsLink(NotAFile):
    """The path itself is a symlink: read it with `Root.readlink`."""


class Unreadable(ReadError):
    """There, but permission or the disk refuses."""


class Root:
    """A directory held open. Paths are raw bytes, relative to it."""

    def __init__(self, path: Path, *, fallback: bool = False) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._fallback = fallback

    def open(self, path: bytes) -> int:
        """A descriptor of the regular file at `path`. Raises a ReadError; never blocks on a fifo."""
        fd = self._open(path, _FILE)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise NotAFile(f"not a regular file: {_display_path(path)}")
        return fd

    def open_directory(self, path: bytes) -> int:
        """A descriptor to list the directory at `path`; b"" is the root."""
        return self._open(path, _LISTING) if path else os.open(".", _LISTING, dir_fd=self._fd)

    def readlink(self, path: bytes) -> bytes:
        parent, name = self._open_parent(path)
        try:
            return os.readlink(name, dir_fd=parent)
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise NotAFile(f"not a symlink: {_display_path(path)}") from error
            raise _to_read_error(error, path) from error
        finally:
            os.close(parent)

    def lstat(self, path: bytes) -> os.stat_result:
        parent, name = self._open_parent(path)
        try:
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
        except OSError as error:
            raise _to_read_error(error, path) from error
        finally:
            os.close(parent)

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_parent(self, path: bytes) -> tuple[int, bytes]:
        _check_path(path)
        directory, _, name = path.rpartition(b"/")
        if not directory:
            return os.dup(self._fd), name
        try:
            return self._open(directory, _DIRECTORY), name
        except IsLink as error:
            raise OutOfRoot(f"{_display_path(path)} leads through a symlink") from error

    def _open(self, path: bytes, flags: int) -> int:
        _check_path(path)
        try:
            return self._resolve(path, flags)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise self._explain_failure(path) from error
            raise _to_read_error(error, path) from error

    def _resolve(self, path: bytes, flags: int) -> int:
        if b"/" in path and not self._fallback:
            from gitindex.files import openat2  # late: a query opens no path below a directory (UI-3)

            if openat2.is_supported():
                return openat2.open_beneath(self._fd, path, flags)
        return _walk_open(self._fd, path, flags)

    def _explain_failure(self, path: bytes) -> ReadError:
        """Some component was no directory: name the first one that is not, as it is now."""
        parts = path.split(b"/")
        fd = os.dup(self._fd)
        try:
            for index, name in enumerate(parts):
                mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
                if stat.S_ISLNK(mode):
                    last = index == len(parts) - 1
                    kind = IsLink if last else OutOfRoot
                    return kind(f"{_display_path(b'/'.join(parts[: index + 1]))} is a symlink")
                if not stat.S_ISDIR(mode):
                    break
                child = os.open(name, _DIRECTORY, dir_fd=fd)
                os.close(fd)
                fd = child
        except OSError as error:
            return _to_read_error(error, path)
        finally:
            os.close(fd)
        return Vanished(f"no such file: {_display_path(path)}")


def _walk_open(root: int, path: bytes, flags: int) -> int:
    """Component by component, each relative to its parent's descriptor and never through a link."""
    *parents, name = path.split(b"/")
    fd = os.dup(root)
    try:
        for parent in parents:
            child = os.open(parent, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = child
        return os.open(name, flags, dir_fd=fd)
    finally:
        os.close(fd)


def _check_path(path: bytes) -> None:
    parts = path.split(b"/")
    if b"\0" in path or any(part in (b"", b".", b"..") for part in parts):
        raise OutOfRoot(f"not a path below the root: {_display_path(path)}")


def _to_read_error(error: OSError, path: bytes) -> ReadError:
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ESTALE):
        return Vanished(f"no such file: {_display_path(path)}")
    if error.errno in (errno.ELOOP, errno.EXDEV):
        return OutOfRoot(f"{_display_path(path)} leads through a symlink")
    if error.errno in (errno.ENXIO, errno.ENODEV, errno.EISDIR):
        return NotAFile(f"not a regular file: {_display_path(path)}")
    return Unreadable(
        f"cannot read {_display_path(path)}: {error.strerror}",
        hint=f"ls -l {quote_argument(os.fsdecode(path))}",
    )


def _display_path(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
