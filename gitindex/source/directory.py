"""A directory without git (CS-6): a metadata scan finds candidates, full hashes decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from stat import S_ISLNK, S_ISREG
from typing import Self

from gitindex.files.safeopen import Root
from gitindex.files.walk import DIRECTORY_MODE, NESTED_MODE, Found, walk
from gitindex.model.manifest import GitState
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import Skip
from gitindex.source.candidate import LINK, NESTED, Candidate, Content, by_key, candidate
from gitindex.source.work import identify, read_work


class DirectorySource:
    """Everything is working tree here: the overlay of a snapshot lists every file with its stat."""

    algorithm = "sha1"

    def __init__(self, root: Path, *, max_bytes: int) -> None:
        self._root = Root(root)
        self._max = max_bytes
        self.twins: tuple[tuple[str, str], ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._root.close()

    @property
    def state(self) -> GitState:
        return GitState(untracked_included=True)

    def changed(
        self, base_tree: str | None, overlay: dict[str, OverlayEntry]
    ) -> dict[str, Candidate | None] | None:
        return None

    def all(self) -> Mapping[str, Candidate]:
        found, self.twins = by_key(_candidate(entry) for entry in walk(self._root))
        return found

    @property
    def dirty_paths(self) -> tuple[str, ...]:
        return ()  # there is no commit to differ from

    def identify(self, item: Candidate, known: OverlayEntry | None) -> Content:
        return identify(self._root, item, known, self._max, self.algorithm)

    def read(self, items: Sequence[Candidate]) -> Iterator[tuple[Candidate, Content]]:
        for item in items:
            yield item, read_work(self._root, item, self._max, self.algorithm)


def _candidate(entry: Found) -> Candidate:
    if S_ISREG(entry.mode):
        return candidate(entry.path, 0, "", work=True)
    if S_ISLNK(entry.mode):
        return candidate(entry.path, LINK, "", work=True)
    if entry.mode == NESTED_MODE:
        return candidate(entry.path, NESTED, "", work=True)
    found = candidate(entry.path, 0, "", work=True)
    reason = Skip.UNREADABLE if entry.mode == DIRECTORY_MODE else Skip.NOT_A_FILE
    return found._replace(skip=found.skip or reason)
