"""Which repository a path lies in: what the command line and MCP ask before a codebase is opened.

Imports little: a command starts git first and loads the other modules while git answers (UI-3).
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

from gitindex.errors import GitError, GitindexError, NotARepository
from gitindex.git.failure import allows_file_scan
from gitindex.git.repo import Repo, discover
from gitindex.git.repo import begin_discovery as _begin_discovery
from gitindex.git.run import PendingCommands
from gitindex.gitdir import folder


def begin_discovery(path: Path) -> AbstractContextManager[PendingCommands | None]:
    """Start git's search for the repository around `path`; `open_codebase` takes the answer. None without git."""
    return _begin_discovery(path.resolve())


def require_repository(path: Path) -> Repo:
    """The repository that `path` lies in. Raises NotARepository, and GitError when git refuses it."""
    repo = discover(path)
    if repo is None:
        raise NotARepository(f"{path.absolute()} is not in a git repository", hint="git init")
    return repo


def find_worktree_root(path: Path) -> Path | None:
    """The top level of the working tree around `path`; None for a bare repository and for one that git refuses."""
    try:
        repo = discover(path)
    except GitindexError:
        return None
    return repo.root if repo is not None and not repo.bare else None


def is_git_unusable(error: GitError) -> bool:
    """Whether git is missing or cannot read its data: the files are then scanned in its place (C-1)."""
    return allows_file_scan(error)


def find_journal_directory(path: Path) -> Path | None:
    """The git directory around `path` in which this user's hook worker recorded a run. Found without starting git."""
    for directory in (path.absolute(), *path.absolute().parents):
        git_dir = directory / ".git"
        if git_dir.is_dir():
            journal = folder.user_folder_path(git_dir) / folder.WORKER_JOURNAL
            return git_dir if os.path.exists(journal) else None  # False for an unreadable folder
    return None
