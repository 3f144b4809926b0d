"""`trust`: whose signatures count in this clone, and which remote (RE-5). Changes user configuration only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitindex.config import Environment
from gitindex.errors import UsageError
from gitindex.git.history import configure
from gitindex.git.repo import Repo
from gitindex.model.foreign import quoted
from gitindex.model.settings import RemoteProposal
from gitindex.ops.sharing import remote_session
from gitindex.ops.sharing.build_area import repository_at, settings_of
from gitindex.trust import keys, pinfile, pins
from gitindex.trust.claim import REPOSITORY_PATTERN
from gitindex.trust.keys import PublicKey
from gitindex.trust.pin_changes import TrustChange, find_trust_changes
from gitindex.trust.pins import RepositoryTrust
from gitindex.trust.scopes import Clone, Pins
from gitindex.trust.verify import VerifiedClaim


@dataclass(frozen=True, slots=True)
class Wish:
    """What to pin."""

    keys: tuple[PublicKey, ...] = ()
    remote: str = ""
    threshold: int = 0  # 0: leave it


@dataclass(frozen=True, slots=True)
class Known:
    """A repository as sharing sees it in one clone."""

    repository: str
    trust: RepositoryTrust
    proposal: RemoteProposal
    scope: str = "none"  # whose pin is in force: clone | all_clones | none
    elsewhere: Mapping[str, RepositoryTrust] = field(default_factory=dict)  # other pins of the same id

    def to_json(self) -> dict[str, Any]:
        return {
            "repository": self.repository,
            "scope": self.scope,
            "remote": self.trust.remote,
            "endpoint": self.trust.endpoint,
            "threshold": self.trust.threshold,
            "trusted": [
                {
                    "id": entry.key.id,
                    "comment": entry.key.comment,
                    "added": entry.added,
                    "by_rotation": entry.by_rotation,
                    "introduced_by": list(entry.introduced_by),
                }
                for entry in self.trust.trusted
            ],
            "revoked": [asdict(entry) for entry in self.trust.revoked],
            "elsewhere": [
                {"where": where, "remote": one.remote, "trusted": [entry.key.id for entry in one.trusted]}
                for where, one in self.elsewhere.items()
            ],
            "proposed": {
                "url": self.proposal.url,
                "keys": [{"id": key.id, "comment": key.comment} for key in proposed_keys(self.proposal)],
            },
        }


def known(path: Path, environment: Environment) -> Known:
    """Raises NotARepository, UsageError (shallow clone without an id), Untrusted (a pin file others may write)."""
    repo = repository_at(path)
    proposal = settings_of(repo, "HEAD").remote
    name = remote_session.repository_id(repo, proposal)
    return _seen(
        pinfile.load(remote_session.pin_file(environment)), name, remote_session.clone_of(repo), proposal
    )


def set_repository(path: Path, name: str) -> None:
    """For clones that cannot know their id: write it to the user's git configuration of this clone."""
    if not REPOSITORY_PATTERN.fullmatch(name):
        raise UsageError(f"{quoted(name)} is not a repository id", hint="gitindex trust list")
    configure(repository_at(path), remote_session.CONFIG_KEY, name)


def changes(known: Known, environment: Environment, wish: Wish) -> tuple[TrustChange, ...]:
    """What a wish would change, old and new, before the user says yes."""
    endpoint = remote_session.endpoint_of(wish.remote, environment)
    return find_trust_changes(known.trust, known.elsewhere, wish.remote, endpoint, wish.keys)


def add(path: Path, environment: Environment, wish: Wish, *, all_clones: bool = False) -> Known:
    """Pin keys, a remote, a threshold: in this clone, or with `all_clones` wherever no clone has a pin of its own.

    Raises UsageError for a revoked key.
    """
    here = known(path, environment)
    repo = repository_at(path)
    endpoint = remote_session.endpoint_of(wish.remote, environment)

    def change(trust: RepositoryTrust) -> RepositoryTrust:
        for key in wish.keys:
            trust = pins.add_key(trust, key, today())
        if wish.remote:
            trust = pins.set_remote(trust, wish.remote, endpoint)
        return pins.set_threshold(trust, wish.threshold) if wish.threshold else trust

    clone = None if all_clones else _clone_to_pin(repo, environment, here)
    pinfile.update(remote_session.pin_file(environment), here.repository, change, clone)
    return known(path, environment)


def revoke(path: Path, environment: Environment, key: str) -> Known:
    """Refuse a key, named by its id or its `.pub` file, from now on and for good, with all it introduced."""
    here = known(path, environment)
    named = None if key.startswith("SHA256:") else keys.load_public(Path(key))
    found, comment = (named.id, named.comment) if named else (key, "")
    pinfile.revoke(remote_session.pin_file(environment), here.repository, found, today(), comment)
    return known(path, environment)


def remember(
    environment: Environment, share: remote_session.Share, verified: VerifiedClaim
) -> tuple[PublicKey, ...]:
    """After a claim was verified: adopt a rotation's keys, pin a remote used for the first time.

    Changes the pin that the claim was verified by. Returns the keys that are trusted because of it.
    """

    def change(trust: RepositoryTrust) -> RepositoryTrust:
        rotated = pins.rotate(trust, verified, today())
        return rotated if rotated.remote else pins.set_remote(rotated, share.url, share.endpoint)

    path = remote_session.pin_file(environment)
    own = pinfile.load(path).find_clone_trust(share.repository, share.clone) is not None
    changed = pinfile.update(path, share.repository, change, share.clone if own else None)
    return tuple(key for key in verified.successors if key in changed.policy.usable_keys)


def proposed_keys(proposal: RemoteProposal) -> tuple[PublicKey, ...]:
    """Raises UsageError for a line that is no public key."""
    return tuple(keys.parse_public(line) for line in proposal.keys)


def load_keys(files: Sequence[Path]) -> tuple[PublicKey, ...]:
    return tuple(keys.load_public(file) for file in files)


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def _clone_to_pin(repo: Repo, environment: Environment, here: Known) -> Clone:
    """This clone with a mark that no other pin has: a copied clone brings the mark of the one it was copied from."""
    clone = remote_session.marked_clone(repo)
    if here.scope != "clone" and clone.mark in pinfile.load(remote_session.pin_file(environment)).clones:
        return remote_session.marked_clone(repo, anew=True)
    return clone


def _seen(found: Pins, repository: str, clone: Clone, proposal: RemoteProposal) -> Known:
    own = found.find_clone_trust(repository, clone)
    trust = found.trust_for(repository, clone)
    scope = "clone" if own is not None else "all_clones" if trust != RepositoryTrust() else "none"
    return Known(repository, trust, proposal, scope, found.find_other_pins(repository, clone))
