"""The working tree against HEAD (CS-3): one `git status` and one `ls-files`, side by side.

A path is listed when its bytes may differ from HEAD's tree. Files that are absent by choice (sparse checkout,
assume-unchanged) and submodules are no differences. Untracked files obey `.gitignore` files alone (CF-3).
`PendingStatus` runs git in the background; the status of tracked files is ready before that of untracked ones.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, Self

from gitindex.git.failure import Damage, damage_error
from gitindex.git.filters import filter_overrides
from gitindex.git.indexfile import has_valid_checksum
from gitindex.git.repo import Repo
from gitindex.git.run import PendingCommands
from gitindex.git.tree_limits import check_file_count
from gitindex.model.paths import PathKey, recorded_key

_STATUS = (
    "status",
    "--porcelain=v2",
    "-z",
    "--untracked-files=no",
    "--no-renames",
    "--ignore-submodules=dirty",  # "all" would also hide a file that took a submodule's place
    "--no-show-stash",
    "--branch",
    "--no-ahead-behind",
)
# Not --exclude-standard: that would read info/exclude and the user's global file.
_UNTRACKED = ("ls-files", "--others", "--exclude-per-directory=.gitignore", "-z")
_OID = b"# branch.oid "
_UNLISTABLE_WARNING = re.compile(rb"^warning: could not open directory '(.+?)/?': (?!No such file)", re.M)
_NO_FILE = (b"000000", b"160000")  # modes of what is absent, and of a submodule


class DirtyKind(StrEnum):
    MODIFIED = "modified"
    DELETED = "deleted"
    UNTRACKED = "untracked"
    NESTED = "nested"  # a repository of its own
    UNLISTABLE = "closed"  # a directory that git may not list: whether anything in it differs is not known


class DirtyPath(NamedTuple):
    path: bytes  # as the file system spells it
    kind: DirtyKind

    @property
    def key(self) -> PathKey:
        return recorded_key(self.path)


class WorktreeStatus(NamedTuple):
    """HEAD, and every path that may differ from it, sorted."""

    commit: str | None  # None: unborn, or broken; `repo.read_head` tells which
    dirty: tuple[DirtyPath, ...]


class PendingStatus:
    """`git status` running in the background; `full_status` waits for it, leaving the `with` kills it."""

    def __init__(self, repo: Repo, *, untracked: bool = True) -> None:
        self._repo = repo
        self._untracked = untracked
        extra_commands = [_UNTRACKED] if untracked else []
        self._pending = PendingCommands(repo, _STATUS, *extra_commands, config=filter_overrides(repo))

    @cached_property
    def tracked_status(self) -> WorktreeStatus:
        """HEAD and tracked files alone, while git still walks the directories. Raises GitError."""
        records = self._pending.result(0).split(b"\0")[:-1]
        check_file_count(self._repo, len(records))
        dirty = tuple(sorted(_parse_tracked(self._repo, records)))
        if any(entry.kind is DirtyKind.DELETED for entry in dirty) and not has_valid_checksum(self._repo):
            raise damage_error(Damage.INDEX, "git's index does not match its checksum")
        return WorktreeStatus(_parse_commit(records), dirty)

    @cached_property
    def full_status(self) -> WorktreeStatus:
        """Nested repositories come without their slash. Raises GitError."""
        kinds = dict(self.tracked_status.dirty)
        names = self._pending.result(1).split(b"\0")[:-1] if self._untracked else []
        check_file_count(self._repo, len(names))
        for name in names:
            path = name.removesuffix(b"/")
            if path in kinds:  # dropped from the index, kept on disk: still there, perhaps changed
                kinds[path] = DirtyKind.MODIFIED
            else:
                kinds[path] = DirtyKind.NESTED if name.endswith(b"/") else DirtyKind.UNTRACKED
        for path in _UNLISTABLE_WARNING.findall(self._pending.warnings(1)) if self._untracked else ():
            kinds.setdefault(
                path, DirtyKind.UNLISTABLE
            )  # git only warns; nothing is left out in silence (EL-1)
        return WorktreeStatus(
            self.tracked_status.commit, tuple(DirtyPath(path, kinds[path]) for path in sorted(kinds))
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pending.close()


def list_dirty(repo: Repo, *, untracked: bool = True) -> tuple[DirtyPath, ...]:
    """Every path that may differ from HEAD now, sorted."""
    if repo.bare:
        return ()
    with PendingStatus(repo, untracked=untracked) as pending_status:
        return pending_status.full_status.dirty


def _parse_commit(records: list[bytes]) -> str | None:
    commit = next((record for record in records if record.startswith(_OID)), b"").removeprefix(_OID).decode()
    return commit if commit and commit != "(initial)" else None


class _StatusRecord(NamedTuple):
    """One line of `git status --porcelain=v2`."""

    path: bytes
    head_mode: bytes
    worktree_mode: bytes
    staged_only: bool  # the index differs from HEAD, the working tree not from the index


def _parse_tracked(repo: Repo, records: list[bytes]) -> Iterator[DirtyPath]:
    for line in records:
        if not line.startswith((b"1 ", b"u ")):
            continue
        record = _parse_record(line)
        kind = _classify_change(record)
        if kind is DirtyKind.MODIFIED and record.staged_only and not _exists(repo, record.path):
            continue  # skip-worktree with a staged change: git reports the index's mode as the file's
        if kind:
            yield DirtyPath(record.path, kind)


def _parse_record(line: bytes) -> _StatusRecord:
    if line.startswith(b"u "):
        _, _, _, _, ours, _, work, _, _, _, path = line.split(b" ", 10)
        return _StatusRecord(path, ours, work, staged_only=False)
    _, flags, _, head, _, work, _, _, path = line.split(b" ", 8)
    return _StatusRecord(path, head, work, staged_only=flags.endswith(b"."))


def _classify_change(record: _StatusRecord) -> DirtyKind | None:
    if record.worktree_mode not in _NO_FILE:
        return DirtyKind.MODIFIED
    return DirtyKind.DELETED if record.head_mode not in _NO_FILE else None


def _exists(repo: Repo, path: bytes) -> bool:
    return os.path.lexists(os.fsencode(repo.root) + b"/" + path)
