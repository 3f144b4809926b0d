"""Where a repository is, what HEAD is, whether git is in the middle of something.

`Repo.root` is the canonical root (ST-1): realpath of the work tree's top level; of a bare repository, itself.
"""

from __future__ import annotations

import os
import shlex
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from gitindex.errors import GitDamaged, GitError, GitMissing
from gitindex.git import gitentry, localconfig
from gitindex.git.failure import Damage, damaged
from gitindex.git.run import Pending, run
from gitindex.model.frozen import frozen
from gitindex.userconfig import MAX_FILES, UserConfig

# `rev-parse` echoes options it does not know: a separator that survives newlines in directory names.
_MARK = "--gitindex-separator"
_WHERE = (
    "rev-parse",
    "--is-bare-repository",
    "--is-shallow-repository",
    "--show-object-format",
    "--absolute-git-dir",
    _MARK,
    "--git-common-dir",
    _MARK,
    "--show-toplevel",
)
_UNFINISHED = (
    "rebase-merge",
    "rebase-apply",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "sequencer",
    "index.lock",
)


@frozen
class Repo:
    root: Path
    git_dir: Path  # of this worktree
    common_dir: Path  # shared by all worktrees
    algorithm: str  # "sha1" | "sha256"
    bare: bool
    shallow: bool
    lazy_fetch: bool = False  # the user lets git fetch missing objects (CF-5)
    max_files: int = MAX_FILES  # of one tree; the user may raise it
    fault: GitError | None = None  # found without git, which failed so: it is not asked about this one (C-1)


@frozen
class Head:
    """One commit, read once: `tree` always belongs to `commit`. Both None on an unborn branch."""

    commit: str | None
    tree: str | None
    branch: str | None


def tracked(repo: Repo) -> int:
    """About how many files git tracks, by the header of its index: a hint that costs one short read."""
    try:
        with open(repo.git_dir / "index", "rb") as index:
            head = index.read(12)
    except OSError:
        return 0
    return int.from_bytes(head[8:], "big") if head.startswith(b"DIRC") else 0


def asking(path: Path) -> AbstractContextManager[Pending | None]:
    """The question `discover` asks, begun: for a caller that has something to do meanwhile. None without git."""
    try:
        return Pending(_start(path), _WHERE)
    except GitMissing:
        return nullcontext()


def discover(path: Path, asked: Pending | None = None, user: UserConfig | None = None) -> Repo | None:
    """The repository `path` lies in, or None; `asked` is the question about it that has begun.

    A repository is where a `.git` entry says so. A directory that merely looks like one may be a file tree that some
    repository tracks: it counts only when `path` is that very directory, it is bare, and nothing around tracks it.
    One that git cannot tell of (C-1) is found by its `.git` entry and has a `fault`.

    Raises GitError when git refuses it (safe.directory), or `path` lies inside a bare repository.
    """
    start = _start(path)
    try:
        found = _ask(start, asked) or _find_broken(start.resolve())
    except _Unnamed:
        found = _around(start.resolve())
    except (GitMissing, GitDamaged) as error:
        found = _find_by_hand(start.resolve(), error)
    if found is None or user is None:
        return found
    return replace(found, lazy_fetch=user.lazy_fetch, max_files=user.max_files)


def head(repo: Repo) -> Head:
    """HEAD as it is now; `commit` is None only when the branch has no commit yet."""
    found = _commit(repo, "HEAD")
    if found is None:
        _require_unborn(repo)
    commit, tree = found or (None, None)
    return Head(commit, tree, _branch(repo))


def resolve(repo: Repo, rev: str) -> Head:
    """The commit and tree a revision names. Raises GitError for a name git does not know."""
    if rev and "\n" not in rev:
        found = _commit(repo, rev)
        if found is not None:
            return Head(*found, None)
    raise GitError(f"unknown revision: {rev!r}", hint="git log --oneline --all")


