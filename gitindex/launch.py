"""Starting a Python process of ours that reads what repositories hold (CF-5, RE-14)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from gitindex import child

Process = subprocess.Popen[bytes]
# What such a process needs; credentials and keys are not among it.
_PLAIN = ("HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ", "VIRTUAL_ENV")
_PLAIN_PREFIX = ("LC_", "MALLOC_", "OMP_", "OPENBLAS_", "PYTHON")


def start(module: str, *arguments: str, descriptors: Sequence[int] = ()) -> Process:
    """Start `module` with pipes to it and from it, and nothing of our environment that it could give away.

    It is no member of our process group: an interrupt at the terminal is ours to handle.
    """
    plain = {name: value for name, value in os.environ.items() if _is_plain(name)}
    return subprocess.Popen(
        child.command(module, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=descriptors,
        cwd=child.DIRECTORY,
        env=child.environment(plain),
        process_group=0,
    )


def _is_plain(name: str) -> bool:
    return name in _PLAIN or name.startswith(_PLAIN_PREFIX)
