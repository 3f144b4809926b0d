"""The working tree against HEAD (CS-3): one `git status` and one `ls-files`, side by side.

A path is listed when its bytes may differ from HEAD's tree. Files that are absent by choice (sparse checkout,
assume-unchanged) and submodules are no differences. Untracked files obey `.gitignore` files alone (CF-3).
`Looking` has git do this while the caller does something else; what it says of tracked files is there first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, Self

from gitindex.git.failure import Damage, damaged
from gitindex.git.filters import filters_off
from gitindex.git.indexfile import is_whole
from gitindex.git.repo import Repo
from gitindex.git.run import Pending
from gitindex.git.tree_limits import few_enough

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
_OTHERS = ("ls-files", "--others", "--exclude-per-directory=.gitignore", "-z")
_OID = b"# branch.oid "
_CLOSED = re.compile(rb"^warning: could not open directory '(.+?)/?': (?!No such file)", re.M)
_ABSENT = "000000"
_GITLINK = "160000"


CLOSED = "closed"  # a directory that git may not list: whether anything in it differs is not known


class Dirty(NamedTuple):
    path: bytes
    kind: str  # "modified" | "deleted" | "untracked" | "nested" | CLOSED


class Seen(NamedTuple):
    """One look of git: HEAD, and every path that may differ from it, sorted."""

    commit: str | None  # None: unborn, or broken; `repo.head` tells which
    dirty: tuple[Dirty, ...]


class Looking:
    """A look at HEAD and the working tree that has begun. `seen` waits for it; leaving the `with` ends it."""

    def __init__(self, repo: Repo, *, untracked: bool = True) -> None:
        self._repo = repo
        self._untracked = untracked
        others = [_OTHERS] if untracked else []
        self._pending = Pending(repo, _STATUS, *others, config=filters_off(repo))

    @cached_property
    def tracked(self) -> Seen:
        """HEAD and tracked files alone, while git still walks the directories. Raises GitError."""
        records = self._pending.result(0).split(b"\0")[:-1]
        few_enough(self._repo, len(records))
        dirty = tuple(sorted(_tracked(self._repo, records)))
        if any(entry.kind == "deleted" for entry in dirty) and not is_whole(self._repo):
            raise damaged(Damage.INDEX, "git's index does not match its checksum")
        return Seen(_commit(records), dirty)

    @cached_property
    def seen(self) -> Seen:
        """Nested repositories come without their slash. Raises GitError."""
        found = dict(self.tracked.dirty)
        others = self._pending.result(1).split(b"\0")[:-1] if self._untracked else []
        few_enough(self._repo, len(others))
        for name in others:
            path = name.removesuffix(b"/")
            if path in found:  # dropped from the index, kept on disk: still there, perhaps changed
                found[path] = "modified"
            else:
                found[path] = "nested" if name.endswith(b"/") else "untracked"
        for path in _CLOSED.findall(self._pending.warnings(1)) if self._untracked else ():
            found.setdefault(path, CLOSED)  # git says so and goes on; nothing is left out in silence (EL-1)
        return Seen(self.tracked.commit, tuple(Dirty(path, found[path]) for path in sorted(found)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pending.close()


def worktree(repo: Repo, *, untracked: bool = True) -> tuple[Dirty, ...]:
    """Every path that may differ from HEAD now, sorted."""
    if repo.bare:
        return ()
    with Looking(repo, untracked=untracked) as look:
        return look.seen.dirty


def _commit(records: list[bytes]) -> str | None:
    said = next((record for record in records if record.startswith(_OID)), b"").removeprefix(_OID).decode()
    return said if said and said != "(initial)" else None


def _tracked(repo: Repo, records: list[bytes]) -> Iterator[Dirty]:
    for record in records:
        if record.startswith((b"1 ", b"u ")):
            path, head, work, staged_only = _fields(record)
            kind = _kind(head, work)
            if (
                kind == "modified"
                and staged_only
                and not os.path.lexists(os.fsencode(repo.root) + b"/" + path)
            ):
                continue  # skip-worktree with a staged change: git reports the index's mode as the file's
            if kind:
                yield Dirty(path, kind)


def _fields(record: bytes) -> tuple[bytes, str, str, bool]:
    """Path, mode in HEAD, mode in the working tree, whether only the index differs."""
    if record.startswith(b"u "):
        _, _, _, _, ours, _, work, _, _, _, path = record.split(b" ", 10)
        return path, ours.decode(), work.decode(), False
    _, flags, _, head, _, work, _, _, path = record.split(b" ", 8)
    return path, head.decode(), work.decode(), flags.endswith(b".")


def _kind(head: str, work: str) -> str | None:
    there = work not in (_ABSENT, _GITLINK)
    if there:
        return "modified"
    return "deleted" if head not in (_ABSENT, _GITLINK) else None
