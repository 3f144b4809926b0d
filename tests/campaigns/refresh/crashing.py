"""A child process that refreshes and kills itself right before a named step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def kill_at(step: str, root: Path, home: Path, path: str) -> int:
    """Refresh `root` in a child that dies at `step`; its exit status."""
    given = {**os.environ, "PATH": path, "GITINDEX_HOME": str(home)}
    given["PYTHONPATH"] = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "tests.campaigns.refresh.crashing", step, str(root)]
    done = subprocess.run(command, cwd=REPOSITORY, env=given, capture_output=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode


def main() -> None:
    step, root = sys.argv[1:]
    from gitindex.config import load_environment
    from gitindex.ops.codebase import open_codebase
    from gitindex.ops.exact.refresh import RefreshOptions, refresh
    from gitindex.store import steps

    def die(reached: str) -> None:
        if reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    steps.observe(die)
    refresh(open_codebase(Path(root), load_environment()), RefreshOptions(wait=True, catch_up=False))


if __name__ == "__main__":
    main()
