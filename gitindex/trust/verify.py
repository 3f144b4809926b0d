"""Verifies the bytes of an envelope against a policy; returns the claim or refuses (RE-4, RE-5). Pure: no IO, no clock.

Order: sizes → envelope → signatures → only then parse the payload → compare every binding with the locally computed
value. Key ids are hints and never decide; a key that is both trusted and revoked counts as revoked.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitindex.errors import IncompatibleVersion, Untrusted
from gitindex.model.foreign import quote_text
from gitindex.trust import claim as claims
from gitindex.trust import envelope as envelopes
from gitindex.trust.claim import SnapshotClaim
from gitindex.trust.envelope import MAX_ENVELOPE_BYTES, Envelope
from gitindex.trust.keys import PublicKey
from gitindex.trust.strictjson import MalformedError

ADD_KEY = "gitindex trust add FILE.pub"


@dataclass(frozen=True, slots=True)
class TrustPolicy:
    """How many distinct keys must sign, out of which trusted ones; revoked ones never count."""

    trusted_keys: tuple[PublicKey, ...]
    revoked_ids: frozenset[str] = frozenset()  # key ids
    threshold: int = 1

    @property
    def usable_keys(self) -> tuple[PublicKey, ...]:
        return tuple(key for key in dict.fromkeys(self.trusted_keys) if key.id not in self.revoked_ids)


@dataclass(frozen=True, slots=True)
class Binding:
    """What the claim must say, computed from the local repository and configuration."""

    repository: str
    commit: str
    tree: str | None  # None: the commit is not in this clone, so its tree is unknown and not compared
    config_fingerprint: str
    format: int


@dataclass(frozen=True, slots=True)
class VerifiedClaim:
    """A claim that met the policy, the trusted keys that signed it, and the new keys that they introduce."""

    claim: SnapshotClaim
    signers: tuple[PublicKey, ...]
    successors: tuple[PublicKey, ...]  # the claim names them, and they signed it too (key rotation)


def verify(data: bytes, policy: TrustPolicy, expected: Binding) -> VerifiedClaim:
    """Verify an envelope and return its claim.

    Raises Untrusted when it is malformed, not signed by enough trusted keys, or bound to other values than `expected`;
    IncompatibleVersion when it is genuine but of a format this release cannot read.
    """
    envelope = _decode_envelope(data)
    signers = _require_signers(envelope, policy)
    claim = _decode_claim(envelope, expected.format)
    _check_binding(claim, expected)
    successors = tuple(
        key
        for key in claim.successors
        if key not in policy.trusted_keys and key.id not in policy.revoked_ids and envelope.is_signed_by(key)
    )
    return VerifiedClaim(claim, signers, successors)


def _decode_envelope(data: bytes) -> Envelope:
    try:
        return envelopes.decode(data)
    except MalformedError as error:
        raise Untrusted(f"the signed manifest is malformed: {error}", hint="gitindex verify") from None


def _require_signers(envelope: Envelope, policy: TrustPolicy) -> tuple[PublicKey, ...]:
    """The usable keys that signed. Tries every one: key ids in the envelope are unauthenticated hints."""
    signers = tuple(key for key in policy.usable_keys if envelope.is_signed_by(key))
    if policy.threshold < 1 or len(signers) < policy.threshold:
        raise _untrusted_error(envelope, policy, signers)
    return signers


def _untrusted_error(envelope: Envelope, policy: TrustPolicy, signers: tuple[PublicKey, ...]) -> Untrusted:
    revoked_signers = [
        key for key in policy.trusted_keys if key.id in policy.revoked_ids and envelope.is_signed_by(key)
    ]
    claimed_ids = [signature.key_id for signature in envelope.signatures]
    trusted_lines = [f"{key.id} {key.comment}".strip() for key in policy.usable_keys]
    message = (
        f"signed by too few trusted keys: {len(signers)} of the {policy.threshold} needed. "
        f"Signed by (as it says): {', '.join(quote_text(name, 60) for name in claimed_ids) or 'nobody'}. "
        f"Trusted: {', '.join(trusted_lines) or 'nobody'}."
    )
    if revoked_signers or any(name in policy.revoked_ids for name in claimed_ids):
        message += " A key that signed it is revoked."
    return Untrusted(
        message,
        hint=ADD_KEY,
        signed_by=claimed_ids,
        trusted=[key.id for key in policy.usable_keys],
        revoked=sorted(policy.revoked_ids),
        verified=[key.id for key in signers],
    )


def _decode_claim(envelope: Envelope, supported_format: int) -> SnapshotClaim:
    try:
        claimed_format = claims.peek_format(envelope.payload, limit=MAX_ENVELOPE_BYTES)
        if claimed_format is not None and claimed_format != supported_format:
            raise IncompatibleVersion(
                f"the snapshot has format {claimed_format}; this release reads format {supported_format}",
                hint="use the release of gitindex that the publisher uses",
            )
        return claims.decode(envelope.payload, limit=MAX_ENVELOPE_BYTES)
    except MalformedError as error:
        raise Untrusted(f"the signed statement is malformed: {error}", hint="gitindex verify") from None


def _check_binding(claim: SnapshotClaim, expected: Binding) -> None:
    """Refuse a genuine statement about another snapshot (substitution attack), naming the value that differs."""
    for name in ("repository", "commit", "tree", "config_fingerprint"):
        signed_value, local_value = getattr(claim, name), getattr(expected, name)
        if local_value is not None and signed_value != local_value:
            what = name.replace("_", " ")
            raise Untrusted(
                f"the signed {what} is {signed_value}, but here it is {local_value}",
                hint="gitindex verify",
                binding=name,
                signed=signed_value,
                expected=local_value,
            )
