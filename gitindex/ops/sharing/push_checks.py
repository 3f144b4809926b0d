"""Checks before a push: event, branch, and that the snapshot holds the commit alone (RE-2).

They run right before each push, whatever the build checked.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from gitindex.config import Environment
from gitindex.errors import PublishBlocked
from gitindex.git.history import branches_with, default_branch, local_branches_with, tracking_branches
from gitindex.git.repo import Repo
from gitindex.model.foreign import escape_line, quote_argument, quote_text
from gitindex.model.frozen import frozen
from gitindex.model.manifest import Manifest
from gitindex.ops.codebase import Codebase
from gitindex.source.gittree import open_commit
from gitindex.view.snapshot import SnapshotView

_USUAL_BRANCHES = ("main", "master", "trunk")
_MAX_SHOWN = 8
_PLAIN_NAME = re.compile(r"[^-*?\[\]\s][^*?\[\]\s]*")
# CI events that run merged code. Those of pull requests, of comments on them and `workflow_run` run anybody's code.
_ALLOWED_EVENTS = ("push", "schedule", "workflow_dispatch", "release")


def check_event(environment: Environment) -> None:
    """In CI, the event must run merged code; outside of CI there is none. Raises PublishBlocked."""
    if environment.event and environment.event not in _ALLOWED_EVENTS:
        raise PublishBlocked(
            f"pushing from a {escape_line(environment.event, 60)} event is refused",
            hint="push from the branch after the merge",
        )


@frozen
class AllowedBranches:
    """Branches that may be pushed."""

    patterns: tuple[str, ...]
    guessed: bool = False  # no branch is configured, and the clone does not know its default branch


def find_allowed_branches(repo: Repo, configured: tuple[str, ...], default: str = "") -> AllowedBranches:
    """Those of the settings, else the default branch: `default`, else what origin/HEAD says, else the usual names (a
    checkout in CI has no origin/HEAD)."""
    branches = configured or tuple(filter(None, (default or default_branch(repo),)))
    return AllowedBranches(branches) if branches else AllowedBranches(_USUAL_BRANCHES, guessed=True)


def check_branch(repo: Repo, commit: str, allowed: AllowedBranches, added: tuple[str, ...] = ()) -> None:
    """Require the commit to be on a branch that is `allowed` or `added`. Raises PublishBlocked.

    Where the repository has a git remote, the branches of that remote count, not local branches of the same name.
    """
    patterns = (*allowed.patterns, *added)
    branches = branches_with(repo, commit)
    if not any(_matches(name, patterns) for name in branches):
        raise _explain_refusal(repo, commit, patterns, branches, guessed=allowed.guessed)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _explain_refusal(
    repo: Repo, commit: str, patterns: tuple[str, ...], branches: tuple[str, ...], *, guessed: bool
) -> PublishBlocked:
    remote = tracking_branches(repo)
    tracked = [name for name in remote if _matches(name.partition("/")[2], patterns)]
    if branches or not tracked:
        location = _quote_branches(branches) or "no branch"
        is_unsure = guessed and remote
        reason = ": without origin/HEAD this clone does not know its default branch" if is_unsure else ""
        return PublishBlocked(
            f"{commit[:12]} is on {location}; only {_quote_branches(patterns)} may be pushed{reason}",
            hint=f"gitindex push --branch {quote_argument(branches[0])}"
            if branches
            else _suggest_switch(patterns[0]),
        )
    is_local = any(_matches(name, patterns) for name in local_branches_with(repo, commit))
    return PublishBlocked(
        f"{commit[:12]} is not on {' or '.join(map(quote_text, tracked))}, as far as this clone knows",
        hint="git push" if is_local else "git fetch",
    )


def _quote_branches(branches: tuple[str, ...]) -> str:
    """The first names, each quoted: they come from the repository, which may be hostile."""
    more = f" and {len(branches) - _MAX_SHOWN:,} more" if len(branches) > _MAX_SHOWN else ""
    return ", ".join(map(quote_text, branches[:_MAX_SHOWN])) + more


def _suggest_switch(pattern: str) -> str:
    """A configured branch may be a pattern or begin like an option; `git switch` takes neither."""
    return f"git switch {quote_argument(pattern)}" if _PLAIN_NAME.fullmatch(pattern) else "git branch --all"


def check_snapshot(codebase: Codebase, view: SnapshotView, commit: str) -> None:
    """Require a snapshot of this commit alone, with exactly its files. Raises PublishBlocked."""
    manifest = view.manifest
    _check_flags(manifest, commit)
    assert codebase.repo is not None
    limit = codebase.settings.index.limits.file_bytes
    with open_commit(codebase.repo, commit, max_bytes=limit) as source:
        if source.tree != manifest.git.tree_sha:
            raise _snapshot_error(f"is of tree {manifest.git.tree_sha}, the commit has {source.tree}")
        commit_blobs = {key: item.blob for key, item in source.list_files().items()}
    indexed_blobs = {record.path: record.blob for record in view.records()}
    differences = sorted(indexed_blobs.items() ^ commit_blobs.items())
    if differences:
        raise _snapshot_error(f"and the commit disagree about {quote_text(differences[0][0])}")


def _check_flags(manifest: Manifest, commit: str) -> None:
    git = manifest.git
    if git.head_sha != commit or git.dirty or git.untracked_included or manifest.overlay.size_bytes:
        raise _snapshot_error("was not built from the commit alone")
    if manifest.degraded:
        raise PublishBlocked(
            f"the build of {commit[:12]} is degraded: {len(manifest.errors)} file(s) are missing",
            hint=f"fix them and run: gitindex build --full --commit {commit[:12]}",
        )


def _snapshot_error(reason: str) -> PublishBlocked:
    return PublishBlocked(f"the snapshot {reason}; nothing was pushed", hint="gitindex build --full")
