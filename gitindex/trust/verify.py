"""Bytes and policy in, a trusted claim or a refusal out (RE-4, RE-5). Pure: no IO, no clock.

Order: sizes → envelope → signatures → only then the payload is parsed → every binding is compared with the
value computed here. A key id is a hint and never decides; a key both trusted and revoked is revoked.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitindex.errors import IncompatibleVersion, Untrusted
from gitindex.model.foreign import quoted
from gitindex.trust import claim as claims
from gitindex.trust import envelope as envelopes
from gitindex.trust.claim import SnapshotClaim
from gitindex.trust.envelope import MAX_ENVELOPE_BYTES, Envelope
from gitindex.trust.keys import PublicKey
from gitindex.trust.strictjson import MalformedError

ADD_KEY = "gitindex trust add FILE.pub"


@dataclass(frozen=True, slots=True)
class Policy:
    """Whom to believe: how many distinct keys, out of which, except which."""

    trusted: tuple[PublicKey, ...]
    revoked: frozenset[str] = frozenset()  # key ids
    threshold: int = 1

    @property
    def usable(self) -> tuple[PublicKey, ...]:
        return tuple(key for key in dict.fromkeys(self.trusted) if key.id not in self.revoked)


@dataclass(frozen=True, slots=True)
class Binding:
    """What the claim must say, computed from the local repository and configuration."""

    repository: str
    commit: str
    tree: str | None  # None: the commit is not in this clone, and the signature alone says which tree it has
    config_fingerprint: str
    format: int


@dataclass(frozen=True, slots=True)
class Trusted:
    """A claim that met the policy, the keys that made it so, and the keys they hand over to."""

    claim: SnapshotClaim
    signers: tuple[PublicKey, ...]
    successors: tuple[
        PublicKey, ...
    ]  # named in the signed claim and signing it too: a rotation's dual signature


def verify(data: bytes, policy: Policy, expected: Binding) -> Trusted:
    """Turn the bytes of an envelope into a claim to rely on.

    Raises Untrusted when it is malformed, not signed by enough trusted keys, or about something else;
    IncompatibleVersion when it is genuine but of a format this release cannot read.
    """
    envelope = _decoded(data)
    signers = _signers(envelope, policy)
    claim = _claim(envelope, expected.format)
    _check_binding(claim, expected)
    successors = tuple(
        key
        for key in claim.successors
        if key not in policy.trusted and key.id not in policy.revoked and envelope.signed_by(key)
    )
    return Trusted(claim, signers, successors)


def _decoded(data: bytes) -> Envelope:
    try:
        return envelopes.decode(data)
    except MalformedError as error:
        raise Untrusted(f"the signed manifest is malformed: {error}", hint="gitindex verify") from None


def _signers(envelope: Envelope, policy: Policy) -> tuple[PublicKey, ...]:
    """The usable keys that really signed; all are tried, since key ids are the sender's word."""
    signers = tuple(key for key in policy.usable if envelope.signed_by(key))
    if policy.threshold < 1 or len(signers) < policy.threshold:
        raise _refusal(envelope, policy, signers)
    return signers


def _refusal(envelope: Envelope, policy: Policy, signers: tuple[PublicKey, ...]) -> Untrusted:
    revoked = [key for key in policy.trusted if key.id in policy.revoked and envelope.signed_by(key)]
    claimed = [signature.key_id for signature in envelope.signatures]
    trusted = [f"{key.id} {key.comment}".strip() for key in policy.usable]
    message = (
        f"signed by too few trusted keys: {len(signers)} of the {policy.threshold} needed. "
        f"Signed by (as it says): {', '.join(quoted(name, 60) for name in claimed) or 'nobody'}. "
        f"Trusted: {', '.join(trusted) or 'nobody'}."
    )
    if revoked or any(name in policy.revoked for name in claimed):
        message += " A key that signed it is revoked."
    return Untrusted(
        message,
        hint=ADD_KEY,
        signed_by=claimed,
        trusted=[key.id for key in policy.usable],
        revoked=sorted(policy.revoked),
        verified=[key.id for key in signers],
    )


def _claim(envelope: Envelope, readable: int) -> SnapshotClaim:
    try:
        written = claims.peek_format(envelope.payload, limit=MAX_ENVELOPE_BYTES)
        if written is not None and written != readable:
            raise IncompatibleVersion(
                f"the snapshot has format {written}; this release reads format {readable}",
                hint="use the release of gitindex that the publisher uses",
            )
        return claims.decode(envelope.payload, limit=MAX_ENVELOPE_BYTES)
    except MalformedError as error:
        raise Untrusted(f"the signed statement is malformed: {error}", hint="gitindex verify") from None


def _check_binding(claim: SnapshotClaim, expected: Binding) -> None:
    """A genuine statement about something else is the substitution attack: refuse it by name."""
    for name in ("repository", "commit", "tree", "config_fingerprint"):
        said, here = getattr(claim, name), getattr(expected, name)
        if here is not None and said != here:
            what = name.replace("_", " ")
            raise Untrusted(
                f"the signed {what} is {said}, but here it is {here}",
                hint="gitindex verify",
                binding=name,
                signed=said,
                expected=here,
            )
