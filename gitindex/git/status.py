"""The working tree against HEAD (CS-3): one `git status` and one `ls-files`, side by side.

A path is listed when its bytes may differ from HEAD's tree. Files that are absent by choice (sparse checkout,
assume-unchanged) and submodules are no differences. Untracked files obey `.gitignore` files alone (CF-3).
`PendingStatus` has git do this while the caller does something else; what it says of tracked files is there first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, Self

from gitindex.git.failure import Damage, damage_error
from gitindex.git.filters import filter_overrides
from gitindex.git.indexfile import has_valid_checksum
from gitindex.git.repo import Repo
from gitindex.git.run import PendingCommands
from gitindex.git.tree_limits import check_file_count

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
_ABSENT = "000000"
_GITLINK = "160000"


UNLISTABLE = "closed"  # a directory that git may not list: whether anything in it differs is not known


class DirtyPath(NamedTuple):
    path: bytes
    kind: str  # "modified" | "deleted" | "untracked" | "nested" | CLOSED


class WorktreeStatus(NamedTuple):
    """One look of git: HEAD, and every path that may differ from it, sorted."""

    commit: str | None  # None: unborn, or broken; `repo.read_head` tells which
    dirty: tuple[DirtyPath, ...]


class PendingStatus:
    """A look at HEAD and the working tree that has begun. `full_status` waits for it; leaving the `with` ends it."""

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
        if any(entry.kind == "deleted" for entry in dirty) and not has_valid_checksum(self._repo):
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
                kinds[path] = "modified"
            else:
                kinds[path] = "nested" if name.endswith(b"/") else "untracked"
        for path in _UNLISTABLE_WARNING.findall(self._pending.warnings(1)) if self._untracked else ():
            kinds.setdefault(
                path, UNLISTABLE
            )  # git says so and goes on; nothing is left out in silence (EL-1)
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


def _parse_tracked(repo: Repo, records: list[bytes]) -> Iterator[DirtyPath]:
    for record in records:
        if record.startswith((b"1 ", b"u ")):
            path, head, work, staged_only = _parse_record(record)
            kind = _classify_change(head, work)
            if (
                kind == "modified"
                and staged_only
                and not os.path.lexists(os.fsencode(repo.root) + b"/" + path)
            ):
                continue  # skip-worktree with a staged change: git reports the index's mode as the file's
            if kind:
                yield DirtyPath(path, kind)


def _parse_record(record: bytes) -> tuple[bytes, str, str, bool]:
    """Path, mode in HEAD, mode in the working tree, whether only the index differs."""
    if record.startswith(b"u "):
        _, _, _, _, ours, _, work, _, _, _, path = record.split(b" ", 10)
        return path, ours.decode(), work.decode(), False
    _, flags, _, head, _, work, _, _, path = record.split(b" ", 8)
    return path, head.decode(), work.decode(), flags.endswith(b".")


def _classify_change(head: str, work: str) -> str | None:
    is_present = work not in (_ABSENT, _GITLINK)
    if is_present:
        return "modified"
    return "deleted" if head not in (_ABSENT, _GITLINK) else None