def busy(repo: Repo) -> str | None:
    """The first sign of an unfinished git operation, by stat only."""
    return next((name for name in _UNFINISHED if os.path.lexists(repo.git_dir / name)), None)


def root_commits(repo: Repo) -> tuple[str, ...]:
    """Parentless commits of HEAD's history, sorted; empty when unborn, or shallow (they are not there)."""
    commit = None if repo.shallow else head(repo).commit
    return _roots(repo, commit) if commit else ()


@lru_cache(maxsize=8)
def _roots(repo: Repo, commit: str) -> tuple[str, ...]:
    """What a commit descends from never changes, and a long history takes a while to walk."""
    out = run(repo, "rev-list", "--max-parents=0", "--end-of-options", commit)
    return tuple(sorted(out.decode().split()))


def ancestors(repo: Repo, commit: str, limit: int) -> list[str]:
    """`commit` and what it descends from, children before parents, at most `limit`."""
    out = run(repo, "rev-list", "--topo-order", f"--max-count={limit}", "--end-of-options", commit)
    return out.decode().split()


def distance(repo: Repo, base: str, target: str) -> int | None:
    """How many commits `target` is ahead of its ancestor `base`; None when it is none, or unknown here."""
    try:
        out = run(repo, "rev-list", "--count", "--left-right", "--end-of-options", f"{base}...{target}")
    except GitError:
        known = [is_known(repo, commit) for commit in (base, target)]
        if all(known):
            raise
        return None
    behind, ahead = out.split()[:2]
    return int(ahead) if int(behind) == 0 else None


def _start(path: Path) -> Path:
    return path if path.is_dir() else path.parent


class _Unnamed(Exception):
    """What git found, or refused, is a repository that no `.git` entry names."""


def _ask(start: Path, asked: Pending | None = None) -> Repo | None:
    """The repository whose `.git` entry is nearest above `start`. Raises _Unnamed, GitError."""
    try:
        out = asked.result(0) if asked else run(start, *_WHERE)
    except GitError as error:  # without a work tree everything but the last answer is there
        said = error.detail.get("stdout")
        if not isinstance(said, bytes) or not said:
            if _outside(error):
                return None
            if "safe.bareRepository" in str(error.detail.get("stderr", "")):
                raise _Unnamed from error
            raise _refusal(error, start) from error
        out = said
    real = start.resolve()
    found = _parse(real, os.fsdecode(out))
    # Git before 2.38 does not know safe.bareRepository and finds what it should not.
    if not gitentry.names(real, found.git_dir):
        raise _Unnamed
    if not found.bare and found.root == found.git_dir and real.is_relative_to(found.git_dir):
        return _ask(found.git_dir.parent)  # inside .git itself: the work tree is next to it
    return found


def _find_broken(start: Path) -> Repo | None:
    """What a `.git` entry names and git takes for no repository; None where there is no such entry."""
    place = gitentry.find_repository(start)
    if place is None:
        return None
    folder, _ = place
    if folder != start and _is_known(folder):  # whole, but git was told not to look so far up
        return None
    message = f"git does not take {folder / '.git'} for a repository"
    return _made_by_hand(*place, damaged(Damage.REPOSITORY, message))


def _is_known(folder: Path) -> bool:
    """Does git find a repository in this very directory, or one to refuse?"""
    try:
        return _ask(folder) is not None
    except (_Unnamed, GitError):
        return True


def _find_by_hand(start: Path, error: GitError) -> Repo | None:
    """What git cannot tell of, by its `.git` entry. None for a plain directory, which needs no git. Raises `error`
    where there is a repository, but not by such an entry."""
    place = gitentry.find_repository(start)
    if place is not None:
        return _made_by_hand(*place, error)
    if isinstance(error, GitMissing) and not _looks_bare(start):
        return None
    raise error


def _made_by_hand(root: Path, git_dir: Path, fault: GitError) -> Repo:
    common = gitentry.shared_directory(git_dir)
    algorithm = "sha256" if localconfig.names_sha256(common) else "sha1"
    return Repo(root, git_dir, common, algorithm, False, (common / "shallow").exists(), fault=fault)


