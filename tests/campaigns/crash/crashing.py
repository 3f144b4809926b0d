"""A child process that kills itself right before a named step, in the middle of a real operation."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def kill_at(step: str, operation: str, root: Path, home: Path) -> int:
    """Run `operation` in a child that dies at `step`; returns the child's exit status (-9 when it died there)."""
    command = [sys.executable, "-m", "tests.campaigns.crash.crashing", step, operation, str(root), str(home)]
    search = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": search}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode


def perform(operation: str, root: Path, home: Path) -> None:
    from gitindex.lifecycle import compact, gc
    from gitindex.ops.maintain.repair import repair_store
    from gitindex.ops.maintain.store_inventory import upgrade
    from tests.support import harness

    codebase = harness.codebase(root, home)
    if operation == "sync":
        harness.index(root, home)
    elif operation == "reindex":
        harness.index(root, home, full=True)
    elif operation == "compact":
        compact.compact(codebase.layout)
    elif operation == "merge":
        compact.compact_runs(codebase.layout, lambda _: [range(1, 3), range(4, 6)])
    elif operation == "gc":
        gc.collect(codebase.layout, now=harness.LATER)
    elif operation == "upgrade":
        upgrade(codebase)
    elif operation == "repair":
        repair_store(codebase)
    else:
        raise ValueError(operation)


def main() -> None:
    step, operation, root, home = sys.argv[1:]
    from gitindex.store import steps

    def die(reached: str) -> None:
        if reached == step:
            os.kill(os.getpid(), signal.SIGKILL)

    steps.observe(die)
    perform(operation, Path(root), Path(home))


if __name__ == "__main__":
    main()
