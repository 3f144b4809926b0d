"""Runs one indexer as a child process with caps on time, memory and output (SE-2).

The child leads a session of its own, and its whole process group is killed at the end, however it ends: build
daemons do not outlive a job. Memory is measured, not limited: node reserves address space far beyond what it
uses, so an address space limit would stop it at once. Standard output and error go to one capped log file.
From the first run on, other processes of the same user cannot read our environment and memory (RE-14).
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gitindex.errors import ExactFactsError

_POLL_SECONDS = 0.05
_LOG_TAIL_BYTES = 256 * 1024
_PR_SET_DUMPABLE = 4
_STAT_PGRP, _STAT_RSS = 2, 21  # places in /proc/PID/stat, counted after the name


@dataclass(frozen=True, slots=True)
class Caps:
    seconds: float = 3600.0
    memory_bytes: int = 8 * 1024**3
    output_bytes: int = 4 * 1024**3
    log_bytes: int = 64 * 1024**2


class StopReason(StrEnum):
    """Why we killed a child."""

    NONE = ""  # we did not
    TIME = "time"
    MEMORY = "memory"
    OUTPUT = "output"
    LOG = "log"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class ProcessResult:
    exit_code: int  # negative: killed by that signal
    stop_reason: StopReason
    log: str  # the end of what it printed
    seconds: float
    peak_bytes: int


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    log: Path,
    caps: Caps,
    outputs: Sequence[Path] = (),
    alive: Callable[[], bool] = lambda: True,
) -> ProcessResult:
    """`alive` is called all the time; the child is killed when it returns False.

    Raises ExactFactsError when the program cannot be started at all.
    """
    started = time.monotonic()
    forbid_inspection()
    with log.open("wb") as sink:
        child = _start(command, cwd, environment, sink.fileno())
    monitor = _CapMonitor(group=child.pid, caps=caps, outputs=outputs, log=log, alive=alive, started=started)
    try:
        while child.poll() is None and not monitor.check_caps():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_POLL_SECONDS)
    finally:
        _kill_group(child.pid)
        exit_code = child.wait()
    return ProcessResult(
        exit_code, monitor.stop_reason, _read_tail(log), time.monotonic() - started, monitor.peak
    )


def forbid_inspection() -> None:
    """On Linux, make `/proc/PID/environ` and `/proc/PID/mem` of this process readable by root only."""
    if sys.platform == "linux":
        import ctypes  # late: only runs of an indexer need it

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _start(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str], sink: int
) -> subprocess.Popen[bytes]:
    try:
        child = subprocess.Popen(
            list(command),
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise ExactFactsError(
            f"cannot run {command[0]}: {error.strerror}", diagnosis="missing_tool"
        ) from error
    if hasattr(resource, "prlimit"):
        with contextlib.suppress(OSError):  # the child has ended already
            resource.prlimit(child.pid, resource.RLIMIT_CORE, (0, 0))
    return child


class _CapMonitor:
    def __init__(
        self,
        *,
        group: int,
        caps: Caps,
        outputs: Sequence[Path],
        log: Path,
        alive: Callable[[], bool],
        started: float,
    ) -> None:
        self._group, self._caps, self._outputs, self._log = group, caps, outputs, log
        self._alive, self._started = alive, started
        self.peak = 0
        self.stop_reason = StopReason.NONE

    def check_caps(self) -> bool:
        """Whether the child must be killed; sets `stop_reason`."""
        self.peak = max(self.peak, measure_group_memory(self._group))
        if time.monotonic() - self._started > self._caps.seconds:
            self.stop_reason = StopReason.TIME
        elif self.peak > self._caps.memory_bytes:
            self.stop_reason = StopReason.MEMORY
        elif sum(map(_file_size, self._outputs)) > self._caps.output_bytes:
            self.stop_reason = StopReason.OUTPUT
        elif _file_size(self._log) > self._caps.log_bytes:
            self.stop_reason = StopReason.LOG
        elif not self._alive():
            self.stop_reason = StopReason.CANCELLED
        return self.stop_reason is not StopReason.NONE


def measure_group_memory(group: int) -> int:
    """Resident bytes of all processes of a group."""
    processes = Path("/proc")
    if not (processes / "self/stat").exists():
        return _measure_with_ps(group)
    total = 0
    for entry in os.listdir(processes):
        if entry.isdigit():
            total += _measure_process_memory(processes / entry / "stat", group)
    return total


def _measure_process_memory(stat: Path, group: int) -> int:
    try:
        text = stat.read_text("utf-8", "replace")
    except OSError:  # the process has ended
        return 0
    # proc(5): `pid (name) state ppid pgrp ... rss ...`; the name may contain spaces and parentheses.
    fields = text.rpartition(")")[2].split()
    if len(fields) <= _STAT_RSS or int(fields[_STAT_PGRP]) != group:
        return 0
    return int(fields[_STAT_RSS]) * resource.getpagesize()


def _measure_with_ps(group: int) -> int:
    listing = subprocess.run(["ps", "-axo", "pgid=,rss="], capture_output=True, check=False).stdout.decode()
    rows = (line.split() for line in listing.splitlines())  # process group, KiB of resident memory
    return sum(int(row[1]) * 1024 for row in rows if len(row) == 2 and row[0] == str(group))


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _read_tail(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(max(0, _file_size(log) - _LOG_TAIL_BYTES))
        return file.read().decode("utf-8", "replace")