def _parse(start: Path, out: str) -> Repo:
    """Without a work tree the root is the git directory."""
    facts, common, top = [*out.split(f"\n{_MARK}\n"), "", ""][:3]
    bare, shallow, algorithm, git_dir = facts.split("\n", 3)
    where = Path(git_dir).resolve()
    root = Path(top.removesuffix("\n")).resolve() if top and bare != "true" else where
    return Repo(root, where, (start / common).resolve(), algorithm, bare == "true", shallow == "true")


def _around(start: Path) -> Repo:
    """What a path means that lies in a repository which no `.git` entry names (CF-5). Raises GitError."""
    outer = _outer(start)
    if _looks_bare(start) and not _tracks(outer, start):
        out = os.fsdecode(run(start, "--git-dir", str(start), *_WHERE, ok=(0, 128)))
        if _MARK in out and (found := _parse(start, out)).bare:
            return found
    if outer is not None:
        return outer
    raise GitError(
        f"{start} lies in a bare repository, which is used only where it is named itself",
        hint="gitindex build --commit HEAD --path DIRECTORY.git",
    )


def _looks_bare(folder: Path) -> bool:
    return all((folder / name).exists() for name in gitentry.PARTS)


def _outer(start: Path) -> Repo | None:
    """The nearest repository around that a `.git` entry names."""
    for folder in gitentry.holders(start):
        with suppress(_Unnamed):
            return _ask(folder)
    return None


def _tracks(outer: Repo | None, folder: Path) -> bool:
    if outer is None or not folder.is_relative_to(outer.root):
        return False
    return bool(run(outer, "--literal-pathspecs", "ls-files", "-z", "--", str(folder)))


def _outside(error: GitError) -> bool:
    return "not a git repository" in str(error.detail.get("stderr", ""))


def _refusal(error: GitError, start: Path) -> GitError:
    said = str(error.detail.get("stderr", ""))
    if "dubious ownership" not in said and "unsafe repository" not in said:
        return error
    refused = next(gitentry.holders(start.absolute()), start.absolute())
    return GitError(
        f"git refuses the repository at {refused}: it belongs to another user",
        hint=f"git config --global --add safe.directory {shlex.quote(str(refused))}",
    )


def _commit(repo: Repo, rev: str) -> tuple[str, str] | None:
    """The commit that `rev` names and its tree, from one object: `rev` may move between two questions."""
    out = run(repo, "cat-file", "--batch", stdin=os.fsencode(f"{rev}^{{commit}}\n"))
    said, content = out.split(b"\n", 1)
    if said.endswith((b" missing", b" ambiguous")):
        return None
    return said.split(b" ", 1)[0].decode(), content.split(b"\n", 1)[0].removeprefix(b"tree ").decode()


def _require_unborn(repo: Repo) -> None:
    """A broken HEAD must not pass for an empty repository: that would delete every file from the index."""
    try:
        run(repo, "log", "-1", "--format=%H", "--no-show-signature")
    except GitError as error:
        if "does not have any commits yet" in str(error.detail.get("stderr", "")):
            return
        raise
    raise damaged(Damage.HEAD, "HEAD cannot be read")


def _branch(repo: Repo) -> str | None:
    text = (repo.git_dir / "HEAD").read_text("utf-8", "surrogateescape").strip()
    if text == "ref: refs/heads/.invalid":  # reftable keeps HEAD elsewhere and leaves this behind
        text = "ref: " + os.fsdecode(run(repo, "symbolic-ref", "-q", "HEAD", ok=(0, 1))).strip()
    name = text.removeprefix("ref: refs/heads/")
    return name if name != text and name else None


def is_known(repo: Repo, commit: str) -> bool:
    """Is the commit in this clone?"""
    try:
        return resolve(repo, commit).commit is not None
    except GitError:
        return False
