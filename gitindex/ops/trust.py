"""`trust`: whose signatures count for this repository, and which remote (RE-5). Changes user configuration only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitindex.config import Environment
from gitindex.errors import UsageError
from gitindex.git.history import configure
from gitindex.model.settings import RemoteProposal
from gitindex.ops import sharing
from gitindex.ops.buildarea import repository_at, settings_of
from gitindex.trust import keys, pinfile, pins
from gitindex.trust.claim import REPOSITORY
from gitindex.trust.keys import PublicKey
from gitindex.trust.pins import RepositoryTrust
from gitindex.trust.verify import Trusted


@dataclass(frozen=True, slots=True)
class Wish:
    """What to pin."""

    keys: tuple[PublicKey, ...] = ()
    remote: str = ""
    threshold: int = 0  # 0: leave it


@dataclass(frozen=True, slots=True)
class Known:
    """A repository as sharing sees it."""

    repository: str
    trust: RepositoryTrust
    proposal: RemoteProposal

    def to_json(self) -> dict[str, Any]:
        return {
            "repository": self.repository,
            "remote": self.trust.remote,
            "endpoint": self.trust.endpoint,
            "threshold": self.trust.threshold,
            "trusted": [
                {
                    "id": entry.key.id,
                    "comment": entry.key.comment,
                    "added": entry.added,
                    "by_rotation": entry.by_rotation,
                }
                for entry in self.trust.trusted
            ],
            "revoked": [asdict(entry) for entry in self.trust.revoked],
            "proposed": {
                "url": self.proposal.url,
                "keys": [{"id": key.id, "comment": key.comment} for key in proposed_keys(self.proposal)],
            },
        }


def known(path: Path, environment: Environment) -> Known:
    """Raises NotARepository, UsageError (shallow clone without an id), Untrusted (a pin file others may write)."""
    repo = repository_at(path)
    proposal = settings_of(repo, "HEAD").remote
    name = sharing.repository_id(repo, proposal)
    return Known(name, sharing.pinned(environment, name), proposal)


def set_repository(path: Path, name: str) -> None:
    """For clones that cannot know their id: write it to the user's git configuration of this clone."""
    if not REPOSITORY.fullmatch(name):
        raise UsageError(f"{name!r} is not a repository id")
    configure(repository_at(path), sharing.CONFIG_KEY, name)


def add(path: Path, environment: Environment, wish: Wish) -> Known:
    """Pin keys, a remote, a threshold. Raises UsageError for a revoked key."""
    here = known(path, environment)
    endpoint = sharing.endpoint_of(wish.remote, environment)

    def change(trust: RepositoryTrust) -> RepositoryTrust:
        for key in wish.keys:
            trust = pins.add_key(trust, key, today())
        if wish.remote:
            trust = pins.set_remote(trust, wish.remote, endpoint)
        return pins.set_threshold(trust, wish.threshold) if wish.threshold else trust

    return replace(here, trust=pinfile.update(sharing.pin_file(environment), here.repository, change))


def revoke(path: Path, environment: Environment, key: str) -> Known:
    """Refuse a key, named by its id or its `.pub` file, from now on and for good."""
    here = known(path, environment)
    found = key if key.startswith("SHA256:") else keys.load_public(Path(key)).id
    changed = pinfile.update(
        sharing.pin_file(environment),
        here.repository,
        lambda trust: pins.revoke_key(trust, found, today()),
    )
    return replace(here, trust=changed)


def remember(environment: Environment, share: sharing.Share, verified: Trusted) -> tuple[PublicKey, ...]:
    """After a verified fetch: adopt a rotation's keys, pin a remote used for the first time."""

    def change(trust: RepositoryTrust) -> RepositoryTrust:
        rotated = pins.rotate(trust, verified, today())
        return rotated if rotated.remote else pins.set_remote(rotated, share.url, share.endpoint)

    pinfile.update(sharing.pin_file(environment), share.repository, change)
    return verified.successors


def proposed_keys(proposal: RemoteProposal) -> tuple[PublicKey, ...]:
    """Raises UsageError for a line that is no public key."""
    return tuple(keys.parse_public(line) for line in proposal.keys)


def load_keys(files: Sequence[Path]) -> tuple[PublicKey, ...]:
    return tuple(keys.load_public(file) for file in files)


def today() -> str:
    return datetime.now(UTC).date().isoformat()
