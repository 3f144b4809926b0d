"""Hooks in git's own configuration (git 2.54 and newer): no file of anybody else is touched.

They run besides every hook file, whatever `core.hooksPath` says, and each gets its own copy of stdin.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from gitindex.git.repo import Repo
from gitindex.git.run import run
from gitindex.hooks.hookfile import Outcome

_PREFIX = "gitindex-"


def install(repo: Repo, event: str, call: str) -> Outcome:
    name, where = _PREFIX + event, f"hook.{_PREFIX}{event}"
    wanted = {"event": event, "command": call}
    if _values(repo, name) == wanted:
        return Outcome(event, "unchanged", where)
    action = "updated" if name in set(names(repo)) else "created"
    for key, value in wanted.items():
        run(repo.root, "config", "--local", "--replace-all", f"hook.{name}.{key}", value)
    return Outcome(event, action, where)


def uninstall(repo: Repo) -> list[Outcome]:
    """Remove every section of ours, whatever version wrote it."""
    done = []
    for name in dict.fromkeys(names(repo)):
        run(repo.root, "config", "--local", "--remove-section", f"hook.{name}")
        done.append(Outcome(name.removeprefix(_PREFIX), "removed", f"hook.{name}"))
    return done


def enabled(repo: Repo, event: str) -> bool:
    """Whether git is configured to run us on `event`; the user may switch a hook off by `enabled = false`."""
    values = _values(repo, _PREFIX + event)
    return values.get("event") == event and values.get("enabled", "true").lower() not in (
        "false",
        "no",
        "off",
        "0",
    )


def names(repo: Repo) -> Iterator[str]:
    """Names of our hooks in the repository's own configuration."""
    for key, _ in _pairs(repo, "--local", rf"^hook\.{_PREFIX}"):
        yield key.removeprefix("hook.").rpartition(".")[0]


def foreign(repo: Repo) -> list[str]:
    """Names of everybody else's configured hooks, from every level of configuration."""
    found = (
        key.removeprefix("hook.").rpartition(".")[0]
        for key, _ in _pairs(repo, "--includes", r"^hook\..*\.event$")
    )
    return sorted({name for name in found if not name.startswith(_PREFIX)})


def _values(repo: Repo, name: str) -> dict[str, str]:
    start = f"hook.{name}."
    return {key.removeprefix(start): value for key, value in _pairs(repo, "--local", rf"^hook\.{name}\.")}


def _pairs(repo: Repo, option: str, pattern: str) -> list[tuple[str, str]]:
    raw = os.fsdecode(run(repo.root, "config", option, "-z", "--get-regexp", pattern, ok=(0, 1)))
    return [(key, value) for key, _, value in (entry.partition("\n") for entry in raw.split("\0") if entry)]
