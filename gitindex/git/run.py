"""Starts every git process; bounds its time and its output.

`git.environment` makes the environment of a child (CS-4, CF-5). A busy lock is waited for. Git searches upwards from a
`Path`; a `RepoLocation` is a repository that was found before, passed by `--git-dir` where it is bare.
"""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

from gitindex.errors import GitError, GitMissing, MissingObjects, TransientGitError, TreeTooLarge
from gitindex.git.environment import environment
from gitindex.git.failure import damage_error, find_damage

BACKOFF = (0.05, 0.1, 0.2, 0.4, 0.8)
MAX_OUTPUT = 256 * 1024 * 1024  # bytes of one answer; the status of half a million changed files is 100 MB
_PIPE_BYTES = 64 * 1024  # what a pipe takes without a reader

_TRANSIENT = re.compile(rb"\.lock['\"]?: File exists|[Aa]nother git process|Unable to create '[^']*\.lock'")
_PROMISED = re.compile(rb"from promisor remote|lazy fetching disabled")
LARGE_HINT = "raise max_files below [index] in $GITINDEX_HOME/config.toml if you trust the repository"


class RepoLocation(Protocol):
    """A repository that was found (`git.repo.Repo` is one)."""

    @property
    def root(self) -> Path: ...
    @property
    def git_dir(self) -> Path: ...
    @property
    def bare(self) -> bool: ...
    @property
    def lazy_fetch(self) -> bool: ...
    @property
    def fault(self) -> GitError | None:
        """Why git is not run in it."""


def run(
    location: Path | RepoLocation,
    *args: str,
    stdin: bytes | None = None,
    ok: tuple[int, ...] = (0,),
    timeout: float = 120,
    config: Mapping[str, str | None] | None = None,
    backoff: Sequence[float] = BACKOFF,
) -> bytes:
    """Run `git -C location args` and return its standard output.

    Raises TransientGitError when git stays busy or exceeds `timeout`, TreeTooLarge when it prints more than MAX_OUTPUT,
    MissingObjects when it would have to fetch, GitMissing without a git program, GitDamaged when git cannot read its
    own data, GitError for any other exit code that is not in `ok` (its `detail` holds `stderr: str` and
    `stdout: bytes`).
    """
    command = _build_command(location, args)
    env = environment(lazy_fetch=_may_fetch(location), config=config)
    for pause in (*backoff, None):
        process = _start(command, env, stdin=stdin is not None)
        out, err = _finish(process, stdin, timeout, args)
        if process.returncode in ok:
            return out
        if pause is None or not _TRANSIENT.search(err):
            break
        time.sleep(pause)
    raise _make_error(args, process.returncode, err, out)


class PendingCommands:
    """Git commands that run in the background, side by side. Leaving the `with` kills those that still run."""

    def __init__(
        self, location: Path | RepoLocation, *commands: Sequence[str], config: Mapping[str, str] | None = None
    ) -> None:
        self._location = location
        self._config = config
        self._commands = commands
        self._children: list[subprocess.Popen[bytes]] = []
        self._stderr: dict[int, bytes] = {}
        env = environment(lazy_fetch=_may_fetch(location), config=config)
        try:
            for args in commands:
                self._children.append(_start(_build_command(location, args), env, stdin=False))
        except GitError:
            self.close()
            raise

    def result(self, number: int, timeout: float = 120) -> bytes:
        """The output of one command; call it once. A command that failed is run again by `run`."""
        child, args = self._children[number], self._commands[number]
        out, self._stderr[number] = _finish(child, None, timeout, args)
        if child.returncode == 0:
            return out
        return run(self._location, *args, timeout=timeout, config=self._config)

    def warnings(self, number: int) -> bytes:
        """The standard error of a command whose `result` was read."""
        return self._stderr.get(number, b"")

    def close(self) -> None:
        for child in self._children:
            child.kill()  # does nothing to one that has finished
            _discard(child)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class GitStream:
    """A git process kept open for questions and answers (`cat-file --batch`)."""

    def __init__(self, location: Path | RepoLocation, *args: str, local: bool = False) -> None:
        """`local`: never fetch, whatever the user allows."""
        self._args = args
        import tempfile  # late: most questions need no stream (UI-3)

        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        env = environment(lazy_fetch=not local and _may_fetch(location))
        self._process = _start(_build_command(location, args), env, stdin=True, stderr=self._errors)

    def send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._exit_error() from error

    def read_line(self) -> bytes:
        """The next line, without its end."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._exit_error()
        return line[:-1]

    def read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(size)
        if len(data) != size:
            raise self._exit_error()
        return data

    def read_records(self) -> Iterator[bytes]:
        """The whole output, split at NULs, as it arrives. Raises GitError when git fails."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        rest = b""
        while data := os.read(self._process.stdout.fileno(), _PIPE_BYTES):
            *complete, rest = (rest + data).split(b"\0")
            yield from complete
        if self._process.wait() != 0:
            raise self._exit_error()

    def close(self) -> None:
        if self._process.poll() is None and self._process.stdin and self._process.stdin.closed:
            self._process.kill()  # the caller stopped reading records half-way
        _discard(self._process)
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _exit_error(self) -> GitError:
        _reap(self._process)
        self._errors.seek(0)
        return _make_error(self._args, self._process.returncode, self._errors.read())


