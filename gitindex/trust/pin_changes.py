"""What a yes would change about whom to believe, told as old and new (RE-5). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gitindex.trust.keys import PublicKey
from gitindex.trust.pins import RepositoryTrust


@dataclass(frozen=True, slots=True)
class TrustChange:
    """`where` names the clones that use the old value."""

    what: str  # remote | endpoint | keys | revoked_key
    old: str
    new: str
    where: str


def trust_changes(
    here: RepositoryTrust,
    elsewhere: Mapping[str, RepositoryTrust],
    remote: str,
    endpoint: str,
    keys: Sequence[PublicKey],
) -> tuple[TrustChange, ...]:
    """Compared with the pin in force; where nothing is pinned yet, with what other clones of the same id use."""
    known = {"here": here} if here.remote or here.trusted else dict(elsewhere)
    found = [one for where, trust in known.items() for one in _against(trust, where, remote, endpoint, keys)]
    fell = {entry.id: entry for entry in here.revoked if entry.through}
    found += [
        TrustChange("revoked_key", f"fell with {fell[key.id].through}", key.id, "here")
        for key in keys
        if key.id in fell
    ]
    return tuple(found)


def _against(
    trust: RepositoryTrust, where: str, remote: str, endpoint: str, keys: Sequence[PublicKey]
) -> list[TrustChange]:
    found = []
    if remote and trust.remote and remote != trust.remote:
        found.append(TrustChange("remote", trust.remote, remote, where))
    if remote and trust.remote and endpoint != trust.endpoint:
        found.append(TrustChange("endpoint", trust.endpoint or "none", endpoint or "none", where))
    trusted = {entry.key for entry in trust.trusted}
    added = [key for key in keys if key not in trusted]
    if added and trusted:
        found.append(TrustChange("keys", _ids(entry.key for entry in trust.trusted), _ids(added), where))
    return found


def _ids(keys: Iterable[PublicKey]) -> str:
    return ", ".join(key.id for key in keys)
