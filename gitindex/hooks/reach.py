"""Would a commit reach us? Answered by a dry run wherever that cannot start anything foreign.

The shim writes the event's name to the file named by GITINDEX_PROBE and stops; our block then ends the hook
before another tool's lines. Where another manager runs first, its configuration is the evidence.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gitindex.errors import HookError
from gitindex.git.environment import environment
from gitindex.git.repo import Repo
from gitindex.gitdir import hookrequest
from gitindex.hooks import block, confighook, hookfile, managers, owner, place, precommit, spawn, worker
from gitindex.hooks.events import EVENTS
from gitindex.hooks.journal import Run
from gitindex.hooks.managers import Manager
from gitindex.hooks.place import Place

DRY_RUN, CONFIGURATION = "dry run", "configuration"
PreCommit = Callable[[], frozenset[str] | str]


@dataclass(frozen=True)
class Reach:
    """Whether `event` reaches us, through what, and how we know (a dry run, or configuration we read)."""

    event: str
    reached: bool
    through: str
    proof: str | None = None


@dataclass(frozen=True)
class Status:
    events: tuple[Reach, ...]
    pending: bool
    last_run: Run | None
    obstacle: str | None = None  # why an event that reaches us cannot leave its request

    @property
    def effective(self) -> bool:
        return all(reach.reached for reach in self.events) and self.obstacle is None


def status(repo: Repo) -> Status:
    """Whether each event reaches us, whether work is pending, and what the worker did last.

    Raises HookError for a bare repository.
    """
    where = place.locate(repo)
    pre_commit = cache(lambda: _pre_commit(repo.root))  # read once, and only where pre-commit is in charge
    return Status(
        tuple(_reach(where, event, pre_commit) for event in EVENTS),
        hookrequest.pending(repo.git_dir),
        worker.last_run(repo.git_dir),
        owner.obstacle(repo.git_dir),
    )


def _reach(where: Place, event: str, pre_commit: PreCommit) -> Reach:
    if where.config_hooks and confighook.enabled(where.repo, event):
        return _proven(where, event, "git configuration", {"core.hooksPath": os.devnull})
    holder = hookfile.holder(where.hooks_dir, event)
    if holder is not None and os.access(holder, os.X_OK):
        return _through_file(where, event, holder)
    return _through_manager(where, event, pre_commit)


def _through_file(where: Place, event: str, holder: Path) -> Reach:
    text = hookfile.read(holder) or b""
    found = block.find(text)
    if found is None or not block.is_first(text, found):
        return Reach(event, reached=True, through=str(holder), proof=CONFIGURATION)
    if holder.name != event:  # pre-commit comes first in git's eyes; run the file it would run
        return Reach(
            event, _answers(event, [str(holder)], where.repo.root), f"pre-commit, {holder.name}", DRY_RUN
        )
    return _proven(where, event, str(holder), {"core.hooksPath": str(where.hooks_dir)})


def _proven(where: Place, event: str, through: str, settings: dict[str, str]) -> Reach:
    """Let git itself run the hook, with everybody else's configured hooks off for this one command."""
    if where.git_version < place.HOOK_RUN_SINCE:
        command = [str(where.hooks_dir / event)]
    else:
        silenced = {f"hook.{name}.enabled": "false" for name in confighook.foreign(where.repo)}
        options = [part for pair in {**settings, **silenced}.items() for part in ("-c", "=".join(pair))]
        command = ["git", "-C", str(where.repo.root), *options, "hook", "run", "--ignore-missing", event]
    return Reach(event, _answers(event, command, where.repo.root), through, DRY_RUN)


def _answers(event: str, command: list[str], root: Path) -> bool:
    with tempfile.TemporaryDirectory(prefix="gitindex-probe-") as folder:
        answer = Path(folder) / "events"
        spawn.run(command, {**environment(), "GITINDEX_PROBE": str(answer)}, where=root)
        return event in (answer.read_text().split() if answer.exists() else [])


def _through_manager(where: Place, event: str, pre_commit: PreCommit) -> Reach:
    text = hookfile.read(where.hooks_dir / event)
    top = where.repo.root
    if text is None:
        return Reach(event, reached=False, through=f"no hook at {where.hooks_dir / event}")
    match managers.wrote(text):
        case Manager.PRE_COMMIT:
            return _through_pre_commit(event, pre_commit())
        case Manager.LEFTHOOK:
            config = managers.lefthook_config(top)
            return _configured(event, "lefthook", config is not None and _mentions(config))
        case Manager.HUSKY:
            return _configured(event, "husky", _mentions(where.hooks_dir.parent / event))
    return _configured(event, str(where.hooks_dir / event), _mentions(where.hooks_dir / event))


def _pre_commit(top: Path) -> frozenset[str] | str:
    """The events at which pre-commit runs us, or why its configuration does not tell."""
    try:
        return precommit.events(top)
    except HookError as error:
        return error.message


def _through_pre_commit(event: str, configured: frozenset[str] | str) -> Reach:
    if isinstance(configured, str):
        return Reach(event, reached=False, through=f"pre-commit; {configured}")
    return _configured(event, "pre-commit", event in configured)


def _configured(event: str, through: str, found: bool) -> Reach:
    return Reach(event, found, through, CONFIGURATION if found else None)


def _mentions(path: Path) -> bool:
    text = hookfile.read(path) or b""
    return b"gitindex hooks run" in text or b"gitindex_event=" in text
