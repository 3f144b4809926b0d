"""Where the shell shim is, and the one line of shell that calls it from a hook.

The line works as a line of any sh-like hook, as the value of `hook.<name>.command`, and in a snippet for
another hook manager. It cannot fail, prints nothing, and leaves stdin to the hook that follows it.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from gitindex.errors import HookError

_NAME = "gitindex-hook"
_PACKAGED = Path(__file__).parent / "shims"
_CHECKOUT = Path(__file__).parents[2] / "hooks"


def path() -> Path:
    """The shim of this installation: inside the wheel, or `hooks/` of a source checkout.

    Raises HookError when the installation lost it.
    """
    for place in (_PACKAGED, _CHECKOUT):
        if (place / _NAME).is_file():
            return place / _NAME
    raise HookError(
        "the hook shim is missing from this installation", hint="pip install --force-reinstall gitindex"
    )


def call(event: str, python: str, shim: Path) -> str:
    """The line that leaves the note for `event` and starts a worker with `python`."""
    script = shlex.quote(str(shim))
    settings = f"gitindex_event={event}; gitindex_python={shlex.quote(python)}"
    return f"[ ! -r {script} ] || ( {settings}; . {script} ) </dev/null >/dev/null 2>&1 || :"
