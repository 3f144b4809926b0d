"""Ed25519 keys in OpenSSH files; ids are what `ssh-keygen -lf` prints (RE-4).

Private keys are never printed. Reading environment variables is left to the callers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)

from gitindex.errors import ConfigError, UsageError

_ALGORITHM = "ssh-ed25519"
# SSH wire format of a public key: length and name of the algorithm, length (32) of the key; the key follows.
_WIRE_PREFIX = b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"
_RAW_BYTES = 32
_MAX_COMMENT = 200


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The 32 bytes of a key and a comment for people, which does not count when keys are compared."""

    raw: bytes
    comment: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        """The fingerprint, as `ssh-keygen -lf` prints it."""
        digest = hashlib.sha256(_WIRE_PREFIX + self.raw).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")

    @property
    def line(self) -> str:
        """The one line of a `.pub` file."""
        wire = base64.b64encode(_WIRE_PREFIX + self.raw).decode()
        return f"{_ALGORITHM} {wire} {self.comment}".rstrip()

    def verifies(self, signature: bytes, message: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key; `repr` shows the public half only."""

    public: PublicKey
    _private: Ed25519PrivateKey = field(repr=False, compare=False)

    def sign(self, message: bytes) -> bytes:
        return self._private.sign(message)


def parse_public(line: str) -> PublicKey:
    """Read the line of a `.pub` file.

    Raises UsageError for another key type, broken base64 or a comment with control characters.
    """
    parts = line.strip().split(None, 2)
    if len(parts) < 2 or parts[0] != _ALGORITHM:
        raise UsageError("not an ssh-ed25519 public key", hint="gitindex keys new FILE")
    try:
        wire = base64.b64decode(parts[1], validate=True)
    except binascii.Error as error:
        raise UsageError(f"public key is not base64: {error}") from error
    if not wire.startswith(_WIRE_PREFIX) or len(wire) != len(_WIRE_PREFIX) + _RAW_BYTES:
        raise UsageError("public key is not the 32 bytes of an ed25519 key")
    comment = parts[2] if len(parts) == 3 else ""
    return PublicKey(wire[len(_WIRE_PREFIX) :], _check_comment(comment))


def load_public(path: Path) -> PublicKey:
    try:
        return parse_public(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read public key {path}: {error}") from error


def parse_private(content: str) -> SigningKey:
    """Read an OpenSSH private key; tolerates a missing last newline and CRLF, as in values of CI variables.

    Raises ConfigError; the message never holds any of the content.
    """
    data = (content.replace("\r\n", "\n").strip() + "\n").encode("utf-8", "surrogateescape")
    try:
        key = load_ssh_private_key(data, password=None)
    except TypeError:
        raise ConfigError(
            "the signing key is protected by a passphrase; CI needs one of its own",
            hint="gitindex keys new FILE",
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise ConfigError(
            "the signing key is not an OpenSSH private key", hint="gitindex keys new FILE"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError("the signing key is not an ed25519 key", hint="gitindex keys new FILE")
    return _make_signing_key(key, "")


def load_private(path: Path) -> SigningKey:
    try:
        return parse_private(path.read_text("utf-8", "surrogateescape"))
    except OSError as error:
        raise ConfigError(f"cannot read signing key {path}: {error.strerror}") from error


def generate(path: Path, comment: str = "gitindex") -> PublicKey:
    """Write a new key pair: `path` (0600) and `path.pub`. Raises UsageError when either file exists."""
    _check_comment(comment)
    public_path = path.with_name(path.name + ".pub")
    if public_path.exists():
        raise UsageError(f"{public_path} exists already", hint="choose another file name")
    private = Ed25519PrivateKey.generate()
    key = _make_signing_key(private, comment).public
    _create_file(path, private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()), 0o600)
    _create_file(public_path, f"{key.line}\n".encode(), 0o644)
    return key


def _make_signing_key(private: Ed25519PrivateKey, comment: str) -> SigningKey:
    raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return SigningKey(PublicKey(raw, comment), private)


def _create_file(path: Path, data: bytes, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except FileExistsError:
        raise UsageError(f"{path} exists already", hint="choose another file name") from None
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _check_comment(comment: str) -> str:
    """Require one printable line: comments are shown on terminals. Raises UsageError."""
    if len(comment) > _MAX_COMMENT or not comment.isprintable():
        raise UsageError("a key's comment must be one printable line of at most 200 characters")
    return comment
