"""A child process that stops itself (SIGSTOP) right before a named step, or inside a heartbeat there, in the middle of a
real operation, and goes on when somebody continues it. Its leases are short, so that nobody waits for minutes."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from gitindex.store import lease

REPOSITORY = Path(__file__).resolve().parents[3]
TTL_MS = 500
HEARTBEAT = "heartbeat@"  # before the name of a step: stop in the first heartbeat after it was reached


def start(step: str, operation: str, root: Path, home: Path, ttl_ms: int = TTL_MS) -> subprocess.Popen[str]:
    """Returns once the child has stopped itself."""
    command = [
        sys.executable,
        "-m",
        "tests.campaigns.crash.stopping",
        step,
        operation,
        str(root),
        str(home),
        str(ttl_ms),
    ]
    search = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
    child = subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": search},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        child.returncode = os.waitstatus_to_exitcode(status)
        raise AssertionError(f"{operation} never reached {step}: {child.communicate()}")
    return child


def resume(child: subprocess.Popen[str]) -> str:
    """Let it go on to its end; returns how that was: done, or the code of its error."""
    os.kill(child.pid, signal.SIGCONT)
    out, err = child.communicate(timeout=300)
    assert child.returncode == 0, err
    return out.strip()


def end(child: subprocess.Popen[str]) -> None:
    if child.returncode is None:
        child.kill()
        child.wait()
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.2)  # the signal may reach another thread first: this one must not run on


def stop_in_heartbeat(reached: threading.Event, stopped: threading.Event) -> None:
    """Between reading the lease and writing it back."""
    real = dataclasses.replace

    def replace(value: Any, **changes: Any) -> Any:
        if threading.current_thread().name == "lease-heartbeat" and reached.is_set() and not stopped.is_set():
            stop()
            stopped.set()
        return real(value, **changes)

    lease.replace = replace  # type: ignore[attr-defined]


def main() -> None:
    step, operation, root, home, ttl_ms = sys.argv[1:]
    lease.TTL_MS = int(ttl_ms)
    lease.hold.__wrapped__.__kwdefaults__["ttl_ms"] = int(ttl_ms)  # type: ignore[attr-defined]
    from gitindex.errors import GitindexError
    from gitindex.store import steps
    from tests.campaigns.crash.crashing import perform

    reached, stopped = threading.Event(), threading.Event()

    def observe(name: str) -> None:
        if stopped.is_set() or name != step.removeprefix(HEARTBEAT):
            return
        if step.startswith(HEARTBEAT):
            reached.set()
            stopped.wait()
        else:
            stopped.set()
            stop()

    if step.startswith(HEARTBEAT):
        stop_in_heartbeat(reached, stopped)
    steps.observe(observe)
    try:
        perform(operation, Path(root), Path(home))
    except GitindexError as error:
        print(error.code)
    else:
        print("done")


if __name__ == "__main__":
    main()
