"""Lists how a proposed remote and keys differ from the pins (RE-5). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gitindex.trust.keys import PublicKey
from gitindex.trust.pins import RepositoryTrust


@dataclass(frozen=True, slots=True)
class TrustChange:
    """One difference; `where` names the clones that use the old value."""

    what: str  # remote | endpoint | keys | revoked_key
    old: str
    new: str
    where: str


def find_trust_changes(
    own_trust: RepositoryTrust,
    other_pins: Mapping[str, RepositoryTrust],
    remote: str,
    endpoint: str,
    keys: Sequence[PublicKey],
) -> tuple[TrustChange, ...]:
    """Compare with the pin in force or, where nothing is pinned yet, with the pins of other clones of the same id."""
    compared_pins = {"here": own_trust} if own_trust.remote or own_trust.trusted else dict(other_pins)
    changes = [
        change
        for where, trust in compared_pins.items()
        for change in _compare_pin(trust, where, remote, endpoint, keys)
    ]
    introducers = {entry.id: entry.through for entry in own_trust.revoked if entry.through}
    changes += [
        TrustChange("revoked_key", f"fell with {introducers[key.id]}", key.id, "here")
        for key in keys
        if key.id in introducers
    ]
    return tuple(changes)


def _compare_pin(
    trust: RepositoryTrust, where: str, remote: str, endpoint: str, keys: Sequence[PublicKey]
) -> list[TrustChange]:
    changes = []
    if remote and trust.remote and remote != trust.remote:
        changes.append(TrustChange("remote", trust.remote, remote, where))
    if remote and trust.remote and endpoint != trust.endpoint:
        changes.append(TrustChange("endpoint", trust.endpoint or "none", endpoint or "none", where))
    trusted = {entry.key for entry in trust.trusted}
    added = [key for key in keys if key not in trusted]
    if added and trusted:
        changes.append(
            TrustChange("keys", _join_ids(entry.key for entry in trust.trusted), _join_ids(added), where)
        )
    return changes


def _join_ids(keys: Iterable[PublicKey]) -> str:
    return ", ".join(key.id for key in keys)
