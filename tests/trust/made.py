"""Keys and claims for tests: fixed seeds, so failures repeat."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gitindex.trust import claim as claims
from gitindex.trust import envelope as envelopes
from gitindex.trust.claim import SnapshotClaim, TocReference, Totals
from gitindex.trust.keys import PublicKey, SigningKey
from gitindex.trust.verify import Binding

REPOSITORY = "r" + "0" * 39


def signing_key(name: str) -> SigningKey:
    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())
    return SigningKey(PublicKey(private.public_key().public_bytes_raw(), name), private)


def snapshot_claim(**changes: Any) -> SnapshotClaim:
    made = SnapshotClaim(
        repository=REPOSITORY,
        commit="c" * 40,
        tree="d" * 40,
        config_fingerprint="f" * 64,
        format=1,
        toc=TocReference("1" * 64, 100, "2" * 64, 300),
        totals=Totals(2, 1000, 4000),
        builder="gitindex on ci",
        built_at="2026-01-02T03:04:05Z",
        build_ms=4200,
    )
    return replace(made, **changes)


def binding(**changes: Any) -> Binding:
    made = Binding(REPOSITORY, "c" * 40, "d" * 40, "f" * 64, 1)
    return replace(made, **changes)


def signed(*keys: SigningKey, **changes: Any) -> bytes:
    return envelopes.encode(envelopes.sign(claims.encode(snapshot_claim(**changes)), keys))
