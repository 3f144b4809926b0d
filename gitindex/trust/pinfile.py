"""The trust file with the user's pins: JSON, 0600, replaced atomically, changed under a lock (RE-5).

A file that others own or may write, or that cannot be parsed, is an error and never an empty list: losing a revocation
silently would trust a leaked key again.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gitindex.errors import ConfigError, LeaseHeld
from gitindex.model.foreign import escape_line, quote_argument
from gitindex.trust import pinjson, private_file
from gitindex.trust.pins import RepositoryTrust
from gitindex.trust.scopes import Clone, Pins, TrustTransition
from gitindex.trust.strictjson import MalformedError

_WAIT = 30.0  # seconds to wait for another process that changes the file
_POLL = 0.02  # seconds


def load(path: Path) -> Pins:
    """All pins; none when the file does not exist.

    Raises Untrusted when others may write the file or its folder, ConfigError when it is not what `update` wrote.
    """
    data = private_file.read(path)
    if data is None:
        return Pins()
    try:
        return pinjson.decode(data)
    except MalformedError as error:
        raise _damaged_error(path, error) from error


def update(
    path: Path, repository: str, change: TrustTransition, clone: Clone | None = None
) -> RepositoryTrust:
    """Apply a transition of `pins` to the pin of a clone or, without one, of the repository id; returns the new pin.

    Concurrent updates are all applied.
    """
    new_pins = _rewrite(path, lambda pins: pins.with_change(repository, change, clone))
    return new_pins.trust_for(repository, clone)


def revoke(path: Path, repository: str, key_id: str, today: str, comment: str = "") -> Pins:
    """Revoke a key in every pin of the repository id."""
    return _rewrite(path, lambda pins: pins.with_revocation(repository, key_id, today, comment))


def _rewrite(path: Path, change: Callable[[Pins], Pins]) -> Pins:
    """Load, change and replace the file under its lock. Raises as `load`, and ConfigError when it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        private_file.check_folder(path.parent)
        with _lock_file(path.with_name(path.name + ".lock")):
            pins = load(path)
            new_pins = change(pins)
            if new_pins != pins:
                _replace_file(path, _encode_pins(path, new_pins))
    except OSError as error:
        raise ConfigError(
            f"cannot write {escape_line(str(path))}: {error.strerror}",
            hint=f"ls -la {quote_argument(str(path.parent))}",
        ) from error
    return new_pins


def _encode_pins(path: Path, pins: Pins) -> bytes:
    try:
        return pinjson.encode(pins)
    except MalformedError as error:
        raise ConfigError(
            f"{escape_line(str(path))} cannot hold this: {error}", hint="gitindex trust list"
        ) from error


def _damaged_error(path: Path, error: MalformedError) -> ConfigError:
    return ConfigError(
        f"{escape_line(str(path))} is damaged: {error}",
        hint=f"restore {quote_argument(str(path))} or pin the keys again",
    )


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    """Raises LeaseHeld when another process keeps the lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _WAIT
    try:
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                raise LeaseHeld("another process is changing what is trusted", hint="try again")
            time.sleep(_POLL)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _replace_file(path: Path, data: bytes) -> None:
    """Replace the file atomically and durably. The lock is held, so a fixed temporary name is safe."""
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
