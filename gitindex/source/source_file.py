"""A tree to index (`SourceTree`), one path of it (`SourceFile`), and what reading that path gives (`Content`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, Self

from gitindex.errors import UnsafePath
from gitindex.model.manifest import GitState
from gitindex.model.paths import PathKey, escaped_key, path_key
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import SkipReason

FILE = 0o100644
LINK = 0o120000
SUBMODULE = 0o160000
NESTED = 0o40000  # another repository's directory
UNKNOWN = ""  # blob id not known before the bytes are read


class SourceFile(NamedTuple):
    """A path before its content was read. `raw` opens the file, `key` names it in the index."""

    key: PathKey
    raw: bytes  # the path as git or the file system spells it
    mode: int
    blob: str
    from_worktree: bool  # content comes from the working tree, not from an object
    skip: SkipReason | None = None  # known before any policy: the path itself cannot be indexed
    inner_repo: str = ""  # key of the inner repository whose object it is (EL-4)


class Content(NamedTuple):
    """What reading a source file gave: bytes, or the reason why there are none."""

    data: bytes = b""
    blob: str = UNKNOWN
    size: int = 0
    skip: SkipReason | None = None
    vanished: bool = False
    error: str = ""  # unreadable: blocks a strict publish
    overlay_entry: OverlayEntry | None = None  # for a snapshot to record; None when it came from an object


class DuplicateSpelling(NamedTuple):
    """Two paths of one tree with the same key: `other` is the one that is not indexed (EL-2)."""

    key: PathKey
    other: str


def make_source_file(raw: bytes, mode: int, blob: str, *, from_worktree: bool) -> SourceFile:
    """Give a raw path its key. An index ignores execute bits; a path without a key is a skip, never dropped."""
    kind = mode if mode in (LINK, SUBMODULE, NESTED) else FILE
    try:
        key = path_key(raw)
    except UnsafePath:
        return SourceFile(escaped_key(raw), raw, kind, blob, from_worktree, skip=SkipReason.BAD_PATH)
    skip = SkipReason.NESTED_REPOSITORY if kind == NESTED else None
    return SourceFile(key, raw, kind, blob, from_worktree, skip=skip)


def choose_spellings(
    items: Iterable[SourceFile],
) -> tuple[dict[PathKey, SourceFile], tuple[DuplicateSpelling, ...]]:
    """Source files by key. Of several spellings of one key the canonical one counts; the others are duplicates."""
    files: dict[PathKey, SourceFile] = {}
    duplicates: list[DuplicateSpelling] = []
    for item in sorted(items, key=lambda item: (item.key, item.raw != item.key.encode(), item.raw)):
        if item.key in files:
            duplicates.append(DuplicateSpelling(item.key, item.raw.decode("utf-8", "backslashreplace")))
        else:
            files[item.key] = item
    return files, tuple(duplicates)


class SourceTree(Protocol):
    """A tree to index: a commit, a working tree over a commit, or a directory without git."""

    @property
    def git_state(self) -> GitState: ...

    @property
    def dirty_paths(self) -> tuple[PathKey, ...]:
        """Paths that differ from the commit in the working tree."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    algorithm: str
    duplicate_spellings: tuple[DuplicateSpelling, ...]  # known after `list_files`

    def list_changed(
        self, base_tree: str | None, overlay: Mapping[PathKey, OverlayEntry]
    ) -> dict[PathKey, SourceFile | None] | None:
        """Paths that may differ from a snapshot of `base_tree` and `overlay`; None: compare everything."""

    def list_files(self) -> Mapping[PathKey, SourceFile]:
        """The whole tree by key."""

    def identify(self, item: SourceFile, previous: OverlayEntry | None) -> Content:
        """The blob id of a working-tree file, from `previous` when the file still has the stat it recorded."""

    def read(self, items: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, Content]]:
        """The content of each, in the order given."""
