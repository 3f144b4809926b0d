"""The folder of one user in a git directory, `gitindex/<user id>/`, held open (HK-6).

Invariant: what is read and written here is a regular file of this user in a folder that only this user can change. No
link is followed, and a file of another user counts as missing. The descriptor is checked, not the path: anybody who may
rename folders in the git directory can exchange one for another at any moment.

The sticky bit marks a folder that was made for this purpose. The shell can test it without starting a process; it
cannot test the other bits, and a folder of the user that the group may write could have been moved here.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NAME = "gitindex"
WORKER_JOURNAL = "worker.json"  # in the folder of a user: what the hook worker did last
MODE = 0o1700
# PermissionError: the folder is another user's (`hooks.owner` tells whose).
_MISSING_ERRORS = (FileNotFoundError, NotADirectoryError, PermissionError)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def common_folder_path(git_dir: Path) -> Path:
    """The folder of all users of a git directory."""
    return git_dir / NAME


def user_folder_path(git_dir: Path) -> Path:
    """Where this user's folder belongs."""
    return common_folder_path(git_dir) / str(os.geteuid())


def is_private(stat_result: os.stat_result) -> bool:
    """Whether a folder was made by this user for this purpose, and nobody else can write it."""
    return (
        stat.S_ISDIR(stat_result.st_mode)
        and stat_result.st_uid == os.geteuid()
        and bool(stat_result.st_mode & stat.S_ISVTX)
        and not stat_result.st_mode & 0o077
    )


class Folder:
    """An open folder; a name that holds no regular file of this user reads as missing."""

    def __init__(self, descriptor: int) -> None:
        self._fd = descriptor

    def stat(self, name: str) -> os.stat_result | None:
        try:
            stat_result = os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except _MISSING_ERRORS:
            return None
        return stat_result if _is_own_file(stat_result) else None

    def open(self, name: str, flags: int) -> int:
        """A descriptor of the file `name`; with O_CREAT, anything else in its place is removed first.

        Raises FileNotFoundError, also for what is no file of this user and for every name once the folder was removed.
        """
        try:
            return self._open(name, flags)
        except FileNotFoundError:
            if not flags & os.O_CREAT or self._is_removed():
                raise
        self._displace(name)
        return self._open(name, flags)

    def read(self, name: str, limit: int) -> bytes | None:
        """At most `limit` bytes of the file, None when there is none."""
        try:
            descriptor = self.open(name, os.O_RDONLY)
        except _MISSING_ERRORS:
            return None
        with open(descriptor, "rb") as handle:
            return handle.read(limit)

    def replace(self, name: str, data: bytes) -> None:
        """Put `data` in the place of the file: readers see the old or the new text."""
        temporary = f".{name}.{os.getpid()}"
        self.remove(temporary)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=self._fd)
        with open(descriptor, "wb") as handle:
            handle.write(data)
        self._displace_folder(name)
        self.rename(temporary, name)

    def rename(self, name: str, target: str) -> None:
        """A missing file is no error: another process was quicker."""
        with suppress(*_MISSING_ERRORS):
            os.replace(name, target, src_dir_fd=self._fd, dst_dir_fd=self._fd)

    def adopt(self, git_dir: Path, name: str) -> None:
        """Move a file that an older release left in the common folder here, if it is this user's."""
        with suppress(*_MISSING_ERRORS):
            if _is_own_file((common_folder_path(git_dir) / name).lstat()):
                os.replace(common_folder_path(git_dir) / name, name, dst_dir_fd=self._fd)

    def remove(self, name: str) -> None:
        with suppress(*_MISSING_ERRORS):
            os.unlink(name, dir_fd=self._fd)

    def remove_all(self) -> None:
        """Remove every entry, whoever owns it."""
        for name in os.listdir(self._fd):
            self._displace(name)

    def _open(self, name: str, flags: int) -> int:
        try:
            descriptor = os.open(name, flags | _FILE, 0o600, dir_fd=self._fd)
        except (PermissionError, IsADirectoryError) as error:
            raise _not_own_error(name) from error
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):  # a link, a fifo
                raise _not_own_error(name) from error
            raise
        if _is_own_file(os.fstat(descriptor)):
            return descriptor
        os.close(descriptor)
        raise _not_own_error(name)

    def _displace(self, name: str) -> None:
        self._displace_folder(name)
        self.remove(name)

    def _displace_folder(self, name: str) -> None:
        with suppress(OSError):
            if stat.S_ISDIR(os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mode):
                from shutil import rmtree

                rmtree(name, dir_fd=self._fd)

    def _is_removed(self) -> bool:
        return os.fstat(self._fd).st_nlink == 0


@contextmanager
def open_folder(git_dir: Path, *, create: bool = False) -> Iterator[Folder | None]:
    """This user's folder for the length of the body; None where there is none, or others can write it."""
    if create:
        _create_folder(git_dir)
    try:
        descriptor = os.open(user_folder_path(git_dir), _DIRECTORY)
    except OSError:
        yield None
        return
    try:
        yield Folder(descriptor) if is_private(os.fstat(descriptor)) else None
    finally:
        os.close(descriptor)


def remove(git_dir: Path) -> None:
    """Remove this user's folder with everything in it."""
    with open_folder(git_dir) as user_folder:
        if user_folder is not None:
            user_folder.remove_all()
            user_folder_path(git_dir).rmdir()


def find_leftovers(git_dir: Path, names: Iterable[str]) -> dict[str, os.stat_result]:
    """Files of this user that a release without folders per user left in the common folder."""
    stats = {}
    for name in names:
        with suppress(*_MISSING_ERRORS):
            stat_result = (common_folder_path(git_dir) / name).lstat()
            stats.update({name: stat_result} if _is_own_file(stat_result) else {})
    return stats


def drop_leftovers(git_dir: Path, names: Iterable[str]) -> None:
    for name in find_leftovers(git_dir, names):
        with suppress(*_MISSING_ERRORS):
            (common_folder_path(git_dir) / name).unlink()


def _create_folder(git_dir: Path) -> None:
    with suppress(FileExistsError):
        common_folder_path(git_dir).mkdir()
    with suppress(FileExistsError):
        user_folder_path(git_dir).mkdir(mode=0o700)
        descriptor = os.open(user_folder_path(git_dir), _DIRECTORY)
        try:
            os.fchmod(descriptor, MODE)
        finally:
            os.close(descriptor)


def _is_own_file(stat_result: os.stat_result) -> bool:
    return stat.S_ISREG(stat_result.st_mode) and stat_result.st_uid == os.geteuid()


def _not_own_error(name: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "no file of this user", name)
