"""The keys of manifests and objects on a remote. Pure; the prefix of the remote itself belongs to the transport.

`v1/<repository>/man/<config fingerprint, 16>/<commit>.json`  signed manifest, written last
`v1/<repository>/obj/<aa>/<sha256 of stored bytes>`           compressed artifacts and tables of contents
`v1/<repository>/gc/…`                                        the mark of a collection, and its clock
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gitindex.errors import UsageError
from gitindex.trust.claim import COMMIT_PATTERN, FINGERPRINT_PATTERN, HASH_PATTERN, REPOSITORY_PATTERN

_MANIFEST = re.compile(r"man/([0-9a-f]{16})/([0-9a-f]{40}|[0-9a-f]{64})\.json")


@dataclass(frozen=True, slots=True)
class Names:
    """The keys of one repository."""

    repository: str

    def __post_init__(self) -> None:
        _require(REPOSITORY_PATTERN, self.repository, "repository id")

    @property
    def root(self) -> str:
        return f"v1/{self.repository}/"

    @property
    def manifests_prefix(self) -> str:
        return f"{self.root}man/"

    @property
    def objects_prefix(self) -> str:
        return f"{self.root}obj/"

    @property
    def mark_key(self) -> str:
        return f"{self.root}gc/mark.json"

    @property
    def clock_key(self) -> str:
        return f"{self.root}gc/clock"

    def config_manifests_prefix(self, config_fingerprint: str) -> str:
        return f"{self.manifests_prefix}{_require(FINGERPRINT_PATTERN, config_fingerprint, 'config fingerprint')[:16]}/"

    def manifest_key(self, config_fingerprint: str, commit: str) -> str:
        return f"{self.config_manifests_prefix(config_fingerprint)}{_require(COMMIT_PATTERN, commit, 'commit')}.json"

    def object_key(self, sha256: str) -> str:
        _require(HASH_PATTERN, sha256, "object hash")
        return f"{self.objects_prefix}{sha256[:2]}/{sha256}"

    def parse_manifest_key(self, key: str) -> str | None:
        """The commit whose manifest this key is, None for any other key."""
        match = _MANIFEST.fullmatch(key.removeprefix(self.root)) if key.startswith(self.root) else None
        return match[2] if match else None

    def parse_object_key(self, key: str) -> str | None:
        name = key.rpartition("/")[2]
        return name if HASH_PATTERN.fullmatch(name) and key == self.object_key(name) else None


def _require(pattern: re.Pattern[str], value: str, what: str) -> str:
    if pattern.fullmatch(value) is None:
        raise UsageError(f"not a {what}: {value!r}")
    return value
