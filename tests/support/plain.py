"""The command line in a child process without root's privileges, on a disk of a chosen kind.

Tests may run as root, whom no permission bit stops. Dropping two capabilities from the bounding set makes even a
root child obey them, without another user's view of the machine.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
_PR_CAPBSET_DROP = 24
_DAC = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*arguments: str, prefix: tuple[str, ...] = (), **variables: str) -> Done:
    """`gitindex …` in a child that obeys permissions; `prefix` is a command to run it under."""
    known = os.environ.get("PYTHONPATH")
    path = os.pathsep.join(filter(None, (str(REPOSITORY), known)))
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "tests.support.plain", *arguments],
        env={**os.environ, **variables, "PYTHONPATH": path},
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def obey_permissions() -> None:
    """After the next exec, permission bits count for root too."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in _DAC:
            if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "prctl")


if __name__ == "__main__":
    obey_permissions()
    os.execv(sys.executable, [sys.executable, "-m", "gitindex", *sys.argv[1:]])