def _may_fetch(location: Path | RepoLocation) -> bool:
    return not isinstance(location, Path) and location.lazy_fetch


def _build_command(location: Path | RepoLocation, args: Sequence[str]) -> list[str]:
    if isinstance(location, Path):
        return ["git", "--no-pager", "-C", str(location.absolute()), *args]
    if (
        location.fault is not None
    ):  # found without git: what git would find there now may be another one (CF-5)
        raise location.fault
    git_dir_option = ["--git-dir", str(location.git_dir)] if location.bare else []
    return ["git", "--no-pager", "-C", str(location.root), *git_dir_option, *args]


def _start(
    command: list[str], env: Mapping[str, str], *, stdin: bool, stderr: int | IO[bytes] = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=env,
            cwd="/",  # a detached worker's own directory may be gone
        )
    except FileNotFoundError as error:
        raise GitMissing("git is not installed or not on PATH", hint="install git 2.34 or newer") from error
    except OSError as error:
        raise GitError(f"git could not be started: {error.strerror}") from error


def _finish(
    process: subprocess.Popen[bytes], stdin: bytes | None, timeout: float, args: Sequence[str]
) -> tuple[bytes, bytes]:
    try:
        if stdin is not None and len(stdin) > _PIPE_BYTES:
            return process.communicate(stdin, timeout)
        return _collect(process, stdin, timeout)
    except subprocess.TimeoutExpired as error:
        process.kill()
        _discard(process)
        raise TransientGitError(f"git {args[0]} did not finish within {timeout:g} s") from error
    except _OutputTooLarge:
        process.kill()
        _discard(process)
        raise TreeTooLarge(f"git {args[0]} printed more than {MAX_OUTPUT:,} bytes", hint=LARGE_HINT) from None


class _OutputTooLarge(Exception):
    pass


def _collect(process: subprocess.Popen[bytes], stdin: bytes | None, timeout: float) -> tuple[bytes, bytes]:
    """As `communicate`, but with bounded output: a small repository can make git print gigabytes."""
    assert process.stdout is not None
    assert process.stderr is not None
    if process.stdin is not None:
        _feed(process.stdin, stdin or b"")
    output: dict[IO[bytes], list[bytes]] = {process.stdout: [], process.stderr: []}
    size, deadline = 0, time.monotonic() + timeout
    with selectors.DefaultSelector() as ready:
        for pipe in output:
            ready.register(pipe, selectors.EVENT_READ, pipe)
        while ready.get_map():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise subprocess.TimeoutExpired(process.args, timeout)
            for key, _ in ready.select(remaining):
                data = os.read(key.fd, _PIPE_BYTES)
                size += len(data)
                if size > MAX_OUTPUT:
                    raise _OutputTooLarge
                output[key.data].append(data)
                if not data:
                    ready.unregister(key.data)
                    key.data.close()
    process.wait(max(0.0, deadline - time.monotonic()))
    return b"".join(output[process.stdout]), b"".join(output[process.stderr])


def _feed(pipe: IO[bytes], data: bytes) -> None:
    try:
        pipe.write(data)
        pipe.close()
    except BrokenPipeError:
        return  # the child exited first; its exit code says why


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for a child that should exit soon; kill it when it does not."""
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _discard(process: subprocess.Popen[bytes]) -> None:
    """Close our ends of the pipes before waiting: a grandchild may keep the other ends open."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        try:
            if pipe is not None:
                pipe.close()
        except BrokenPipeError:
            continue  # the child exited first
    _reap(process)


def _make_error(args: Sequence[str], code: int, err: bytes, out: bytes = b"") -> GitError:
    stderr = err.decode("utf-8", "replace").strip()
    lines = [line for line in stderr.splitlines() if line.strip()]
    reason = _last_message(lines) if lines else f"exit code {code}"
    if _TRANSIENT.search(err):
        return TransientGitError(f"git is busy: {reason}", hint="gitindex sync")
    if _PROMISED.search(err):
        return missing_objects_error(reason)
    kind = find_damage(err)
    if kind is not None:
        return damage_error(kind, f"git {args[0]}: {reason}", stderr=stderr, stdout=out)
    return GitError(f"git {args[0]}: {reason}", stderr=stderr, stdout=out)


def missing_objects_error(reason: str) -> MissingObjects:
    """A partial clone whose objects git may not fetch now."""
    return MissingObjects(
        f"this partial clone lacks objects, and gitindex does not let git fetch them: {reason}",
        hint="fetch them (git fetch --refetch --no-filter), or allow it: lazy_fetch = true below [git] in "
        "$GITINDEX_HOME/config.toml",
    )


def _last_message(lines: list[str]) -> str:
    """The last `fatal:` or `error:` line if there is one (hints may follow it), else the last line."""
    fatal_lines = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal_lines or lines)[-1].strip()
