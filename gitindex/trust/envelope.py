"""DSSE v1 envelopes: the exact payload bytes are signed, so nothing needs canonical JSON (RE-4). Pure.

Decoding an envelope proves nothing; `verify` checks its signatures. Key ids are unauthenticated hints.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

from gitindex.trust import strictjson
from gitindex.trust.keys import PublicKey, SigningKey
from gitindex.trust.strictjson import MalformedError

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MAX_ENVELOPE_BYTES = 64 * 1024
MAX_SIGNATURES = 16
_SIGNATURE_BYTES = 64


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature over the message of an envelope."""

    key_id: str
    value: bytes


@dataclass(frozen=True, slots=True)
class Envelope:
    """A payload with its signatures, not verified."""

    payload_type: str
    payload: bytes
    signatures: tuple[Signature, ...]

    @property
    def message(self) -> bytes:
        """The bytes that the signatures cover."""
        return pae(self.payload_type, self.payload)

    def is_signed_by(self, key: PublicKey) -> bool:
        """Whether any signature was made by this key; ignores the key ids in the envelope."""
        return any(key.verifies(signature.value, self.message) for signature in self.signatures)


def pae(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding; the lengths fix the border between type and payload."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def sign(payload: bytes, keys: Sequence[SigningKey]) -> Envelope:
    """A new envelope with one signature per key; two keys make the dual signature of a rotation."""
    return add_signatures(Envelope(PAYLOAD_TYPE, payload, ()), keys)


def add_signatures(envelope: Envelope, keys: Sequence[SigningKey]) -> Envelope:
    """Add a signature of each key that has not signed the payload yet."""
    new_signatures = tuple(
        Signature(key.public.id, key.sign(envelope.message))
        for key in keys
        if not envelope.is_signed_by(key.public)
    )
    return Envelope(envelope.payload_type, envelope.payload, (*envelope.signatures, *new_signatures))


def encode(envelope: Envelope) -> bytes:
    """The bytes to publish. Raises MalformedError for an envelope that `decode` would refuse."""
    data = strictjson.dump(
        {
            "payloadType": envelope.payload_type,
            "payload": base64.b64encode(envelope.payload).decode(),
            "signatures": [
                {"keyid": signature.key_id, "sig": base64.b64encode(signature.value).decode()}
                for signature in envelope.signatures
            ],
        }
    )
    decode(data)
    return data


def decode(data: bytes) -> Envelope:
    """Parse an envelope; verifies no signature. Checks sizes before parsing. Raises MalformedError."""
    parsed = strictjson.parse(data, limit=MAX_ENVELOPE_BYTES)
    fields = strictjson.require_record(parsed, ("payloadType", "payload", "signatures"), "envelope")
    payload_type = strictjson.require_text(fields["payloadType"], "payload type")
    if payload_type != PAYLOAD_TYPE:
        raise MalformedError(f"payload type is {payload_type!r}, not {PAYLOAD_TYPE!r}")
    signatures = strictjson.require_list(fields["signatures"], "signatures", maximum=MAX_SIGNATURES)
    return Envelope(
        payload_type, _decode_base64(fields["payload"], "payload"), tuple(map(_decode_signature, signatures))
    )


def _decode_signature(value: object) -> Signature:
    fields = strictjson.require_record(value, ("keyid", "sig"), "signature")
    raw = _decode_base64(fields["sig"], "signature")
    if len(raw) != _SIGNATURE_BYTES:
        raise MalformedError("a signature is not 64 bytes")
    return Signature(strictjson.require_text(fields["keyid"], "key id"), raw)


def _decode_base64(value: object, what: str) -> bytes:
    if not isinstance(value, str):
        raise MalformedError(f"{what} is not a string")
    try:
        return base64.b64decode(value.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise MalformedError(f"{what} is not base64") from None
