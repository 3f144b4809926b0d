"""Reads loose objects (files of their own) instead of libgit2, which never returns from a truncated one.

Contents are not verified here; the caller checks the hash.
"""

from __future__ import annotations

import errno
import os
import zlib
from pathlib import Path
from typing import NamedTuple

from gitindex.errors import GitDamaged, GitError
from gitindex.git.failure import Damage, damage_error

_HEADER = 64  # "commit", a blank, a size of any length that fits into memory, NUL
_PIECE = 1 << 16
_NO_DAMAGE = (errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_MAX_ALTERNATES = 5  # as git: how many object folders one after another are followed


class LooseObject(NamedTuple):
    kind: bytes
    size: int
    data: bytes | None  # None when larger than asked for


class LooseObjects:
    def __init__(self, common_dir: Path) -> None:
        self._folders = _list_object_folders(os.fsencode(common_dir / "objects"))

    def read(self, object_id: str, max_bytes: int) -> LooseObject | None:
        """None when no file holds the object: it is in a pack, or nowhere. Raises GitDamaged, GitError."""
        name = os.fsencode(f"{object_id[:2]}/{object_id[2:]}")
        for folder in self._folders:
            try:
                descriptor = os.open(b"%s/%s" % (folder, name), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise _open_error(object_id, error) from error
            try:
                return _inflate(descriptor, max_bytes)
            except (zlib.error, ValueError, OSError) as error:
                raise _damaged_object_error(object_id) from error
            finally:
                os.close(descriptor)
        return None


def _inflate(descriptor: int, max_bytes: int) -> LooseObject:
    """Raises ValueError, zlib.error."""
    stream = zlib.decompressobj()
    head = stream.decompress(os.read(descriptor, _PIECE), _HEADER)
    header, separator, begin = head.partition(b"\0")
    kind, _, digits = header.partition(b" ")
    size = int(digits) if separator else -1
    if size < 0:
        raise ValueError("no header")
    if size > max_bytes:
        return LooseObject(kind, size, None)
    parts, length = [begin], len(begin)
    while length <= size and not stream.eof:
        source = stream.unconsumed_tail or os.read(descriptor, _PIECE)
        if not source:
            break
        part = stream.decompress(source, size - length + 1)
        parts.append(part)
        length += len(part)
    if length != size:
        raise ValueError("cut short, or too long")
    return LooseObject(kind, size, b"".join(parts))


def _list_object_folders(objects: bytes) -> list[bytes]:
    """The object folder and those that it borrows from."""
    folders = [objects]
    for level in range(_MAX_ALTERNATES):
        if level >= len(folders):
            break
        try:
            with open(folders[level] + b"/info/alternates", "rb") as file:
                lines = file.read(_PIECE).split(b"\n")
        except OSError:
            continue
        for line in lines:
            alternate = os.path.join(folders[level], line)
            if line and not line.startswith((b"#", b'"')) and alternate not in folders:
                folders.append(alternate)
    return folders


def _open_error(object_id: str, error: OSError) -> GitError:
    """No damage where permissions or resources kept the file closed: its content is not known then."""
    if error.errno in _NO_DAMAGE:
        return GitError(f"git object {object_id} cannot be opened: {error.strerror}", object_id=object_id)
    return _damaged_object_error(object_id)


def _damaged_object_error(object_id: str) -> GitDamaged:
    return damage_error(Damage.OBJECT, f"git object {object_id} is damaged", object_id=object_id)
