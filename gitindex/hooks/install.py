"""Installs, uninstalls and inspects the native hooks of one repository (HK-4).

Prefers git's configuration (2.54 and newer); else writes hook files, only below the git directory; else reports what
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
from gitindex.hooks.hookfile import HookOutcome, HookTarget
from gitindex.hooks.place import HookLocation
from gitindex.hooks.reach import HookStatus, read_status
from gitindex.hooks.shim import ShimCall

__all__ = ["HookOutcome", "HookReport", "HookStatus", "install", "read_status", "uninstall"]


@dataclass(frozen=True)
class HookReport:
    """What was done for each event; `leftovers` are folders that a running worker still uses."""

    outcomes: tuple[HookOutcome, ...]
    leftovers: tuple[Path, ...] = ()

    @property
    def refused_outcomes(self) -> tuple[HookOutcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.action == "refused")


def install(repo: Repo, *, python: str = sys.executable, files: bool = False) -> HookReport:
    """Make the four events call the shim. Events that belong to another manager are refused, with a snippet.

    `files` requests hook files although git supports configured hooks: an editor may ship an older git.
    Raises HookError for a bare repository, or when this installation has no shim.
    """
    location = place.locate(repo)
    script = shim.find_shim()
    calls = {event: shim.render_call(event, python, script) for event in EVENTS}
    if location.has_config_hooks and not files:
        for event in reversed(EVENTS):  # configured hooks replace hook files
            _remove_files(location, event)
        return HookReport(
            tuple(confighook.install(repo, event, call.standalone) for event, call in calls.items())
        )
    confighook.uninstall(repo)
    return HookReport(tuple(_install_file(location, event, call) for event, call in calls.items()))


def uninstall(repo: Repo, *, timeout: float = 5.0) -> HookReport:
    """Remove everything of ours from configuration, hook files and the git directories of all worktrees."""
    location = place.locate(repo)
    outcomes = [*confighook.uninstall(repo)]
    for event in reversed(EVENTS):  # the first file made the folder, so it goes last
        outcomes += _remove_files(location, event)
    leftovers = [
        leftover
        for git_dir in location.git_dirs()
        if (leftover := _remove_worker_files(git_dir, timeout)) is not None
    ]
    return HookReport(tuple(outcomes), tuple(leftovers))


def _install_file(location: HookLocation, event: str, call: ShimCall) -> HookOutcome:
    top = location.repo.root
    if location.is_ours_to_write:
        return hookfile.install(location.hooks_dir, event, call, top)
    target = HookTarget(event, location.hooks_dir / event, call, top)
    manager = managers.detect_folder_owner(location.hooks_dir, top)
    reason = f"core.hooksPath leads to {location.hooks_dir}, which gitindex does not change"
    return hookfile.refuse(target, reason, manager)


def _remove_files(location: HookLocation, event: str) -> list[HookOutcome]:
    return [outcome for folder in location.hook_folders() for outcome in hookfile.uninstall(folder, event)]


def _remove_worker_files(git_dir: Path, timeout: float) -> Path | None:
    """Remove requests, log and journal. Returns the folder when a worker does not release it in time."""
    hookrequest.withdraw(git_dir)  # a waiting worker finds nothing to do
    folder.drop_leftovers(git_dir, worker.LEGACY_FILES)
    deadline = time.monotonic() + timeout
    while os.path.isdir(hookrequest.request_folder(git_dir)):
        with worker_lock.try_worker_lock(git_dir) as acquired:
            if acquired:
                folder.remove(git_dir)
                break
        if time.monotonic() >= deadline:
            return hookrequest.request_folder(git_dir)
        time.sleep(0.05)
    with suppress(OSError):  # there is none, or it holds folders of other users
        folder.common_folder_path(git_dir).rmdir()
    return None
