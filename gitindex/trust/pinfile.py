"""The user's file of pins: JSON, 0600, replaced atomically, changed under a lock (RE-5).

A file that others may write, or that cannot be read as written, is an error and never an empty list:
losing a revocation silently would trust a leaked key again.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gitindex.errors import ConfigError, Untrusted, UsageError
from gitindex.trust import strictjson
from gitindex.trust.claim import REPOSITORY
from gitindex.trust.keys import parse_public
from gitindex.trust.pins import MAX_THRESHOLD, Pins, RepositoryTrust, RevokedKey, TrustedKey
from gitindex.trust.strictjson import MalformedError

VERSION = 1
MAX_BYTES = 4 * 1024 * 1024
MAX_KEYS = 256
_KEY_ID = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def load(path: Path) -> Pins:
    """All pins; none when the file does not exist.

    Raises Untrusted when others may write the file, ConfigError when it is not what `update` wrote.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return Pins()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", hint=f"ls -l {path}") from error
    if stat.S_IMODE(mode) & 0o022:
        raise Untrusted(f"{path} can be written by others", hint=f"check it, then chmod 600 {path}")
    try:
        return decode(data)
    except MalformedError as error:
        raise ConfigError(
            f"{path} is damaged: {error}", hint=f"restore {path} or pin the keys again"
        ) from error


def update(
    path: Path, repository: str, change: Callable[[RepositoryTrust], RepositoryTrust]
) -> RepositoryTrust:
    """Apply a transition of `pins` to one repository; two at once both land."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(path.with_name(path.name + ".lock")):
        pins = load(path)
        changed = change(pins.of(repository))
        if changed != pins.of(repository):
            _replace(path, encode(Pins({**pins.repositories, repository: changed})))
    return changed


def encode(pins: Pins) -> bytes:
    listed = {name: _encode_one(trust) for name, trust in pins.repositories.items()}
    return strictjson.dump({"version": VERSION, "repositories": listed})


def decode(data: bytes) -> Pins:
    parsed = strictjson.parse(data, limit=MAX_BYTES)
    fields = strictjson.record(parsed, ("version", "repositories"), "trust file")
    if fields["version"] != VERSION:
        raise MalformedError(f"its version is {fields['version']!r}, this release reads {VERSION}")
    listed = fields["repositories"]
    if not isinstance(listed, dict):
        raise MalformedError("repositories is not an object")
    return Pins(
        {
            strictjson.matching(name, REPOSITORY, "repository id"): _decode_one(value)
            for name, value in listed.items()
        }
    )


def _encode_one(trust: RepositoryTrust) -> dict[str, object]:
    return {
        "remote": trust.remote,
        "endpoint": trust.endpoint,
        "threshold": trust.threshold,
        "trusted": [
            {"key": entry.key.line, "added": entry.added, "by_rotation": entry.by_rotation}
            for entry in trust.trusted
        ],
        "revoked": [
            {"id": entry.id, "comment": entry.comment, "revoked": entry.revoked} for entry in trust.revoked
        ],
    }


def _decode_one(value: object) -> RepositoryTrust:
    fields = strictjson.record(value, RepositoryTrust.__dataclass_fields__, "repository")
    threshold = strictjson.count(fields["threshold"], "threshold", most=MAX_THRESHOLD)
    if not threshold:
        raise MalformedError("a threshold of 0 would trust everybody")
    return RepositoryTrust(
        strictjson.text(fields["remote"], "remote", most=4096),
        strictjson.text(fields["endpoint"], "endpoint", most=4096),
        threshold,
        tuple(map(_trusted, strictjson.items(fields["trusted"], "trusted", most=MAX_KEYS))),
        tuple(map(_revoked, strictjson.items(fields["revoked"], "revoked", most=MAX_KEYS))),
    )


def _trusted(value: object) -> TrustedKey:
    fields = strictjson.record(value, ("key", "added", "by_rotation"), "trusted key")
    if not isinstance(fields["by_rotation"], bool):
        raise MalformedError("by_rotation is not true or false")
    try:
        key = parse_public(strictjson.text(fields["key"], "key", most=512))
    except UsageError as error:
        raise MalformedError(error.message) from None
    return TrustedKey(key, strictjson.matching(fields["added"], _DATE, "date"), fields["by_rotation"])


def _revoked(value: object) -> RevokedKey:
    fields = strictjson.record(value, ("id", "comment", "revoked"), "revoked key")
    return RevokedKey(
        strictjson.matching(fields["id"], _KEY_ID, "key id"),
        strictjson.text(fields["comment"], "comment"),
        strictjson.matching(fields["revoked"], _DATE, "date"),
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(path: Path, data: bytes) -> None:
    """Old or new, never half: the lock makes the one temporary name ours."""
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
