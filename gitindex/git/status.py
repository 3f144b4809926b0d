"""The working tree against HEAD (CS-3): one `git status` and one `ls-files`, side by side.

A path is listed when its bytes may differ from HEAD's tree. Files that are absent by choice (sparse checkout,
assume-unchanged) and submodules are no differences. Untracked files obey `.gitignore` files alone (CF-3).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from gitindex.git.repo import Repo
from gitindex.git.run import run, run_pair

_STATUS = (
    "status",
    "--porcelain=v2",
    "-z",
    "--untracked-files=no",
    "--no-renames",
    "--ignore-submodules=dirty",  # "all" would also hide a file that took a submodule's place
    "--no-show-stash",
)
# Not --exclude-standard: that would read info/exclude and the user's global file.
_OTHERS = ("ls-files", "--others", "--exclude-per-directory=.gitignore", "-z")
_ABSENT = "000000"
_GITLINK = "160000"


class Dirty(NamedTuple):
    path: bytes
    kind: str  # "modified" | "deleted" | "untracked" | "nested"


def worktree(repo: Repo, *, untracked: bool = True) -> tuple[Dirty, ...]:
    """Every path that may differ from HEAD, sorted. Nested repositories come without their slash."""
    if repo.bare:
        return ()
    if not untracked:
        return tuple(sorted(_tracked(repo, run(repo.root, *_STATUS))))
    status, others = run_pair(repo.root, _STATUS, _OTHERS)
    found = dict(_tracked(repo, status))
    for name in others.split(b"\0")[:-1]:
        path = name.removesuffix(b"/")
        if path in found:  # dropped from the index, kept on disk: still there, perhaps changed
            found[path] = "modified"
        else:
            found[path] = "nested" if name.endswith(b"/") else "untracked"
    return tuple(Dirty(path, found[path]) for path in sorted(found))


def _tracked(repo: Repo, out: bytes) -> Iterator[Dirty]:
    for record in out.split(b"\0")[:-1]:
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
