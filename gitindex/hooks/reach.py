"""Finds out whether a commit would start our hook: by a dry run wherever that cannot start anything foreign.

The shim writes the event's name to the file named by GITINDEX_PROBE and stops; our block then ends the hook
before another tool's lines. Where another manager runs first, its configuration is the proof.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from gitindex.errors import HookError
from gitindex.git.environment import environment
from gitindex.git.repo import Repo
from gitindex.gitdir import hookrequest
from gitindex.hooks import block, confighook, hookfile, managers, owner, place, precommit, spawn, worker
from gitindex.hooks.events import EVENTS
from gitindex.hooks.journal import WorkerRun
from gitindex.hooks.managers import Manager
from gitindex.hooks.place import HookLocation

DRY_RUN, CONFIGURATION = "dry run", "configuration"


class PreCommitConfig(NamedTuple):
    """The events for which pre-commit runs our hook; `problem` says why its configuration could not be read."""

    events: frozenset[str] = frozenset()
    problem: str = ""


PreCommitReader = Callable[[], PreCommitConfig]


@dataclass(frozen=True)
class EventReach:
    """Whether `event` starts our hook, through what, and the proof: a dry run, or configuration that was read."""

    event: str
    reached: bool
    through: str
    proof: str | None = None


@dataclass(frozen=True)
class HookStatus:
    events: tuple[EventReach, ...]
    pending: bool
    last_run: WorkerRun | None
    obstacle: str | None = None  # why a hook that runs cannot write its request

    @property
    def is_effective(self) -> bool:
        return all(reach.reached for reach in self.events) and self.obstacle is None


def read_status(repo: Repo) -> HookStatus:
    """Whether each event starts our hook, whether a request is pending, and what the worker did last.

    Raises HookError for a bare repository.
    """
    location = place.locate(repo)
    pre_commit = cache(
        lambda: _read_pre_commit(repo.root)
    )  # read once, and only where pre-commit runs the hooks
    return HookStatus(
        tuple(_check_event(location, event, pre_commit) for event in EVENTS),
        hookrequest.has_request(repo.git_dir),
        worker.last_run(repo.git_dir),
        owner.find_obstacle(repo.git_dir),
    )


def _check_event(location: HookLocation, event: str, pre_commit: PreCommitReader) -> EventReach:
    if location.has_config_hooks and confighook.is_enabled(location.repo, event):
        return _check_by_dry_run(location, event, "git configuration", {"core.hooksPath": os.devnull})
    block_file = hookfile.find_block_file(location.hooks_dir, event)
    if block_file is not None and os.access(block_file, os.X_OK):
        return _check_hook_file(location, event, block_file)
    return _check_manager(location, event, pre_commit)


def _check_hook_file(location: HookLocation, event: str, block_file: Path) -> EventReach:
    text = hookfile.read(block_file) or b""
    hook_block = block.find(text)
    if hook_block is None or not block.is_first(text, hook_block):
        return EventReach(event, reached=True, through=str(block_file), proof=CONFIGURATION)
    if block_file.name != event:  # git runs pre-commit, which runs this file: run the file itself
        return EventReach(
            event,
            _dry_run_reaches(event, [str(block_file)], location.repo.root),
            f"pre-commit, {block_file.name}",
            DRY_RUN,
        )
    return _check_by_dry_run(location, event, str(block_file), {"core.hooksPath": str(location.hooks_dir)})


def _check_by_dry_run(
    location: HookLocation, event: str, through: str, settings: dict[str, str]
) -> EventReach:
    """Let git run the hook, with all foreign configured hooks disabled for this one command."""
    if location.git_version < place.HOOK_RUN_SINCE:
        command = [str(location.hooks_dir / event)]
    else:
        disabled_hooks = {
            f"hook.{name}.enabled": "false" for name in confighook.list_foreign_hooks(location.repo)
        }
        options = [part for pair in {**settings, **disabled_hooks}.items() for part in ("-c", "=".join(pair))]
        command = ["git", "-C", str(location.repo.root), *options, "hook", "run", "--ignore-missing", event]
    return EventReach(event, _dry_run_reaches(event, command, location.repo.root), through, DRY_RUN)


def _dry_run_reaches(event: str, command: list[str], root: Path) -> bool:
    with tempfile.TemporaryDirectory(prefix="gitindex-probe-") as folder:
        probe_file = Path(folder) / "events"
        spawn.run(command, {**environment(), "GITINDEX_PROBE": str(probe_file)}, where=root)
        return event in (probe_file.read_text().split() if probe_file.exists() else [])


def _check_manager(location: HookLocation, event: str, pre_commit: PreCommitReader) -> EventReach:
    text = hookfile.read(location.hooks_dir / event)
    top = location.repo.root
    if text is None:
        return EventReach(event, reached=False, through=f"no hook at {location.hooks_dir / event}")
    match managers.detect_manager(text):
        case Manager.PRE_COMMIT:
            return _check_pre_commit(event, pre_commit())
        case Manager.LEFTHOOK:
            config = managers.find_lefthook_config(top)
            return _configured_reach(event, "lefthook", config is not None and _mentions_gitindex(config))
        case Manager.HUSKY:
            return _configured_reach(event, "husky", _mentions_gitindex(location.hooks_dir.parent / event))
    return _configured_reach(
        event, str(location.hooks_dir / event), _mentions_gitindex(location.hooks_dir / event)
    )


def _read_pre_commit(top: Path) -> PreCommitConfig:
    try:
        return PreCommitConfig(precommit.configured_events(top))
    except HookError as error:
        return PreCommitConfig(problem=error.message)


def _check_pre_commit(event: str, config: PreCommitConfig) -> EventReach:
    if config.problem:
        return EventReach(event, reached=False, through=f"pre-commit; {config.problem}")
    return _configured_reach(event, "pre-commit", event in config.events)


def _configured_reach(event: str, through: str, is_configured: bool) -> EventReach:
    return EventReach(event, is_configured, through, CONFIGURATION if is_configured else None)


def _mentions_gitindex(path: Path) -> bool:
    text = hookfile.read(path) or b""
    return b"gitindex hooks run" in text or b"gitindex_event=" in text
