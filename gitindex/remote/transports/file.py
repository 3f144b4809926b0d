"""`file://` remotes: a directory, possibly shared or on a removable disk.

An object is written under a temporary name, flushed, and linked to its key: it appears whole or not at all.
Modes follow the umask, so that a directory shared by a group stays readable to the group.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gitindex.errors import (
    GitindexError,
    RemoteDenied,
    RemoteError,
    RemoteMissing,
    RemoteUnavailable,
    StorageFull,
    UsageError,
)
from gitindex.remote.transport import Content, Entry, PutOutcome, RemoteStream, validate_key

_CHUNK = 256 * 1024
_TEMPORARY = ".new-"  # no key begins a name with a dot
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV, errno.ENOSYS}


class FileTransport:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = root.as_uri()

    @contextmanager
    def open(self, key: str, *, offset: int = 0) -> Iterator[RemoteStream]:
        with self._translating_errors(key), self._object_path(key).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            yield RemoteStream(offset, size, iter(lambda: file.read(_CHUNK), b""))

    def head(self, key: str) -> Entry | None:
        try:
            with self._translating_errors(key):
                stat = self._object_path(key).stat()
        except RemoteMissing:
            return None
        return Entry(key, stat.st_size, stat.st_mtime)

    def put_if_absent(self, key: str, content: Content) -> PutOutcome:
        target = self._object_path(key)
        with self._translating_errors(key):
            if target.exists():
                return PutOutcome.EXISTS
            temporary = self._stage(target, content)
            try:
                _link(temporary, target)
            except FileExistsError:
                return PutOutcome.EXISTS
            finally:
                temporary.unlink(missing_ok=True)
            _sync_directory(target.parent)
        return PutOutcome.CREATED

    def put(self, key: str, content: Content) -> None:
        target = self._object_path(key)
        with self._translating_errors(key):
            self._stage(target, content).replace(target)
            _sync_directory(target.parent)

    def list(self, prefix: str) -> Iterator[Entry]:
        """Walks the directory of the prefix only, and skips temporary files."""
        start = self.root / prefix.rpartition("/")[0]
        with self._translating_errors(prefix):
            self._require_reachable()
            for key in sorted(self._walk_keys(start)):
                entry = self.head(key) if key.startswith(prefix) else None
                if entry is not None:
                    yield entry

    def delete(self, key: str) -> None:
        with self._translating_errors(key):
            self._object_path(key).unlink(missing_ok=True)

    @contextmanager
    def _translating_errors(self, key: str) -> Iterator[None]:
        """Raise errors of the operating system as those of `transport`."""
        try:
            yield
        except GitindexError:
            raise
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            self._require_reachable()
            raise RemoteMissing(f"no object {key}") from error
        except OSError as error:
            raise _translate_error(error, key) from error

    def _require_reachable(self) -> None:
        """A missing root below an existing parent is an empty remote; otherwise it is not mounted."""
        # In this order: another thread may create the root between the two checks.
        if (self.root.parent.is_dir() and not self.root.exists()) or self.root.is_dir():
            return
        raise RemoteUnavailable(
            f"{self.root} is not a directory", hint="check the URL and that it is mounted"
        )

    def _stage(self, target: Path, content: Content) -> Path:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except FileNotFoundError as error:  # a file system without directories to create, such as /proc
            raise RemoteDenied(
                f"cannot create {self.root}: {error.strerror}", hint="check the URL and that it is mounted"
            ) from error
        return _write_temporary(target, content)

    def _object_path(self, key: str) -> Path:
        return self.root / validate_key(key)

    def _walk_keys(self, start: Path) -> Iterator[str]:
        for directory, folders, files in os.walk(start, onerror=_raise_walk_error):
            folders[:] = [name for name in folders if not name.startswith(".")]
            parent = Path(directory).relative_to(self.root)
            yield from ((parent / name).as_posix() for name in files if not name.startswith("."))


def parse_url(url: str) -> Path:
    """The directory of a `file://` URL. Raises UsageError unless it is absolute and on this machine."""
    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.netloc not in ("", "localhost") or not path.startswith("/") or parts.query or parts.fragment:
        raise UsageError(f"not a file URL of an absolute path: {url!r}", hint="file:///path/to/directory")
    return Path(path)


def _translate_error(error: OSError, key: str) -> GitindexError:
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return RemoteDenied(
            f"may not access {key}: {error.strerror}", hint="check the directory's permissions"
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"no space left on the remote for {key}")
    if error.errno is None:
        return RemoteError(f"{key}: {error}")
    return RemoteUnavailable(f"{key}: {error.strerror}", hint="check that the directory is mounted")


def _raise_walk_error(error: OSError) -> None:
    """Without this `os.walk` skips what it cannot read, and a collection would take it for missing."""
    if not isinstance(error, FileNotFoundError):
        raise error


def _write_temporary(target: Path, content: Content) -> Path:
    """Write and flush the content beside its target, under a name that no key can have."""
    temporary = target.with_name(f"{_TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}")
    try:
        with temporary.open("xb") as file:
            if isinstance(content, Path):
                with content.open("rb") as source:
                    shutil.copyfileobj(source, file, _CHUNK)
            else:
                file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _link(temporary: Path, target: Path) -> None:
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        temporary.replace(target)  # no hard links here; equal keys hold equal bytes, so a race is harmless


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
