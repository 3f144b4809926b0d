"""A directory without git (CS-6): a walk lists the files, their hashes tell what changed.

It also serves a repository whose git fails (C-1), with what can still be read of that repository; the git state of the
snapshot then names the failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from stat import S_IFMT, S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple, Self

from gitindex.files.safeopen import Root
from gitindex.files.walk import DIRECTORY_MODE, NESTED_MODE, WalkEntry, walk
from gitindex.model.manifest import GitFailure, GitState
from gitindex.model.paths import PathKey
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import SkipReason
from gitindex.source.source_file import (
    FILE,
    LINK,
    NESTED,
    UNKNOWN,
    Content,
    DuplicateSpelling,
    SourceFile,
    choose_spellings,
    make_source_file,
)
from gitindex.source.worktree_files import identify, lstat, read_worktree_file

_GIT = b".git"


class WithoutGit(NamedTuple):
    """A repository whose git fails: why, and what could still be read of it."""

    failure: GitFailure
    algorithm: str
    tracked: frozenset[bytes] | None  # the paths that git tracks, None where they cannot be read either
    untracked: bool  # index untracked files, too


class DirectorySource:
    """Everything is working tree here: the overlay of a snapshot lists every file with its stat."""

    def __init__(self, root: Path, *, max_bytes: int, without_git: WithoutGit | None = None) -> None:
        self._root = Root(root)
        self._max_bytes = max_bytes
        self._without_git = without_git
        self.algorithm = without_git.algorithm if without_git else "sha1"
        self.duplicate_spellings: tuple[DuplicateSpelling, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._root.close()

    @property
    def git_state(self) -> GitState:
        if self._without_git is None:
            return GitState(untracked_included=True)
        return GitState(untracked_included=self._without_git.untracked, failure=self._without_git.failure)

    def list_changed(
        self, base_tree: str | None, overlay: Mapping[PathKey, OverlayEntry]
    ) -> dict[PathKey, SourceFile | None] | None:
        return None

    def list_files(self) -> Mapping[PathKey, SourceFile]:
        entries: Iterable[WalkEntry] = walk(self._root)
        if self._without_git is not None:
            entries = self._filter_like_git(list(entries), self._without_git)
        files, self.duplicate_spellings = choose_spellings(_from_walk_entry(entry) for entry in entries)
        return files

    def _filter_like_git(self, listed: list[WalkEntry], without_git: WithoutGit) -> list[WalkEntry]:
        """Without `.git` itself; with files that are tracked although a rule ignores them; without untracked files
        unless the settings include them."""
        inside = [entry for entry in listed if entry.path != _GIT]
        if without_git.tracked is None:
            return inside
        ignored = without_git.tracked - {entry.path for entry in inside}
        unentered = tuple(
            entry.path + b"/" for entry in inside if entry.mode in (NESTED_MODE, DIRECTORY_MODE)
        )
        inside += filter(
            None, (self._stat_unlisted(path) for path in ignored if not path.startswith(unentered))
        )
        if without_git.untracked:
            return inside
        tracked_paths = without_git.tracked | _list_parents(without_git.tracked)
        return [entry for entry in inside if entry.path in tracked_paths]

    def _stat_unlisted(self, path: bytes) -> WalkEntry | None:
        """A file that no walk lists; None when it is gone, or a submodule."""
        stat = lstat(self._root, path)
        if stat is None or S_ISDIR(stat.st_mode):
            return None
        return WalkEntry(path, S_IFMT(stat.st_mode))

    @property
    def dirty_paths(self) -> tuple[PathKey, ...]:
        return ()  # there is no commit to differ from

    def identify(self, item: SourceFile, previous: OverlayEntry | None) -> Content:
        return identify(self._root, item, previous, self._max_bytes, self.algorithm)

    def read(self, items: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, Content]]:
        for item in items:
            yield item, read_worktree_file(self._root, item, self._max_bytes, self.algorithm)


def _list_parents(paths: Iterable[bytes]) -> set[bytes]:
    """Every directory that holds one of them."""
    folders: set[bytes] = set()
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition(b"/")[0]
    return folders


def _from_walk_entry(entry: WalkEntry) -> SourceFile:
    if entry.mode == NESTED_MODE:
        return make_source_file(entry.path, NESTED, UNKNOWN, from_worktree=True)
    mode = LINK if S_ISLNK(entry.mode) else FILE
    source_file = make_source_file(entry.path, mode, UNKNOWN, from_worktree=True)
    if S_ISREG(entry.mode) or S_ISLNK(entry.mode):
        return source_file
    reason = SkipReason.UNREADABLE if entry.mode == DIRECTORY_MODE else SkipReason.NOT_A_FILE
    return source_file._replace(skip=source_file.skip or reason)
