"""How much processor time and memory one file may take, enforced by the kernel (EL-8).

A grammar is C code: nothing in the process can stop it. So exceeding a limit kills the process that parses: SIGPROF
ends it when its time is up, an allocation beyond the memory limit aborts it. The process that started it then indexes
the file as text. Call `enforce_limits` only in a worker process.
"""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitindex.model.textonly import CRASH, MEMORY, TIME

_MIB = 1024 * 1024
_SECONDS = 2.5
_SECONDS_PER_BYTE = 1.5 / _MIB
_MEMORY = 192 * _MIB
_MEMORY_PER_BYTE = 48  # a syntax tree takes 10 to 30 times its text, what is read off it the rest
_USUAL_SECONDS = 0.5
_USUAL_SECONDS_PER_BYTE = 1.0 / _MIB
_SLOW_SECONDS = 30.0
_STATM = Path("/proc/self/statm")


def seconds_for(size: int) -> float:
    """Processor time that a file of `size` bytes may take."""
    return _SECONDS + size * _SECONDS_PER_BYTE


def memory_for(size: int) -> int:
    """Bytes that a process may allocate on top of what it has, for a file of `size` bytes."""
    return _MEMORY + size * _MEMORY_PER_BYTE


@contextmanager
def enforce_limits(size: int) -> Iterator[None]:
    """Kills this process when the body takes more than a file of `size` bytes may.

    Raises MemoryError where Python itself asked for the memory.
    """
    _, hard_limit = resource.getrlimit(resource.RLIMIT_DATA)
    private_bytes = _read_private_memory()
    if private_bytes:
        soft = private_bytes + memory_for(size)
        resource.setrlimit(
            resource.RLIMIT_DATA,
            (soft if hard_limit == resource.RLIM_INFINITY else min(soft, hard_limit), hard_limit),
        )
    signal.setitimer(signal.ITIMER_PROF, seconds_for(size))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_DATA, (hard_limit, hard_limit))


def _read_private_memory() -> int:
    """Private writable memory in bytes, which RLIMIT_DATA limits. 0 where the kernel does not report it (macOS)."""
    try:
        data_pages = _STATM.read_bytes().split()[5]  # "data" of proc_pid_statm(5)
        return int(data_pages) * resource.getpagesize()
    except OSError:
        return 0


def reason_of(exit_code: int) -> str:
    """The limit that killed a process inside `enforce_limits`, one of `model.textonly`."""
    if exit_code == -signal.SIGPROF:
        return TIME
    # tree-sitter aborts when it gets no memory; the kernel kills when the machine has none.
    return MEMORY if exit_code in (-signal.SIGABRT, -signal.SIGKILL) else CRASH


class Allowance:
    """Seconds that one sync may spend on files that take much longer than usual for their size. Once they are spent,
    the rest of the files is indexed as text: thousands of slow files must not keep a hook busy for hours."""

    def __init__(self, seconds: float = _SLOW_SECONDS) -> None:
        self._seconds_left = seconds

    @property
    def is_spent(self) -> bool:
        return self._seconds_left <= 0

    def charge(self, seconds: float, size: int) -> None:
        self._seconds_left -= max(0.0, seconds - _USUAL_SECONDS - size * _USUAL_SECONDS_PER_BYTE)
