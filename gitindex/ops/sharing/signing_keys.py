"""The publisher's keys: from a file or a variable, never from the command line (RE-4)."""

from __future__ import annotations

from pathlib import Path

from gitindex.config import Environment
from gitindex.errors import ConfigError
from gitindex.trust import keys
from gitindex.trust.keys import PublicKey, SigningKey


def generate_key(path: Path, comment: str) -> PublicKey:
    """Write `path` and `path.pub`. Raises UsageError rather than replace a file."""
    return keys.generate(path, comment)


def load_signing_key(environment: Environment) -> SigningKey | None:
    """The key to sign with, None without one. Raises ConfigError when it cannot be used."""
    if environment.signing_key_file:
        return keys.load_private(Path(environment.signing_key_file))
    return keys.parse_private(environment.signing_key) if environment.signing_key else None


def require_signing_key(environment: Environment) -> SigningKey:
    key = load_signing_key(environment)
    if key is None:
        raise ConfigError(
            "no signing key: set GITINDEX_SIGNING_KEY_FILE or GITINDEX_SIGNING_KEY",
            hint="gitindex keys new FILE",
        )
    return key
