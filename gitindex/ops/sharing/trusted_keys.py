"""`trust`: pin the keys and the remote that this user trusts in a clone (RE-5). Changes user configuration only."""

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
from gitindex.model.foreign import quote_text
from gitindex.model.settings import RemoteProposal
from gitindex.ops.sharing import remote_session
from gitindex.ops.sharing.build_area import read_commit_settings, require_repository
from gitindex.trust import keys, pinfile, pins
from gitindex.trust.claim import REPOSITORY_PATTERN
from gitindex.trust.keys import PublicKey
from gitindex.trust.pin_changes import TrustChange, find_trust_changes
from gitindex.trust.pins import RepositoryTrust
from gitindex.trust.scopes import Clone, Pins
from gitindex.trust.verify import VerifiedClaim


@dataclass(frozen=True, slots=True)
class PinRequest:
    """Keys, remote and threshold to pin."""

    keys: tuple[PublicKey, ...] = ()
    remote: str = ""
    threshold: int = 0  # 0: leave it as it is


@dataclass(frozen=True, slots=True)
class TrustStatus:
    """The pin of a repository that is in force in one clone, and what the repository proposes."""

    repository: str
    trust: RepositoryTrust
    proposal: RemoteProposal
    scope: str = "none"  # whose pin is in force: clone | all_clones | none
    other_pins: Mapping[str, RepositoryTrust] = field(default_factory=dict)  # other pins of the same id

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
                {"where": where, "remote": other.remote, "trusted": [entry.key.id for entry in other.trusted]}
                for where, other in self.other_pins.items()
            ],
            "proposed": {
                "url": self.proposal.url,
                "keys": [{"id": key.id, "comment": key.comment} for key in proposed_keys(self.proposal)],
            },
        }


def read_trust(path: Path, environment: Environment) -> TrustStatus:
    """Raises NotARepository, UsageError (shallow clone without an id), Untrusted (a pin file others may write)."""
    repo = require_repository(path)
    proposal = read_commit_settings(repo, "HEAD").remote
    repository = remote_session.find_repository_id(repo, proposal)
    return _make_trust_status(
        pinfile.load(remote_session.pin_file(environment)),
        repository,
        remote_session.identify_clone(repo),
        proposal,
    )


def set_repository(path: Path, name: str) -> None:
    """Write the repository id to the git configuration of a clone that cannot find it out. Raises UsageError."""
    if not REPOSITORY_PATTERN.fullmatch(name):
        raise UsageError(f"{quote_text(name)} is not a repository id", hint="gitindex trust list")
    configure(require_repository(path), remote_session.CONFIG_KEY, name)


def list_changes(
    current: TrustStatus, environment: Environment, request: PinRequest
) -> tuple[TrustChange, ...]:
    """What `request` would change, old and new, to be shown before the user confirms."""
    endpoint = remote_session.find_endpoint(request.remote, environment)
    return find_trust_changes(current.trust, current.other_pins, request.remote, endpoint, request.keys)


def add(
    path: Path, environment: Environment, request: PinRequest, *, all_clones: bool = False
) -> TrustStatus:
    """Pin keys, a remote, a threshold: in this clone, or with `all_clones` wherever no clone has a pin of its own.

    Raises UsageError for a revoked key.
    """
    current = read_trust(path, environment)
    repo = require_repository(path)
    endpoint = remote_session.find_endpoint(request.remote, environment)

    def change(trust: RepositoryTrust) -> RepositoryTrust:
        for key in request.keys:
            trust = pins.add_key(trust, key, today())
        if request.remote:
            trust = pins.set_remote(trust, request.remote, endpoint)
        return pins.set_threshold(trust, request.threshold) if request.threshold else trust

    clone = None if all_clones else _mark_clone_to_pin(repo, environment, current)
    pinfile.update(remote_session.pin_file(environment), current.repository, change, clone)
    return read_trust(path, environment)


def revoke(path: Path, environment: Environment, key: str) -> TrustStatus:
    """Revoke a key, named by its id or its `.pub` file, for good, and with it every key that it introduced."""
    current = read_trust(path, environment)
    public_key = None if key.startswith("SHA256:") else keys.load_public(Path(key))
    key_id, comment = (public_key.id, public_key.comment) if public_key else (key, "")
    pinfile.revoke(remote_session.pin_file(environment), current.repository, key_id, today(), comment)
    return read_trust(path, environment)


def update_pins(
    environment: Environment, session: remote_session.RemoteSession, verified: VerifiedClaim
) -> tuple[PublicKey, ...]:
    """After a claim was verified: trust the successors that it names, pin a remote used for the first time.

    Changes the pin that the claim was verified by. Returns the successors that are trusted now.
    """

    def change(trust: RepositoryTrust) -> RepositoryTrust:
        rotated = pins.rotate(trust, verified, today())
        return rotated if rotated.remote else pins.set_remote(rotated, session.url, session.endpoint)

    path = remote_session.pin_file(environment)
    has_own_pin = pinfile.load(path).find_clone_trust(session.repository, session.clone) is not None
    updated = pinfile.update(path, session.repository, change, session.clone if has_own_pin else None)
    return tuple(key for key in verified.successors if key in updated.policy.usable_keys)


def proposed_keys(proposal: RemoteProposal) -> tuple[PublicKey, ...]:
    """Raises UsageError for a line that is no public key."""
    return tuple(keys.parse_public(line) for line in proposal.keys)


def load_keys(files: Sequence[Path]) -> tuple[PublicKey, ...]:
    return tuple(keys.load_public(file) for file in files)


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def _mark_clone_to_pin(repo: Repo, environment: Environment, current: TrustStatus) -> Clone:
    """This clone with a mark that no other pin has: a copied clone has the mark of the clone it was copied from."""
    clone = remote_session.mark_clone(repo)
    if current.scope != "clone" and clone.mark in pinfile.load(remote_session.pin_file(environment)).clones:
        return remote_session.mark_clone(repo, renew=True)
    return clone


def _make_trust_status(
    all_pins: Pins, repository: str, clone: Clone, proposal: RemoteProposal
) -> TrustStatus:
    own_pin = all_pins.find_clone_trust(repository, clone)
    trust = all_pins.trust_for(repository, clone)
    scope = "clone" if own_pin is not None else "all_clones" if trust != RepositoryTrust() else "none"
    return TrustStatus(repository, trust, proposal, scope, all_pins.find_other_pins(repository, clone))
