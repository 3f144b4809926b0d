"""Reads what sharing needs from history, branches and configuration: the repository's identity, a commit's branches."""

from __future__ import annotations

from gitindex.git.repo import Repo
from gitindex.git.run import run


def first_root(repo: Repo, commit: str) -> str | None:
    """The commit where the first-parent line of `commit` begins; None in a shallow clone, which cannot know.

    Merging another project adds roots, but not to this line: the answer stays what it was.
    """
    if repo.shallow:
        return None
    out = run(repo, "rev-list", "--first-parent", "--max-parents=0", "--end-of-options", commit)
    return out.decode().split()[-1]


def read_config(repo: Repo, name: str) -> str:
    """A value of the user's git configuration, "" without one."""
    out = run(repo, "config", "--get", name, ok=(0, 1))
    return out.decode("utf-8", "replace").removesuffix("\n")


def configure(repo: Repo, name: str, value: str) -> None:
    run(repo, "config", "--local", name, value)


def branches_with(repo: Repo, commit: str) -> tuple[str, ...]:
    """Branches that contain `commit`: as the remotes have them, or the local ones where there is no remote."""
    if not tracking_branches(repo):
        return local_branches_with(repo, commit)
    branches = _list_refs(repo, "refs/remotes", 3, f"--contains={commit}")
    return tuple(name for name in branches if name != "HEAD")


def local_branches_with(repo: Repo, commit: str) -> tuple[str, ...]:
    return _list_refs(repo, "refs/heads", 2, f"--contains={commit}")


def tracking_branches(repo: Repo) -> tuple[str, ...]:
    """Remote-tracking branches of this clone, such as `origin/main`."""
    return tuple(name for name in _list_refs(repo, "refs/remotes", 2) if not name.endswith("/HEAD"))


def _list_refs(repo: Repo, below: str, strip: int, *filters: str) -> tuple[str, ...]:
    out = run(repo, "for-each-ref", f"--format=%(refname:lstrip={strip})", *filters, below)
    return tuple(name for name in out.decode("utf-8", "surrogateescape").split("\n") if name)


def default_branch(repo: Repo) -> str:
    """The default branch of `origin`, "" when this clone has not recorded it."""
    out = run(repo, "symbolic-ref", "-q", "refs/remotes/origin/HEAD", ok=(0, 1))
    return out.decode("utf-8", "surrogateescape").strip().removeprefix("refs/remotes/origin/")


def count_commits_apart(repo: Repo, left: str, right: str) -> int:
    """How many commits are in the history of one of the two and not in that of the other."""
    return int(run(repo, "rev-list", "--count", "--end-of-options", f"{left}...{right}"))


def is_ancestor(repo: Repo, commit: str, of: str) -> bool:
    """Both commits must be in this clone."""
    return not run(repo, "rev-list", "--max-count=1", "--end-of-options", commit, f"^{of}")


def newest_commits(repo: Repo, limit: int) -> list[str]:
    """The newest commits of all branches, local and remote."""
    out = run(repo, "rev-list", f"--max-count={limit}", "--branches", "--remotes", "--tags")
    return out.decode().split()
