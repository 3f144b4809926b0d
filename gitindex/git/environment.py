"""The environment of every git process, so that no configuration of a repository starts a program (CF-5).

Invariant: a child sees nothing of the caller's repository (`GIT_DIR`, `git -c` leaks, …), never prompts, never takes
optional locks (CS-4), uses a bare repository only where `--git-dir` names it, and reaches no network unless the user
allows it. Settings travel in the environment: they hold for the processes that git starts, too. Filters have names
that the repository chooses; `git.filters` switches those off.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from gitindex.child import original_environment

# The user's identity, the installation of git and its transports; nothing that names a repository.
_KEEP = frozenset(
    {
        "GIT_ALLOW_PROTOCOL",
        "GIT_CEILING_DIRECTORIES",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
    }
)
_KEEP_PREFIX = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSL_")
_FORCED = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # An object id means its own bytes, whatever refs/replace says: both object readers must agree.
    "GIT_NO_REPLACE_OBJECTS": "1",
}
# Git 2.44 has a switch; an older git is kept offline by allowing no transport.
_OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
# Not git:// (core.gitProxy), file:// (remote.*.uploadpack) or ext:: — each starts what the repository names.
_TRANSPORTS = "https:http:ssh"

SETTINGS: Mapping[str, str] = {
    "safe.bareRepository": "explicit",  # git 2.38; `repo.discover` checks the answers of older ones
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.askPass": "",
    "core.alternateRefsCommand": ":",
    "credential.helper": "",  # an empty value clears the list
    "diff.external": "",
    "log.showSignature": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}


def environment(
    *, lazy_fetch: bool = False, config: Mapping[str, str | None] | None = None
) -> dict[str, str]:
    """This process's environment without the `GIT_*` that _KEEP does not list, with SETTINGS and `config` (None: leave
    it to git)."""
    variables = original_environment(os.environ)
    allowed = {
        name: value for name, value in variables.items() if not name.startswith("GIT_") or _is_allowed(name)
    }
    network = _online_variables(allowed) if lazy_fetch else _OFFLINE
    return {**allowed, **_FORCED, **network, **_number_settings({**SETTINGS, **(config or {})})}


def _is_allowed(name: str) -> bool:
    return name in _KEEP or name.startswith(_KEEP_PREFIX)


def _online_variables(allowed: Mapping[str, str]) -> dict[str, str]:
    """How a lazy fetch reaches its remote. GIT_SSH_COMMAND is always set: it alone overrules core.sshCommand."""
    plain = shlex.quote(allowed["GIT_SSH"]) if "GIT_SSH" in allowed else "ssh"
    return {
        "GIT_SSH_COMMAND": allowed.get("GIT_SSH_COMMAND", plain),
        "GIT_ALLOW_PROTOCOL": allowed.get("GIT_ALLOW_PROTOCOL", _TRANSPORTS),
    }


def _number_settings(settings: Mapping[str, str | None]) -> dict[str, str]:
    pairs = [(name, value) for name, value in settings.items() if value is not None]
    variables = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (name, value) in enumerate(pairs):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return variables
