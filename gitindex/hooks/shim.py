"""Finds the shell shim, and renders the one line of shell that calls it from a hook.

The line cannot fail, prints nothing, and does not read stdin.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from gitindex.errors import HookError

_NAME = "gitindex-hook"
_PACKAGED = Path(__file__).parent / "shims"
_CHECKOUT = Path(__file__).parents[2] / "hooks"


@dataclass(frozen=True)
class ShimCall:
    """`standalone` is for a file or a `hook.<name>.command` of ours: git waits for one fork less.

    `embedded` is for a foreign sh hook: it runs in a subshell, apart from the hook's options, variables, traps and
    `wait`.
    """

    standalone: str
    embedded: str


def find_shim() -> Path:
    """The shim of this installation: inside the wheel, or `hooks/` of a source checkout.

    Raises HookError when the installation has none.
    """
    for folder in (_PACKAGED, _CHECKOUT):
        if (folder / _NAME).is_file():
            return folder / _NAME
    raise HookError(
        "the hook shim is missing from this installation", hint="pip install --force-reinstall gitindex"
    )


def render_call(event: str, python: str, shim: Path) -> ShimCall:
    """The line that writes the request for `event` and starts a worker with `python`."""
    settings = {"event": event, "python": shlex.quote(python), "hook": shlex.quote(str(shim))}
    assignments = " ".join(f"gitindex_{name}={value}" for name, value in settings.items())
    source = '[ ! -r "$gitindex_hook" ] || . "$gitindex_hook"'
    return ShimCall(
        f"{assignments}; {source} || :", f"( {assignments}; {source} ) </dev/null >/dev/null 2>&1 || :"
    )
