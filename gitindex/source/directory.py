"""A directory without git (CS-6): a metadata scan finds candidates, full hashes decide.

It also stands in for a git that fails (C-1): then with what is still known of the repository, and saying so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from stat import S_IFMT, S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple, Self

from gitindex.files.safeopen import Root
from gitindex.files.walk import DIRECTORY_MODE, NESTED_MODE, Found, walk
from gitindex.model.manifest import GitFailure, GitState
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import SkipReason
from gitindex.source.source_file import LINK, NESTED, Candidate, Content, by_key, candidate
from gitindex.source.worktree_files import identify, lstat, read_work

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
        self._max = max_bytes
        self._without_git = without_git
        self.algorithm = without_git.algorithm if without_git else "sha1"
        self.twins: tuple[tuple[str, str], ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._root.close()

    @property
    def state(self) -> GitState:
        if self._without_git is None:
            return GitState(untracked_included=True)
        return GitState(untracked_included=self._without_git.untracked, failure=self._without_git.failure)

    def changed(
        self, base_tree: str | None, overlay: dict[str, OverlayEntry]
    ) -> dict[str, Candidate | None] | None:
        return None

    def all(self) -> Mapping[str, Candidate]:
        entries: Iterable[Found] = walk(self._root)
        if self._without_git is not None:
            entries = self._as_git_would(list(entries), self._without_git)
        found, self.twins = by_key(_candidate(entry) for entry in entries)
        return found

    def _as_git_would(self, listed: list[Found], known: WithoutGit) -> list[Found]:
        """Without `.git` itself; with files that are tracked although a rule ignores them; without untracked ones
        where those are not wanted."""
        inside = [entry for entry in listed if entry.path != _GIT]
        if known.tracked is None:
            return inside
        ignored = known.tracked - {entry.path for entry in inside}
        closed = tuple(entry.path + b"/" for entry in inside if entry.mode in (NESTED_MODE, DIRECTORY_MODE))
        inside += filter(None, (self._look(path) for path in ignored if not path.startswith(closed)))
        if known.untracked:
            return inside
        wanted = known.tracked | _parents(known.tracked)
        return [entry for entry in inside if entry.path in wanted]

    def _look(self, path: bytes) -> Found | None:
        """A file that no walk lists; None when it is gone, or a submodule."""
        stat = lstat(self._root, path)
        if stat is None or S_ISDIR(stat.st_mode):
            return None
        times = stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino
        return Found(path, S_IFMT(stat.st_mode), *times)

    @property
    def dirty_paths(self) -> tuple[str, ...]:
        return ()  # there is no commit to differ from

    def identify(self, item: Candidate, known: OverlayEntry | None) -> Content:
        return identify(self._root, item, known, self._max, self.algorithm)

    def read(self, items: Sequence[Candidate]) -> Iterator[tuple[Candidate, Content]]:
        for item in items:
            yield item, read_work(self._root, item, self._max, self.algorithm)


def _parents(paths: Iterable[bytes]) -> set[bytes]:
    """Every directory that holds one of them."""
    found: set[bytes] = set()
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition(b"/")[0]
    return found


def _candidate(entry: Found) -> Candidate:
    if S_ISREG(entry.mode):
        return candidate(entry.path, 0, "", work=True)
    if S_ISLNK(entry.mode):
        return candidate(entry.path, LINK, "", work=True)
    if entry.mode == NESTED_MODE:
        return candidate(entry.path, NESTED, "", work=True)
    found = candidate(entry.path, 0, "", work=True)
    reason = SkipReason.UNREADABLE if entry.mode == DIRECTORY_MODE else SkipReason.NOT_A_FILE
    return found._replace(skip=found.skip or reason)
