"""Where a symlink leads, inside the tree being indexed and nowhere else (EL-3). Pure: asks no file system."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Literal

from gitindex.model.skips import SkipReason

MAX_HOPS = 32

LinkEntry = Literal["file", "dir"] | tuple[Literal["link"], bytes]
Lookup = Callable[[str], LinkEntry | None]


def resolve_link(path_key: str, target: bytes, lookup: Lookup) -> str | SkipReason:
    """The path key of the file that the link at `path_key` stands for, or why there is none.

    `lookup` says what a path key is in the tree; links in the middle of a target are followed too.
    """
    directory = path_key.split("/")[:-1]
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
        entry = lookup("/".join((*directory, name)))
        if entry == "file":
            return SkipReason.SYMLINK_BROKEN if pending else "/".join((*directory, name))
        if entry is None:
            return SkipReason.SYMLINK_BROKEN
        if entry == "dir":
            directory.append(name)
            continue
        hops += 1
        if hops > MAX_HOPS:
            return SkipReason.SYMLINK_LOOP
        steps = _split_target(entry[1])
        pending = steps if isinstance(steps, SkipReason) else pending + steps
    return pending if isinstance(pending, SkipReason) else SkipReason.SYMLINK_DIRECTORY


def _split_target(target: bytes) -> list[str] | SkipReason:
    """Components of a target, last first, spelled as path keys are."""
    if target.startswith(b"/"):
        return SkipReason.OUT_OF_ROOT
    if not target:
        return SkipReason.SYMLINK_BROKEN
    try:
        text = unicodedata.normalize("NFC", target.decode("utf-8"))
    except UnicodeDecodeError:
        return SkipReason.BAD_PATH
    return text.split("/")[::-1]
