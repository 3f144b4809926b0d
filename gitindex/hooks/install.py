"""Install, uninstall and question the native hooks of one repository (HK-4).

Prefers git's configuration (2.54 and newer); else hook files, only below the git directory; else says what
to add by hand. Uninstall leaves the repository byte for byte as it was before install.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitindex.git.repo import Repo
from gitindex.gitdir import folder, hookrequest
from gitindex.hooks import confighook, hookfile, managers, place, shim, worker, worker_lock
from gitindex.hooks.events import EVENTS
from gitindex.hooks.hookfile import Outcome
from gitindex.hooks.place import Place
from gitindex.hooks.reach import Status, status
from gitindex.hooks.shim import Call

__all__ = ["Outcome", "Report", "Status", "install", "status", "uninstall"]


@dataclass(frozen=True)
class Report:
    """What was done for each event; `leftovers` are folders a running worker still holds."""

    outcomes: tuple[Outcome, ...]
    leftovers: tuple[Path, ...] = ()

    @property
    def refused(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.action == "refused")


def install(repo: Repo, *, python: str = sys.executable, files: bool = False) -> Report:
    """Make the four events reach us. Events that belong to another manager come back refused, with a snippet.

    `files` asks for hook files although git knows configured hooks: an editor may bring an older git along.
    Raises HookError for a bare repository, or when this installation lost its shim.
    """
    where = place.locate(repo)
    script = shim.path()
    calls = {event: shim.call(event, python, script) for event in EVENTS}
    if where.config_hooks and not files:
        for event in reversed(EVENTS):  # one way in is enough
            _remove_files(where, event)
        return Report(tuple(confighook.install(repo, event, call.alone) for event, call in calls.items()))
    confighook.uninstall(repo)
    return Report(tuple(_install_file(where, event, call) for event, call in calls.items()))


def uninstall(repo: Repo, *, patience: float = 5.0) -> Report:
    """Remove everything of ours from configuration, hook files and the git directories of all worktrees."""
    where = place.locate(repo)
    outcomes = [*confighook.uninstall(repo)]
    for event in reversed(EVENTS):  # the first file made the folder, so it goes last
        outcomes += _remove_files(where, event)
    leftovers = [
        folder for git_dir in where.git_dirs() if (folder := _drop_state(git_dir, patience)) is not None
    ]
    return Report(tuple(outcomes), tuple(leftovers))


def _install_file(where: Place, event: str, call: Call) -> Outcome:
    top = where.repo.root
    if where.ours_to_write:
        return hookfile.install(where.hooks_dir, event, call, top)
    manager = managers.owns_folder(where.hooks_dir, top)
    reason = f"core.hooksPath leads to {where.hooks_dir}, which is not ours to change"
    return hookfile.refuse(event, where.hooks_dir / event, reason, manager, call, top)


def _remove_files(where: Place, event: str) -> list[Outcome]:
    return [done for folder in where.folders() for done in hookfile.uninstall(folder, event)]


def _drop_state(git_dir: Path, patience: float) -> Path | None:
    """Remove requests, log and journal; the folder itself when a worker does not let go of it in time."""
    hookrequest.withdraw(git_dir)  # a waiting worker finds nothing to do
    folder.drop_leftovers(git_dir, worker.OLDER)
    deadline = time.monotonic() + patience
    while os.path.isdir(hookrequest.folder(git_dir)):
        with worker_lock.alone(git_dir) as alone:
            if alone:
                folder.remove(git_dir)
                break
        if time.monotonic() >= deadline:
            return hookrequest.folder(git_dir)
        time.sleep(0.05)
    with suppress(OSError):  # there is none, or it holds folders of other users
        folder.common(git_dir).rmdir()
    return None
