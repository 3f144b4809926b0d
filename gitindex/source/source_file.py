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


class Candidate(NamedTuple):
    key: str
    raw: bytes  # the path as git or the file system spells it
    mode: int
    blob: str
    work: bool  # content comes from the working tree, not from an object
    skip: SkipReason | None = None  # known before any policy: the path itself cannot be indexed
    space: str = ""  # the inner repository whose object it is (EL-4)


class Content(NamedTuple):
    """What reading a candidate gave: bytes, or the reason there are none."""

    data: bytes = b""
    blob: str = UNKNOWN
    size: int = 0
    skip: SkipReason | None = None
    vanished: bool = False
    error: str = ""  # unreadable: blocks a strict publish
    stat: OverlayEntry | None = None


def candidate(raw: bytes, mode: int, blob: str, *, work: bool) -> Candidate:
    """Name a raw path. Execute bits do not matter to an index; a path without a key is a skip, never dropped."""
    kind = mode if mode in (LINK, SUBMODULE, NESTED) else FILE
    try:
        key = path_key(raw)
    except UnsafePath:
        return Candidate(raw.decode("utf-8", "backslashreplace"), raw, kind, blob, work, SkipReason.BAD_PATH)
    return Candidate(key, raw, kind, blob, work, SkipReason.NESTED_REPOSITORY if kind == NESTED else None)


def by_key(items: Iterable[Candidate]) -> tuple[dict[str, Candidate], tuple[tuple[str, str], ...]]:
    """Candidates by key. Of several spellings of one key the canonical one counts; the others are twins."""
    found: dict[str, Candidate] = {}
    twins: list[tuple[str, str]] = []
    for item in sorted(items, key=lambda item: (item.key, item.raw != item.key.encode(), item.raw)):
        if item.key in found:
            twins.append((item.key, item.raw.decode("utf-8", "backslashreplace")))
        else:
            found[item.key] = item
    return found, tuple(twins)


class Source(Protocol):
    """A tree to index: a commit, a working tree over a commit, or a directory without git."""

    @property
    def state(self) -> GitState: ...

    @property
    def dirty_paths(self) -> tuple[str, ...]:
        """Paths that differ from the commit in the working tree."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    algorithm: str
    twins: tuple[tuple[str, str], ...]  # (key, other spelling), known after `all`

    def changed(
        self, base_tree: str | None, overlay: dict[str, OverlayEntry]
    ) -> dict[str, Candidate | None] | None:
        """Paths that may differ from a snapshot of `base_tree` and `overlay`; None: compare everything."""

    def all(self) -> Mapping[str, Candidate]:
        """The whole tree by key."""

    def identify(self, item: Candidate, known: OverlayEntry | None) -> Content:
        """The blob id of a working-tree file, from `known` when its stat still vouches for it."""

    def read(self, items: Sequence[Candidate]) -> Iterator[tuple[Candidate, Content]]:
        """The content of each, in the order given."""
