"""Finds the hooks directory of a repository and the version of git. Changes nothing."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from gitindex.errors import HookError
from gitindex.git.repo import Repo
from gitindex.git.run import run

CONFIG_HOOKS_SINCE = (2, 54)
HOOK_RUN_SINCE = (2, 36)


@dataclass(frozen=True)
class HookLocation:
    repo: Repo
    hooks_dir: Path  # where git looks for hooks; respects `core.hooksPath`
    git_version: tuple[int, int]

    @property
    def is_ours_to_write(self) -> bool:
        """Only below the git directory: any other folder is tracked, shared or belongs to somebody else."""
        return self.hooks_dir.resolve().is_relative_to(self.repo.common_dir)

    @property
    def has_config_hooks(self) -> bool:
        return self.git_version >= CONFIG_HOOKS_SINCE

    def hook_folders(self) -> list[Path]:
        """Folders that may hold a hook file of ours, also the default one when `core.hooksPath` hides it."""
        default_folder = self.repo.common_dir / "hooks"
        return (
            [default_folder, self.hooks_dir]
            if self.is_ours_to_write and self.hooks_dir != default_folder
            else [default_folder]
        )

    def git_dirs(self) -> list[Path]:
        """The git directory of every worktree that shares these hooks."""
        linked = self.repo.common_dir / "worktrees"
        return [self.repo.common_dir, *(sorted(linked.iterdir()) if linked.is_dir() else [])]


def locate(repo: Repo) -> HookLocation:
    """Raises HookError for a bare repository, which has no work tree."""
    if repo.bare:
        raise HookError(
            f"{repo.root} is a bare repository: it has no work tree to index after a commit",
            hint="gitindex build --commit HEAD",
        )
    # Only here git reads core.hooksPath: every other call of ours overrides it, so that no hook runs.
    out = run(repo, "rev-parse", "--git-path", "hooks", config={"core.hooksPath": None})
    answer = os.fsdecode(out).removesuffix("\n")
    return HookLocation(repo, Path(os.path.normpath(repo.root / answer)), read_git_version(repo.root))


def read_git_version(root: Path) -> tuple[int, int]:
    match = re.search(rb"(\d+)\.(\d+)", run(root, "version"))
    if match is None:
        raise HookError("git does not say its version", hint="git version")
    return int(match[1]), int(match[2])
