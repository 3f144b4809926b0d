"""Resolves symlinks inside the tree to index, and nowhere else (EL-3). Pure: asks no file system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from gitindex.errors import UnsafePath
from gitindex.model.paths import PathKey, join_key, split_target
from gitindex.model.skips import SkipReason

MAX_HOPS = 32

LinkEntry = Literal["file", "dir"] | tuple[Literal["link"], bytes]
Lookup = Callable[[PathKey], LinkEntry | None]


def resolve_link(link: PathKey, target: bytes, lookup: Lookup) -> PathKey | SkipReason:
    """The key of the file that `link` leads to, or why there is none.

    `lookup` says what a key is in the tree; links in the middle of a target are followed too.
    """
    directory = link.split("/")[:-1]
    pending = _split_target(target)
    hops = 1
    while not isinstance(pending, SkipReason) and pending:
        name = pending.pop()
        if name in ("", "."):
            continue
        if name == "..":
            if not directory:
                return SkipReason.OUT_OF_ROOT
            directory.pop()
            continue
        key = join_key((*directory, name))
        entry = lookup(key)
        if entry == "file":
            return SkipReason.SYMLINK_BROKEN if pending else key
        if entry is None:
            return SkipReason.SYMLINK_BROKEN
        if entry == "dir":
            directory.append(name)
            continue
        hops += 1
        if hops > MAX_HOPS:
            return SkipReason.SYMLINK_LOOP
        _, next_target = entry
        steps = _split_target(next_target)
        pending = steps if isinstance(steps, SkipReason) else pending + steps
    return pending if isinstance(pending, SkipReason) else SkipReason.SYMLINK_DIRECTORY


def _split_target(target: bytes) -> list[str] | SkipReason:
    """The components of a target, last first: a stack of what is left to follow."""
    if target.startswith(b"/"):
        return SkipReason.OUT_OF_ROOT
    if not target:
        return SkipReason.SYMLINK_BROKEN
    try:
        return split_target(target)[::-1]
    except UnsafePath:
        return SkipReason.BAD_PATH
