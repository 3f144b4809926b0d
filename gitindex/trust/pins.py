"""One pin: the remote and keys that the user trusts, and the pure transitions of it (RE-5). `scopes` chooses the pin.

A repository may propose a remote and keys; a proposal alone changes nothing. A key is trusted because the user added it
by hand, or because trusted keys introduced it in a rotation. Revoking a key also revokes every key that it introduced,
over any number of generations and whichever happened first, except those that the user added by hand. Older releases
did not record who introduced a key: any revocation in the same pin revokes such a key too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from gitindex.errors import Untrusted, UsageError
from gitindex.model.foreign import quote_argument, quote_text
from gitindex.trust.keys import PublicKey
from gitindex.trust.verify import ADD_KEY, TrustPolicy, VerifiedClaim

MAX_THRESHOLD = 16
MAX_TRUSTED = 256
MAX_ROTATED = 64  # far below MAX_TRUSTED, so that the holder of one key cannot fill the list by rotation
MAX_URL = 4096


@dataclass(frozen=True, slots=True)
class TrustedKey:
    """A key that counts for a pin."""

    key: PublicKey
    added: str  # ISO date
    by_hand: bool = True  # the user added it, perhaps after other keys introduced it
    introduced_by: tuple[str, ...] = ()  # ids of the keys whose claim named it

    @property
    def by_rotation(self) -> bool:
        return not self.by_hand


@dataclass(frozen=True, slots=True)
class RevokedKey:
    """A key that never counts again for a pin, unless `through` is set and the user adds it by hand."""

    id: str
    comment: str
    revoked: str  # ISO date
    through: str = ""  # id of the revoked key that introduced it; "" when the user revoked it by name


@dataclass(frozen=True, slots=True)
class RepositoryTrust:
    """One pin: the remote, the keys, and how many of them must sign."""

    remote: str = ""
    endpoint: str = ""
    threshold: int = 1
    trusted: tuple[TrustedKey, ...] = ()
    revoked: tuple[RevokedKey, ...] = ()

    @property
    def policy(self) -> TrustPolicy:
        return TrustPolicy(
            tuple(entry.key for entry in self.trusted),
            frozenset(entry.id for entry in self.revoked),
            self.threshold,
        )


class Novelty(StrEnum):
    """What a proposal would change; the user must confirm each."""

    FIRST_USE = "first_use"
    REMOTE = "remote_changed"
    ENDPOINT = "endpoint_changed"
    KEYS = "keys_added"


def add_key(trust: RepositoryTrust, key: PublicKey, today: str) -> RepositoryTrust:
    """Trust a key that the user adds by hand; later revocations of its introducers do not reach it.

    Raises UsageError for a key that the user revoked by name, which is final. A key that was revoked together with its
    introducer may be added.
    """
    if any(entry.id == key.id and not entry.through for entry in trust.revoked):
        raise UsageError(f"{key.id} is revoked for this repository", hint="gitindex keys new FILE")
    trusted_entry = next((entry for entry in trust.trusted if entry.key == key), None)
    if trusted_entry is not None:
        by_hand_entry = replace(trusted_entry, by_hand=True)
        return replace(
            trust,
            trusted=tuple(by_hand_entry if entry is trusted_entry else entry for entry in trust.trusted),
        )
    return replace(
        trust,
        trusted=(*trust.trusted, TrustedKey(key, today)),
        revoked=tuple(entry for entry in trust.revoked if entry.id != key.id),
    )


def revoke_key(trust: RepositoryTrust, key_id: str, today: str, comment: str = "") -> RepositoryTrust:
    """Revoke a key, whether it was trusted or not, and every key that it introduced."""
    if any(entry.id == key_id and not entry.through for entry in trust.revoked):
        return trust
    trusted_comment = next((entry.key.comment for entry in trust.trusted if entry.key.id == key_id), "")
    revoked_comment = next((entry.comment for entry in trust.revoked if entry.id == key_id), "")
    others = tuple(entry for entry in trust.revoked if entry.id != key_id)
    return apply_revocations(
        replace(
            trust,
            trusted=tuple(entry for entry in trust.trusted if entry.key.id != key_id),
            revoked=(*others, RevokedKey(key_id, comment or trusted_comment or revoked_comment, today)),
        )
    )


def apply_revocations(trust: RepositoryTrust) -> RepositoryTrust:
    """Revoke every trusted key whose introducer is revoked, until none is left. Idempotent."""
    while True:
        revoked = {entry.id: entry for entry in reversed(trust.revoked)}
        reached_entry = next(
            ((entry, cause) for entry in trust.trusted if (cause := _find_revocation_cause(entry, revoked))),
            None,
        )
        if reached_entry is None:
            return trust
        entry, cause = reached_entry
        revoked_key = RevokedKey(entry.key.id, entry.key.comment, revoked[cause].revoked, cause)
        trust = replace(
            trust,
            trusted=tuple(other for other in trust.trusted if other is not entry),
            revoked=(*trust.revoked, revoked_key) if revoked_key.id not in revoked else trust.revoked,
        )


def _find_revocation_cause(entry: TrustedKey, revoked: dict[str, RevokedKey]) -> str | None:
    """The id of the revoked key that revokes `entry` too, if any."""
    if entry.by_hand:
        return entry.key.id if entry.key.id in revoked else None
    own_ids = (entry.key.id, *entry.introduced_by)
    possible_causes = own_ids if entry.introduced_by else (*own_ids, *revoked)
    return next((name for name in possible_causes if name in revoked), None)


def set_remote(trust: RepositoryTrust, remote: str, endpoint: str = "") -> RepositoryTrust:
    """Raises UsageError unless each is one printable word: they are shown to the user and stored in a strict file."""
    for what, value in (("remote", remote), ("endpoint", endpoint)):
        if len(value) > MAX_URL or not value.isprintable() or " " in value:
            raise UsageError(
                f"the {what} {quote_text(value)} is no URL", hint="gitindex trust add --remote URL"
            )
    return replace(trust, remote=remote, endpoint=endpoint)


def set_threshold(trust: RepositoryTrust, threshold: int) -> RepositoryTrust:
    if not 1 <= threshold <= MAX_THRESHOLD:
        raise UsageError(f"a threshold is between 1 and {MAX_THRESHOLD}, not {threshold}")
    return replace(trust, threshold=threshold)


def rotate(trust: RepositoryTrust, verified_claim: VerifiedClaim, today: str) -> RepositoryTrust:
    """Trust the keys that trusted signers named in their claim and that signed it as well.

    The claim must name them, because anyone can append a signature to an envelope. A signer that was revoked since the
    claim was verified introduces no key. Raises Untrusted when this would exceed MAX_ROTATED keys.
    """
    known_ids = {entry.key.id for entry in trust.trusted} | {entry.id for entry in trust.revoked}
    introduced_by = tuple(key.id for key in verified_claim.signers)
    new_keys = tuple(
        TrustedKey(key, today, by_hand=False, introduced_by=introduced_by)
        for key in dict.fromkeys(verified_claim.successors)
        if key.id not in known_ids
    )
    rotated_count = sum(entry.by_rotation for entry in trust.trusted) + len(new_keys)
    if new_keys and rotated_count > MAX_ROTATED:
        raise Untrusted(
            f"the signers hand over to more keys than the {MAX_ROTATED} that are accepted",
            hint="gitindex trust list",
        )
    return apply_revocations(replace(trust, trusted=(*trust.trusted, *new_keys)))


def find_novelties(
    trust: RepositoryTrust, remote: str, endpoint: str = "", keys: Sequence[PublicKey] = ()
) -> frozenset[Novelty]:
    """What a proposed remote and keys would change; empty when the pin covers them already."""
    if not trust.remote and not trust.trusted:
        return frozenset({Novelty.FIRST_USE})
    changes = set()
    if trust.remote and remote != trust.remote:
        changes.add(Novelty.REMOTE)
    if trust.remote and endpoint != trust.endpoint:
        changes.add(Novelty.ENDPOINT)
    if not set(keys) <= {entry.key for entry in trust.trusted}:
        changes.add(Novelty.KEYS)
    return frozenset(changes)


def require_policy(trust: RepositoryTrust, remote: str, endpoint: str = "") -> TrustPolicy:
    """The policy to verify with. Raises Untrusted, before the remote is contacted, when the pin does not cover it."""
    if not trust.policy.usable_keys:
        fallen_ids = [entry.id for entry in trust.revoked if entry.through]
        because = f"; {', '.join(fallen_ids)} fell with the key that introduced it" if fallen_ids else ""
        raise Untrusted(
            f"no key is trusted for this repository{because}", hint=ADD_KEY, trusted=[], remote=remote
        )
    remote_changes = find_novelties(trust, remote, endpoint) & {Novelty.REMOTE, Novelty.ENDPOINT}
    if remote_changes:
        proposed_remote = " ".join(filter(None, (remote, endpoint)))
        pinned_remote = " ".join(filter(None, (trust.remote, trust.endpoint)))
        raise Untrusted(
            f"the remote is {quote_text(proposed_remote)}, but {quote_text(pinned_remote)} is pinned "
            "for this repository",
            hint=f"gitindex trust add --remote {quote_argument(remote)}",
            novelties=sorted(remote_changes),
        )
    return trust.policy
