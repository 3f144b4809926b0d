"""Starts our Python processes that read the content of repositories (CF-5, RE-14)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from gitindex import child

Process = subprocess.Popen[bytes]
# What such a process needs. Credentials and keys are not passed on.
_PASSED_VARIABLES = ("HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ", "VIRTUAL_ENV")
_PASSED_PREFIXES = ("LC_", "MALLOC_", "OMP_", "OPENBLAS_", "PYTHON")


def start(module: str, *arguments: str, descriptors: Sequence[int] = ()) -> Process:
    """Start `module` with pipes for stdin and stdout, and without secrets in its environment.

    It gets a process group of its own: only we receive an interrupt from the terminal.
    """
    passed_variables = {name: value for name, value in os.environ.items() if _is_passed(name)}
    return subprocess.Popen(
        child.command(module, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=descriptors,
        cwd=child.DIRECTORY,
        env=child.child_environment(passed_variables),
        process_group=0,
    )


def _is_passed(name: str) -> bool:
    return name in _PASSED_VARIABLES or name.startswith(_PASSED_PREFIXES)
