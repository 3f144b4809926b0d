"""A directory without git (CS-6): a metadata scan finds candidates, full hashes decide.

It also stands in for a git that fails (C-1): then with what is still known of the repository, and saying so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from stat import S_IFMT, S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple, Self

from gitindex.files.safeopen import Root
from gitindex.files.walk import DIRECTORY_MODE, NESTED_MODE, WalkEntry, walk
from gitindex.model.manifest import GitFailure, GitState
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import SkipReason
from gitindex.source.source_file import LINK, NESTED, Content, SourceFile, choose_spellings, make_source_file
from gitindex.source.worktree_files import identify, lstat, read_worktree_file

_GIT = b".git"


class WithoutGit(NamedTuple):
    """A repository whose git fails: why, and what is known of it all the same."""

    failure: GitFailure
    algorithm: str
    tracked: frozenset[bytes] | None  # the paths that git tracks, None where it cannot tell them either
    untracked: bool  # index others, too


class DirectorySource:
    """Everything is working tree here: the overlay of a snapshot lists every file with its stat."""

    def __init__(self, root: Path, *, max_bytes: int, without_git: WithoutGit | None = None) -> None:
        self._root = Root(root)
        self._max_bytes = max_bytes
        self._without_git = without_git
        self.algorithm = without_git.algorithm if without_git else "sha1"
        self.duplicate_spellings: tuple[tuple[str, str], ...] = ()

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
        self, base_tree: str | None, overlay: dict[str, OverlayEntry]
    ) -> dict[str, SourceFile | None] | None:
        return None

    def list_files(self) -> Mapping[str, SourceFile]:
        entries: Iterable[WalkEntry] = walk(self._root)
        if self._without_git is not None:
            entries = self._filter_like_git(list(entries), self._without_git)
        files, self.duplicate_spellings = choose_spellings(_from_walk_entry(entry) for entry in entries)
        return files

    def _filter_like_git(self, listed: list[WalkEntry], without_git: WithoutGit) -> list[WalkEntry]:
        """Without `.git` itself; with files that are tracked although a rule ignores them; without untracked ones
        where those are not wanted."""
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
        times = stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino
        return WalkEntry(path, S_IFMT(stat.st_mode), *times)

    @property
    def dirty_paths(self) -> tuple[str, ...]:
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
    if S_ISREG(entry.mode):
        return make_source_file(entry.path, 0, "", from_worktree=True)
    if S_ISLNK(entry.mode):
        return make_source_file(entry.path, LINK, "", from_worktree=True)
    if entry.mode == NESTED_MODE:
        return make_source_file(entry.path, NESTED, "", from_worktree=True)
    source_file = make_source_file(entry.path, 0, "", from_worktree=True)
    reason = SkipReason.UNREADABLE if entry.mode == DIRECTORY_MODE else SkipReason.NOT_A_FILE
    return source_file._replace(skip=source_file.skip or reason)
