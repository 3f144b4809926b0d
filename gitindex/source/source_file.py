"""One path of the tree to be indexed, before anybody looked at its content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, Self

from gitindex.errors import UnsafePath
from gitindex.model.manifest import GitState
from gitindex.model.paths import path_key
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import SkipReason

FILE = 0o100644
LINK = 0o120000
SUBMODULE = 0o160000
NESTED = 0o40000  # another repository's directory
UNKNOWN = ""  # blob id not known before the bytes are read


class SourceFile(NamedTuple):
    key: str
    raw: bytes  # the path as git or the file system spells it
    mode: int
    blob: str
    from_worktree: bool  # content comes from the working tree, not from an object
    skip: SkipReason | None = None  # known before any policy: the path itself cannot be indexed
    inner_repo: str = ""  # the inner repository whose object it is (EL-4)


class Content(NamedTuple):
    """What reading a candidate gave: bytes, or the reason there are none."""

    data: bytes = b""
    blob: str = UNKNOWN
    size: int = 0
    skip: SkipReason | None = None
    vanished: bool = False
    error: str = ""  # unreadable: blocks a strict publish
    stat: OverlayEntry | None = None


def make_source_file(raw: bytes, mode: int, blob: str, *, from_worktree: bool) -> SourceFile:
    """Name a raw path. Execute bits do not matter to an index; a path without a key is a skip, never dropped."""
    kind = mode if mode in (LINK, SUBMODULE, NESTED) else FILE
    try:
        key = path_key(raw)
    except UnsafePath:
        return SourceFile(
            raw.decode("utf-8", "backslashreplace"), raw, kind, blob, from_worktree, SkipReason.BAD_PATH
        )
    return SourceFile(
        key, raw, kind, blob, from_worktree, SkipReason.NESTED_REPOSITORY if kind == NESTED else None
    )


def choose_spellings(
    items: Iterable[SourceFile],
) -> tuple[dict[str, SourceFile], tuple[tuple[str, str], ...]]:
    """Candidates by key. Of several spellings of one key the canonical one counts; the others are twins."""
    files: dict[str, SourceFile] = {}
    duplicates: list[tuple[str, str]] = []
    for item in sorted(items, key=lambda item: (item.key, item.raw != item.key.encode(), item.raw)):
        if item.key in files:
            duplicates.append((item.key, item.raw.decode("utf-8", "backslashreplace")))
        else:
            files[item.key] = item
    return files, tuple(duplicates)


class SourceTree(Protocol):
    """A tree to index: a commit, a working tree over a commit, or a directory without git."""

    @property
    def git_state(self) -> GitState: ...

    @property
    def dirty_paths(self) -> tuple[str, ...]:
        """Paths that differ from the commit in the working tree."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    algorithm: str
    duplicate_spellings: tuple[tuple[str, str], ...]  # (key, other spelling), known after `list_files`

    def list_changed(
        self, base_tree: str | None, overlay: dict[str, OverlayEntry]
    ) -> dict[str, SourceFile | None] | None:
        """Paths that may differ from a snapshot of `base_tree` and `overlay`; None: compare everything."""

    def list_files(self) -> Mapping[str, SourceFile]:
        """The whole tree by key."""

    def identify(self, item: SourceFile, previous: OverlayEntry | None) -> Content:
        """The blob id of a working-tree file, from `previous` when its stat still vouches for it."""

    def read(self, items: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, Content]]:
        """The content of each, in the order given."""
