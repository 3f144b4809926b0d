"""Finds a repository; reads its HEAD, its history and whether a git operation is unfinished.

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
from gitindex.git.failure import Damage, damage_error
from gitindex.git.run import PendingCommands, run
from gitindex.model.frozen import frozen
from gitindex.userconfig import MAX_FILES, UserConfig

# `rev-parse` echoes options it does not know: a separator that survives newlines in directory names.
_SEPARATOR = "--gitindex-separator"
_DISCOVER_COMMAND = (
    "rev-parse",
    "--is-bare-repository",
    "--is-shallow-repository",
    "--show-object-format",
    "--absolute-git-dir",
    _SEPARATOR,
    "--git-common-dir",
    _SEPARATOR,
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
    fault: GitError | None = None  # how git failed: it was found without git, and git is not run in it (C-1)


@frozen
class Head:
    """One commit, read once: `tree` always belongs to `commit`. Both None on an unborn branch."""

    commit: str | None
    tree: str | None
    branch: str | None


def estimate_tracked(repo: Repo) -> int:
    """About how many files git tracks, from the header of its index: a hint that costs one short read."""
    try:
        with open(repo.git_dir / "index", "rb") as index:
            head = index.read(12)
    except OSError:
        return 0
    return (
        int.from_bytes(head[8:], "big") if head.startswith(b"DIRC") else 0
    )  # magic, version, number of entries


def begin_discovery(path: Path) -> AbstractContextManager[PendingCommands | None]:
    """Start the command whose output `discover` reads, for a caller that works meanwhile. None without git."""
    try:
        return PendingCommands(_start_directory(path), _DISCOVER_COMMAND)
    except GitMissing:
        return nullcontext()


def discover(
    path: Path, pending: PendingCommands | None = None, user: UserConfig | None = None
) -> Repo | None:
    """The repository `path` lies in, or None; `pending` comes from `begin_discovery`.

    A `.git` entry makes a repository. A directory that merely looks like one may be a file tree that some repository
    tracks: it counts only when `path` is that very directory, it is bare, and no repository around it tracks it. Where
    git is missing or cannot read its data (C-1), the `.git` entry names the repository, which then has a `fault`.

    Raises GitError when git refuses it (safe.directory), or `path` lies inside a bare repository.
    """
    start = _start_directory(path)
    try:
        repo = _ask_git(start, pending) or _find_broken(start.resolve())
    except _NoGitEntry:
        repo = _resolve_unnamed(start.resolve())
    except (GitMissing, GitDamaged) as error:
        repo = _find_by_hand(start.resolve(), error)
    if repo is None or user is None:
        return repo
    return replace(repo, lazy_fetch=user.lazy_fetch, max_files=user.max_files)


def read_head(repo: Repo) -> Head:
    """HEAD as it is now; `commit` is None only when the branch has no commit yet."""
    ids = _read_commit(repo, "HEAD")
    if ids is None:
        _require_unborn(repo)
    commit, tree = ids or (None, None)
    return Head(commit, tree, _read_branch(repo))


def resolve(repo: Repo, rev: str) -> Head:
    """The commit and tree a revision names. Raises GitError for a name git does not know."""
    if rev and "\n" not in rev:
        ids = _read_commit(repo, rev)
        if ids is not None:
            return Head(*ids, None)
    raise GitError(f"unknown revision: {rev!r}", hint="git log --oneline --all")


def find_unfinished(repo: Repo) -> str | None:
    """The first sign of an unfinished git operation, by stat only."""
    return next((name for name in _UNFINISHED if os.path.lexists(repo.git_dir / name)), None)


def root_commits(repo: Repo) -> tuple[str, ...]:
    """Parentless commits of HEAD's history, sorted; empty when unborn, or shallow (they are not there)."""
    commit = None if repo.shallow else read_head(repo).commit
    return _list_roots(repo, commit) if commit else ()


@lru_cache(maxsize=8)
def _list_roots(repo: Repo, commit: str) -> tuple[str, ...]:
    """Cached: the roots of a commit never change, and a long history takes a while to walk."""
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
        presence = [has_commit(repo, commit) for commit in (base, target)]
        if all(presence):
            raise
        return None
    behind, ahead = out.split()[:2]
    return int(ahead) if int(behind) == 0 else None


def _start_directory(path: Path) -> Path:
    return path if path.is_dir() else path.parent


class _NoGitEntry(Exception):
    """Git found, or refused, a repository that no `.git` entry names."""


def _ask_git(start: Path, pending: PendingCommands | None = None) -> Repo | None:
    """The repository whose `.git` entry is nearest above `start`. Raises _NoGitEntry, GitError."""
    try:
        out = pending.result(0) if pending else run(start, *_DISCOVER_COMMAND)
    except GitError as error:  # without a work tree everything but the last answer is there
        stdout = error.detail.get("stdout")
        if not isinstance(stdout, bytes) or not stdout:
            if _is_outside_error(error):
                return None
            if "safe.bareRepository" in str(error.detail.get("stderr", "")):
                raise _NoGitEntry from error
            raise _explain_refusal(error, start) from error
        out = stdout
    real_start = start.resolve()
    repo = _parse(real_start, os.fsdecode(out))
    # Git before 2.38 does not know safe.bareRepository and finds what it should not.
    if not gitentry.is_named_by_entry(real_start, repo.git_dir):
        raise _NoGitEntry
    if not repo.bare and repo.root == repo.git_dir and real_start.is_relative_to(repo.git_dir):
        return _ask_git(repo.git_dir.parent)  # inside .git itself: the work tree is next to it
    return repo


