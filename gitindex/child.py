"""How a Python process of ours is started: the one place that says so (CF-5).

A repository may hold a `gitindex/`, a `json.py` or a `multiprocessing/` of its own. `-P` keeps the current directory
off the module path, the working directory is `/`, and module path entries that depend on a directory are dropped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

Process = subprocess.Popen[bytes]
DIRECTORY = "/"  # every child's working directory; what a child works on is named by an absolute path
# What a child needs that parses what repositories hold; credentials and keys are not among it.
_PLAIN = ("HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ", "VIRTUAL_ENV")
_PLAIN_PREFIX = ("LC_", "MALLOC_", "OMP_", "OPENBLAS_", "PYTHON")


def command(module: str, *arguments: str) -> list[str]:
    """Run `module` of this installation with this interpreter."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """`variables` for a child of ours: its own children are as safe, and no module path entry is relative."""
    found = {**variables, "PYTHONSAFEPATH": "1"}
    places = [place for place in found.pop("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(place)]
    return {**found, **({"PYTHONPATH": os.pathsep.join(places)} if places else {})}


def start(module: str, *arguments: str, descriptors: Sequence[int] = ()) -> Process:
    """Start `module` with pipes to it and from it, and nothing of our environment that it could give away.

    It is no member of our process group: an interrupt at the terminal is ours to handle.
    """
    plain = {name: value for name, value in os.environ.items() if _is_plain(name)}
    return subprocess.Popen(
        command(module, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=descriptors,
        cwd=DIRECTORY,
        env=environment(plain),
        process_group=0,
    )


def _is_plain(name: str) -> bool:
    return name in _PLAIN or name.startswith(_PLAIN_PREFIX)
