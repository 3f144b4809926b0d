"""What a snapshot records of one path: enough to tell whether it must be indexed again."""

from __future__ import annotations

from typing import NamedTuple, Self

from gitindex.model.file_stat import NO_STAT, Stat
from gitindex.model.paths import PathKey


class FileRecord(NamedTuple):
    """`blob` names the path's own git object; `content` the bytes indexed (they differ for a symlink)."""

    path: PathKey
    blob: str
    content: str
    link: bool
    size: int
    skip: str  # "" when indexed, else a `model.skips.SkipReason`
    language: str = ""
    lines: int = 0
    chunks: int = 0
    symbols: int = 0
    edges: int = 0
    entities: int = 0
    parse_error: bool = False
    truncated: bool = False
    file_hash: str = ""
    interface_hash: str = ""
    text_only: str = ""  # the limit that kept its syntax out (`extract.file_limits`), "" for none


class OverlayEntry(NamedTuple):
    """A path indexed from the working tree instead of the commit, and the stat that vouches for its bytes."""

    path: PathKey
    blob: str  # "" for a path deleted in the working tree
    stat: Stat

    @classmethod
    def without_content(cls, path: PathKey) -> Self:
        """Deleted in the working tree, or there and not indexed."""
        return cls(path, "", NO_STAT)