def _find_broken(start: Path) -> Repo | None:
    """A repository with a `.git` entry that git does not accept; None where there is no such entry."""
    entry = gitentry.find_repository(start)
    if entry is None:
        return None
    if entry.root != start and _is_repository(entry.root):  # whole, but GIT_CEILING_DIRECTORIES hides it
        return None
    message = f"git does not take {entry.root / '.git'} for a repository"
    return _build_by_hand(entry, damage_error(Damage.REPOSITORY, message))


def _is_repository(folder: Path) -> bool:
    """Does git find a repository in this very directory, or one to refuse?"""
    try:
        return _ask_git(folder) is not None
    except (_NoGitEntry, GitError):
        return True


def _find_by_hand(start: Path, error: GitError) -> Repo | None:
    """The repository by its `.git` entry, where git failed with `error`. None for a plain directory, which needs no
    git. Raises `error` where there is a repository without such an entry."""
    entry = gitentry.find_repository(start)
    if entry is not None:
        return _build_by_hand(entry, error)
    if isinstance(error, GitMissing) and not _looks_bare(start):
        return None
    raise error


def _build_by_hand(entry: gitentry.RepositoryEntry, fault: GitError) -> Repo:
    common_dir = gitentry.find_common_dir(entry.git_dir)
    return Repo(
        root=entry.root,
        git_dir=entry.git_dir,
        common_dir=common_dir,
        algorithm="sha256" if localconfig.names_sha256(common_dir) else "sha1",
        bare=False,
        shallow=(common_dir / "shallow").exists(),
        fault=fault,
    )


def _parse(start: Path, out: str) -> Repo:
    """The answer to _DISCOVER_COMMAND. Without a work tree the root is the git directory."""
    facts, common, top = [*out.split(f"\n{_SEPARATOR}\n"), "", ""][:3]
    bare, shallow, algorithm, git_dir = facts.split("\n", 3)
    git_path = Path(git_dir).resolve()
    root = Path(top.removesuffix("\n")).resolve() if top and bare != "true" else git_path
    return Repo(
        root=root,
        git_dir=git_path,
        common_dir=(start / common).resolve(),
        algorithm=algorithm,
        bare=bare == "true",
        shallow=shallow == "true",
    )


def _resolve_unnamed(start: Path) -> Repo:
    """The repository of a path inside one that no `.git` entry names (CF-5): itself when it is bare and `start` is its
    root, else the one around it. Raises GitError."""
    outer = _find_outer(start)
    if _looks_bare(start) and not _tracks(outer, start):
        out = os.fsdecode(run(start, "--git-dir", str(start), *_DISCOVER_COMMAND, ok=(0, 128)))
        if _SEPARATOR in out and (repo := _parse(start, out)).bare:
            return repo
    if outer is not None:
        return outer
    raise GitError(
        f"{start} lies in a bare repository, which is used only where it is named itself",
        hint="gitindex build --commit HEAD --path DIRECTORY.git",
    )


def _looks_bare(folder: Path) -> bool:
    return all((folder / name).exists() for name in gitentry.REPOSITORY_PARTS)


def _find_outer(start: Path) -> Repo | None:
    """The nearest repository around that a `.git` entry names."""
    for folder in gitentry.find_entry_folders(start):
        with suppress(_NoGitEntry):
            return _ask_git(folder)
    return None


def _tracks(outer: Repo | None, folder: Path) -> bool:
    if outer is None or not folder.is_relative_to(outer.root):
        return False
    return bool(run(outer, "--literal-pathspecs", "ls-files", "-z", "--", str(folder)))


def _is_outside_error(error: GitError) -> bool:
    return "not a git repository" in str(error.detail.get("stderr", ""))


def _explain_refusal(error: GitError, start: Path) -> GitError:
    stderr = str(error.detail.get("stderr", ""))
    if "dubious ownership" not in stderr and "unsafe repository" not in stderr:
        return error
    refused = next(gitentry.find_entry_folders(start.absolute()), start.absolute())
    return GitError(
        f"git refuses the repository at {refused}: it belongs to another user",
        hint=f"git config --global --add safe.directory {shlex.quote(str(refused))}",
    )


def _read_commit(repo: Repo, rev: str) -> tuple[str, str] | None:
    """The commit that `rev` names and its tree, from one object: `rev` may move between two commands."""
    out = run(repo, "cat-file", "--batch", stdin=os.fsencode(f"{rev}^{{commit}}\n"))
    header, content = out.split(b"\n", 1)
    if header.endswith((b" missing", b" ambiguous")):
        return None
    return header.split(b" ", 1)[0].decode(), content.split(b"\n", 1)[0].removeprefix(b"tree ").decode()


def _require_unborn(repo: Repo) -> None:
    """Raises GitDamaged for a broken HEAD: taken for an unborn branch, it would delete every file from the index."""
    try:
        run(repo, "log", "-1", "--format=%H", "--no-show-signature")
    except GitError as error:
        if "does not have any commits yet" in str(error.detail.get("stderr", "")):
            return
        raise
    raise damage_error(Damage.HEAD, "HEAD cannot be read")


def _read_branch(repo: Repo) -> str | None:
    text = (repo.git_dir / "HEAD").read_text("utf-8", "surrogateescape").strip()
    if text == "ref: refs/heads/.invalid":  # reftable keeps HEAD elsewhere and leaves this behind
        text = "ref: " + os.fsdecode(run(repo, "symbolic-ref", "-q", "HEAD", ok=(0, 1))).strip()
    name = text.removeprefix("ref: refs/heads/")
    return name if name != text and name else None


def has_commit(repo: Repo, commit: str) -> bool:
    """Is the commit in this clone?"""
    try:
        return resolve(repo, commit).commit is not None
    except GitError:
        return False
