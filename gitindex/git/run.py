"""The only door to the git program.

Invariant: a child sees nothing of the caller's repository (`GIT_DIR`, `git -c` leaks, …), never prompts,
never takes optional locks (CS-4), and runs no external diff or fsmonitor program. Busy locks are waited out.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from gitindex.errors import GitError, TransientGitError

BACKOFF = (0.05, 0.1, 0.2, 0.4, 0.8)

# Who the user is, how git was installed and reached; nothing that names a repository.
_KEEP = frozenset(
    {
        "GIT_ALLOW_PROTOCOL",
        "GIT_CEILING_DIRECTORIES",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
        "GIT_EXEC_PATH",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSH_VARIANT",
    }
)
_KEEP_PREFIX = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSL_")
_FORCED = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # An object id means its own bytes, whatever refs/replace says: both object readers must agree.
    "GIT_NO_REPLACE_OBJECTS": "1",
}
# Newer git has a switch; older git is stopped by allowing no transport.
_OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
_CONFIG = {"core.fsmonitor": "false", "diff.external": "", "core.pager": "cat"}
_TRANSIENT = re.compile(rb"\.lock['\"]?: File exists|[Aa]nother git process|Unable to create '[^']*\.lock'")


def environment(*, lazy_fetch: bool = True) -> dict[str, str]:
    """The child's environment: ours, minus every `GIT_*` that is not on the keep list."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or _kept(name)}
    return {**kept, **_FORCED, **({} if lazy_fetch else _OFFLINE)}


def run(
    root: Path,
    *args: str,
    stdin: bytes | None = None,
    ok: tuple[int, ...] = (0,),
    timeout: float = 120,
    config: Mapping[str, str] | None = None,
    lazy_fetch: bool = True,
    backoff: Sequence[float] = BACKOFF,
) -> bytes:
    """Run `git -C root args` and return its standard output.

    Raises TransientGitError when git stays busy or exceeds `timeout`, GitError for any other exit code that
    is not in `ok` (its `detail` holds `stderr: str` and `stdout: bytes`).
    """
    command = _command(root, args, config)
    for pause in (*backoff, None):
        process = _start(command, lazy_fetch=lazy_fetch, stdin=stdin is not None)
        out, err = _finish(process, stdin, timeout, args)
        if process.returncode in ok:
            return out
        if pause is None or not _TRANSIENT.search(err):
            break
        time.sleep(pause)
    raise _failure(args, process.returncode, err, out)


class Pending:
    """Independent reads that run while we do something else. Leaving the `with` leaves no child behind."""

    def __init__(self, root: Path, *commands: Sequence[str]) -> None:
        self._root = root
        self._commands = commands
        self._children: list[subprocess.Popen[bytes]] = []
        self._said: dict[int, bytes] = {}
        try:
            for args in commands:
                self._children.append(_start(_command(root, args, None), lazy_fetch=True, stdin=False))
        except GitError:
            self.close()
            raise

    def result(self, number: int, timeout: float = 120) -> bytes:
        """What one command wrote, to be asked for once. One that failed is run again, as `run` does."""
        child, args = self._children[number], self._commands[number]
        out, self._said[number] = _finish(child, None, timeout, args)
        return out if child.returncode == 0 else run(self._root, *args, timeout=timeout)

    def warnings(self, number: int) -> bytes:
        """What a command whose `result` was asked for said besides."""
        return self._said.get(number, b"")

    def close(self) -> None:
        for child in self._children:
            child.kill()  # nobody wants the answer any more; a finished one is not touched
            _discard(child)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Stream:
    """A git process kept open for questions and answers (`cat-file --batch`)."""

    def __init__(self, root: Path, *args: str, lazy_fetch: bool = True) -> None:
        self._args = args
        import tempfile  # late: most questions need no stream (UI-3)

        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = _start(
            _command(root, args, None), lazy_fetch=lazy_fetch, stdin=True, stderr=self._errors
        )

    def send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._death() from error

    def line(self) -> bytes:
        """The next line, without its end."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._death()
        return line[:-1]

    def read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(size)
        if len(data) != size:
            raise self._death()
        return data

    def close(self) -> None:
        _discard(self._process)
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _death(self) -> GitError:
        _reap(self._process)
        self._errors.seek(0)
        return _failure(self._args, self._process.returncode, self._errors.read())


def _kept(name: str) -> bool:
    return name in _KEEP or name.startswith(_KEEP_PREFIX)


def _command(root: Path, args: Sequence[str], config: Mapping[str, str] | None) -> list[str]:
    settings = {**_CONFIG, **(config or {})}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return ["git", "--no-pager", "-C", str(root.absolute()), *options, *args]


def _start(
    command: list[str], *, lazy_fetch: bool, stdin: bool, stderr: int | IO[bytes] = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment(lazy_fetch=lazy_fetch),
            cwd="/",  # a detached worker's own directory may be gone
        )
    except FileNotFoundError as error:
        raise GitError("git is not installed or not on PATH", hint="install git 2.34 or newer") from error
    except OSError as error:
        raise GitError(f"git could not be started: {error.strerror}") from error


def _finish(
    process: subprocess.Popen[bytes], stdin: bytes | None, timeout: float, args: Sequence[str]
) -> tuple[bytes, bytes]:
    try:
        return process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired as error:
        process.kill()
        _discard(process)
        raise TransientGitError(f"git {args[0]} did not finish within {timeout:g} s") from error


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Never leave a child behind, whatever made us stop listening."""
    try:
        process.wait(timeout=2)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _discard(process: subprocess.Popen[bytes]) -> None:
    """Close our ends first: a grandchild may hold the others for as long as it likes."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        try:
            if pipe is not None:
                pipe.close()
        except BrokenPipeError:
            continue  # the child left first; there is nothing more to tell it
    _reap(process)


def _failure(args: Sequence[str], code: int, err: bytes, out: bytes = b"") -> GitError:
    said = err.decode("utf-8", "replace").strip()
    lines = [line for line in said.splitlines() if line.strip()]
    reason = _reason(lines) if lines else f"exit code {code}"
    if _TRANSIENT.search(err):
        return TransientGitError(f"git is busy: {reason}", hint="gitindex sync")
    return GitError(f"git {args[0]}: {reason}", stderr=said, stdout=out)


def _reason(lines: list[str]) -> str:
    """Git's own last word: the last `fatal:`/`error:` line if there is one (hints may follow it)."""
    named = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (named or lines)[-1].strip()
