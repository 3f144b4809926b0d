"""Switches off the filter drivers of a repository's own configuration (CF-5).

`git status` runs a clean filter over every file whose stat is not the one in git's index. A driver that the user's
own configuration defines (git-lfs, usually) stays: the user installed it. One that the repository's configuration
defines, or includes, gets no command. Its files are then compared as they are on disk: one that was touched since git
last updated its index counts as modified and is indexed with the bytes on disk, until git updates its index again.
"""

from __future__ import annotations

import os
from typing import Protocol

from gitindex.git.localconfig import ConfigLocation, mentions
from gitindex.git.run import RepoLocation, run

_OFF = {"clean": "", "smudge": "", "process": "", "required": "false"}


class FilterableRepo(RepoLocation, ConfigLocation, Protocol):
    """A repository that may configure filters (`git.repo.Repo` is one)."""


def filter_overrides(repo: FilterableRepo) -> dict[str, str]:
    """Settings that take the command from each filter driver of the repository. Runs git only if there may be one."""
    if not mentions(repo, b"filter", b"include"):
        return {}
    return {f"filter.{name}.{key}": value for name in _list_drivers(repo) for key, value in _OFF.items()}


def _list_drivers(repo: FilterableRepo) -> list[str]:
    """Names of drivers, from every file that the repository's configuration reads; git's parser runs nothing."""
    out = run(
        repo,
        "config",
        "--includes",
        "-z",
        "--show-scope",
        "--name-only",
        "--get-regexp",
        r"^filter\.",
        ok=(0, 1),
    )
    fields = os.fsdecode(out).split("\0")[:-1]
    own = (
        key for scope, key in zip(fields[::2], fields[1::2], strict=True) if scope in ("local", "worktree")
    )
    return sorted({key.removeprefix("filter.").rpartition(".")[0] for key in own})
