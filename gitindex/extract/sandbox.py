"""Client of the parser process (`parser_process`): restarts it when it dies, kills it when it stalls.

An idle process is kept for the next request: starting one costs more than parsing a few files.
"""

from __future__ import annotations

import marshal
import os
import pickle
import select
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gitindex import launch
from gitindex.errors import WorkerFailed
from gitindex.extract import file_limits
from gitindex.extract.parser_process import END, EXCEEDED, HEADER, VALUE
from gitindex.model import textonly

STALL_SECONDS = 60.0  # without a reply and without processor time; a process that computes has its own limit
_MODULE = "gitindex.extract.parser_process"
_READ_BYTES = 1 << 20
_MAX_STARTS = 3
_idle: list[tuple[int, Sandbox]] = []  # with the id of the owning process: a fork must not use its parent's
_lock = threading.Lock()


class SandboxDied(Exception):
    """The process died, or was killed, without a reply; `reason` is one of `model.textonly`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SandboxStalled(SandboxDied):
    """It sent nothing and used no processor time: something outside stopped it."""


class _ProcessExited(Exception):
    """The process exited by itself, with code 0."""


class Sandbox:
    """One process, started when it is needed and started again after it died."""

    def __init__(self) -> None:
        self._process: launch.Process | None = None
        self._buffer = bytearray()

    def start(self) -> None:
        """Start the process if none runs: it loads while the caller does something else."""
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            self._process = launch.start(_MODULE)
            self._buffer.clear()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                os.set_blocking(pipe.fileno(), False)

    def stream(self, module: str, name: str, *arguments: object) -> Iterator[Any]:
        """What the generator function `module`.`name` yields for `arguments`, as plain values.

        Raises SandboxDied when the process did, WorkerFailed for a mistake in the function or the installation.
        """
        body = pickle.dumps((module, name, arguments), pickle.HIGHEST_PROTOCOL)
        complete = False
        try:
            kind, value = self._ask(HEADER.pack(len(body)), body)
            while kind == VALUE:
                yield value
                kind, value = self._read_reply()
            complete = kind in (END, EXCEEDED)
        except _ProcessExited as error:
            raise SandboxDied(textonly.CRASH) from error
        finally:
            if not complete:  # the caller stopped half-way: the next reply would answer an old request
                self.close()
        if kind == EXCEEDED:
            raise SandboxDied(value)
        if kind != END:
            raise WorkerFailed(f"the process that reads files failed: {value}")

    def _ask(self, *parts: bytes) -> tuple[str, Any]:
        """The first reply. A process that had exited by itself, idle or grown, is replaced and asked again."""
        for _ in range(_MAX_STARTS):
            self.start()
            try:
                self._send(*parts)
                return self._read_reply()
            except _ProcessExited:
                continue
        raise WorkerFailed("the process that reads files ends as soon as it is started")

    def close(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                assert pipe is not None
                pipe.close()
        process.wait()

    def _send(self, *parts: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        pipe = self._process.stdin.fileno()
        for part in parts:
            rest = memoryview(part)
            while rest:
                self._wait(pipe, select.POLLOUT)
                try:
                    rest = rest[os.write(pipe, rest) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError as error:
                    raise self._exit_error() from error

    def _read_reply(self) -> tuple[str, Any]:
        size = HEADER.unpack(self._read_exactly(HEADER.size))[0]
        kind, value = marshal.loads(self._read_exactly(size))  # noqa: S302 - plain values of our own process
        return kind, value

    def _read_exactly(self, count: int) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        while len(self._buffer) < count:
            self._wait(pipe, select.POLLIN)
            try:
                data = os.read(pipe, _READ_BYTES)
            except BlockingIOError:
                continue
            if not data:
                raise self._exit_error()
            self._buffer += data
        message = bytes(self._buffer[:count])
        del self._buffer[:count]
        return message

    def _wait(self, pipe: int, event: int) -> None:
        """Until the pipe is ready. Kills a process that uses no processor time; one that computes has its own limit."""
        poll = select.poll()
        poll.register(pipe, event)
        last_time = self._read_processor_time()
        while not poll.poll(STALL_SECONDS * 1000):
            now = self._read_processor_time()
            if now == last_time:
                self.close()
                raise SandboxStalled(textonly.TIME)
            last_time = now

    def _read_processor_time(self) -> str:
        """User and system ticks of the process, as the kernel writes them; a coarse clock where there is no /proc."""
        assert self._process is not None
        try:
            with open(f"/proc/{self._process.pid}/stat", encoding="utf-8", errors="replace") as stat:
                return " ".join(
                    stat.read().rpartition(")")[2].split()[11:13]
                )  # utime and stime, proc_pid_stat(5)
        except OSError:
            return str(time.monotonic() // (4 * STALL_SECONDS))

    def _exit_error(self) -> Exception:
        """A signal means that a limit was exceeded; an exit code that the process could not do its work."""
        assert self._process is not None
        code = self._process.wait()
        self.close()
        if code > 0:
            return WorkerFailed(f"the process that reads files failed with exit code {code}")
        return SandboxDied(file_limits.reason_of(code)) if code else _ProcessExited()


@contextmanager
def borrow_sandbox() -> Iterator[Sandbox]:
    """A sandbox that nobody else uses meanwhile; the one returned last stays idle for the next caller."""
    with _lock:
        box = next((box for owner, box in _idle if owner == os.getpid()), None) or Sandbox()
        _idle.clear()
    try:
        yield box
    except BaseException:
        box.close()  # a reply may be half read
        raise
    with _lock:
        spare, _idle[:] = [box for owner, box in _idle if owner == os.getpid()], [(os.getpid(), box)]
    for unused in spare:
        unused.close()


def start_early() -> None:
    """Start a process that will be needed soon."""
    with borrow_sandbox() as box:
        box.start()
