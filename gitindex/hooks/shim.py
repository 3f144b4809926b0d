"""Where the shell shim is, and the one line of shell that calls it from a hook.

The line cannot fail, prints nothing, and leaves stdin to whatever follows it.
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
    """`standalone` suits a file, or a `hook.<name>.command`, that is ours: git waits for one fork less.

    `embedded` suits any sh-like hook: whatever its options, its variables, its traps and its `wait`, they stay apart.
    """

    standalone: str
    embedded: str


def find_shim() -> Path:
    """The shim of this installation: inside the wheel, or `hooks/` of a source checkout.

    Raises HookError when the installation lost it.
    """
    for folder in (_PACKAGED, _CHECKOUT):
        if (folder / _NAME).is_file():
            return folder / _NAME
    raise HookError(
        "the hook shim is missing from this installation", hint="pip install --force-reinstall gitindex"
    )


def render_call(event: str, python: str, shim: Path) -> ShimCall:
    """The line that leaves the request for `event` and starts a worker with `python`."""
    settings = {"event": event, "python": shlex.quote(python), "hook": shlex.quote(str(shim))}
    assignments = " ".join(f"gitindex_{name}={value}" for name, value in settings.items())
    source = '[ ! -r "$gitindex_hook" ] || . "$gitindex_hook"'
    return ShimCall(
        f"{assignments}; {source} || :", f"( {assignments}; {source} ) </dev/null >/dev/null 2>&1 || :"
    )
