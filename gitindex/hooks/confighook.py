"""Hooks in git's own configuration (git 2.54 and newer): no hook file is touched.

They run besides every hook file, whatever `core.hooksPath` says, and each gets its own copy of stdin.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from gitindex.git.repo import Repo
from gitindex.git.run import run
from gitindex.hooks.hookfile import HookOutcome

_PREFIX = "gitindex-"


def install(repo: Repo, event: str, call: str) -> HookOutcome:
    name, section = _PREFIX + event, f"hook.{_PREFIX}{event}"
    desired = {"event": event, "command": call}
    if _read_section(repo, name) == desired:
        return HookOutcome(event, "unchanged", section)
    action = "updated" if name in set(list_own_hooks(repo)) else "created"
    for key, value in desired.items():
        run(repo.root, "config", "--local", "--replace-all", f"hook.{name}.{key}", value)
    return HookOutcome(event, action, section)


def uninstall(repo: Repo) -> list[HookOutcome]:
    """Remove every section of ours, whatever version wrote it."""
    outcomes = []
    for name in dict.fromkeys(list_own_hooks(repo)):
        run(repo.root, "config", "--local", "--remove-section", f"hook.{name}")
        outcomes.append(HookOutcome(name.removeprefix(_PREFIX), "removed", f"hook.{name}"))
    return outcomes


def is_enabled(repo: Repo, event: str) -> bool:
    """Whether git is configured to run our hook on `event`; the user may disable it with `enabled = false`."""
    values = _read_section(repo, _PREFIX + event)
    return values.get("event") == event and values.get("enabled", "true").lower() not in (
        "false",
        "no",
        "off",
        "0",
    )


def list_own_hooks(repo: Repo) -> Iterator[str]:
    """Names of our hooks in the repository's own configuration."""
    for key, _ in _read_entries(repo, "--local", rf"^hook\.{_PREFIX}"):
        yield key.removeprefix("hook.").rpartition(".")[0]


def list_foreign_hooks(repo: Repo) -> list[str]:
    """Names of everybody else's configured hooks, from every level of configuration."""
    hook_names = (
        key.removeprefix("hook.").rpartition(".")[0]
        for key, _ in _read_entries(repo, "--includes", r"^hook\..*\.event$")
    )
    return sorted({name for name in hook_names if not name.startswith(_PREFIX)})


def _read_section(repo: Repo, name: str) -> dict[str, str]:
    key_prefix = f"hook.{name}."
    return {
        key.removeprefix(key_prefix): value
        for key, value in _read_entries(repo, "--local", rf"^hook\.{name}\.")
    }


def _read_entries(repo: Repo, option: str, pattern: str) -> list[tuple[str, str]]:
    raw = os.fsdecode(run(repo.root, "config", option, "-z", "--get-regexp", pattern, ok=(0, 1)))
    return [(key, value) for key, _, value in (entry.partition("\n") for entry in raw.split("\0") if entry)]
