"""A directory without git, listed as git would list it (CS-6): path order, `.gitignore` files, no links.

Nothing is dropped in silence: nested repositories, special files and directories that cannot be read are
entries too, told apart by their mode.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from gitindex.files.ignore import Ignore, IgnoreRules
from gitindex.files.safeopen import ReadError, Root
from gitindex.files.stableread import stable_read
from gitindex.model.settings import MAX_FILE_BYTES

NESTED_MODE = 0o160000  # a repository of its own: not entered
DIRECTORY_MODE = 0o040000  # a directory that could not be read
_GIT = b".git"


class WalkEntry(NamedTuple):
    path: bytes
    mode: int  # 100644, 100755, 120000, NESTED_MODE, DIRECTORY_MODE, or the type bits of a special file


class _PendingDirectory(NamedTuple):
    path: bytes
    ignore: Ignore


def walk(root: Root, ignore: Ignore | None = None) -> Iterator[WalkEntry]:
    """Every entry that no rule ignores, in raw path order; `ignore` adds to what `.gitignore` files say."""
    pending: list[WalkEntry | _PendingDirectory] = [_PendingDirectory(b"", Ignore())]
    while pending:
        item = pending.pop()
        if isinstance(item, WalkEntry):
            yield item
        else:
            pending.extend(reversed(_expand(root, item, ignore or Ignore())))


def _expand(root: Root, directory: _PendingDirectory, extra: Ignore) -> list[WalkEntry | _PendingDirectory]:
    """The directory's children: files as entries, directories to expand later; itself if it cannot be listed."""
    try:
        listing = _list_directory(root, directory.path)
    except ReadError:
        return [WalkEntry(directory.path, DIRECTORY_MODE)]
    names = {name for name, _ in listing}
    if directory.path and _GIT in names:
        return [WalkEntry(directory.path, NESTED_MODE)]
    rules = (
        directory.ignore.with_rules(_read_rules(root, directory.path))
        if b".gitignore" in names
        else directory.ignore
    )
    children: list[tuple[bytes, WalkEntry | _PendingDirectory]] = []
    for name, mode in listing:
        path = directory.path + b"/" + name if directory.path else name
        is_dir = stat.S_ISDIR(mode)
        # The rules were applied to its parents before they were expanded; only the path itself is left.
        if rules.decide(path, is_dir=is_dir) or extra.is_ignored(path, is_dir):
            continue
        child = _make_child(path, mode, rules)
        # Git orders a directory as if its name ended in a slash.
        children.append((name + b"/" if isinstance(child, _PendingDirectory) else name, child))
    return [child for _, child in sorted(children, key=lambda pair: pair[0])]


def _make_child(path: bytes, mode: int, rules: Ignore) -> WalkEntry | _PendingDirectory:
    if path == _GIT:
        return WalkEntry(path, NESTED_MODE)
    if stat.S_ISDIR(mode):
        return _PendingDirectory(path, rules)
    return WalkEntry(path, _git_mode(mode))


def _list_directory(root: Root, path: bytes) -> list[tuple[bytes, int]]:
    """Name and mode of every entry."""
    fd = root.open_directory(path)
    try:
        with os.scandir(fd) as entries:
            names = [os.fsencode(entry.name) for entry in entries]
        return [(name, mode) for name in names if (mode := _read_mode(fd, name)) is not None]
    finally:
        os.close(fd)


def _read_mode(directory: int, name: bytes) -> int | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None  # deleted since the directory was listed


def _read_rules(root: Root, path: bytes) -> IgnoreRules:
    """The directory's `.gitignore`; a link or an unreadable one counts as none, as in git. Raises ConfigError."""
    name = path + b"/.gitignore" if path else b".gitignore"
    try:
        read = stable_read(root, name, MAX_FILE_BYTES)
    except ReadError:
        return IgnoreRules.parse(path, b"")
    display_name = name.decode("utf-8", "backslashreplace")
    return IgnoreRules.parse(path, read.data if stat.S_ISREG(read.mode) else b"", display_name)


def _git_mode(mode: int) -> int:
    if stat.S_ISREG(mode):
        return 0o100755 if mode & stat.S_IXUSR else 0o100644
    return stat.S_IFMT(mode)
