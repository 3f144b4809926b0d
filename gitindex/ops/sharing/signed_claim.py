"""Make the claim about a build, and sign it (RE-4)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import gitindex
from gitindex.config import Environment
from gitindex.model.manifest import Manifest
from gitindex.model.versions import PUBLISHED_FORMAT
from gitindex.ops.sharing.remote_session import RemoteSession
from gitindex.trust import claim as claims
from gitindex.trust import envelope as envelopes
from gitindex.trust.claim import SnapshotClaim, TocReference, Totals
from gitindex.trust.keys import PublicKey, SigningKey


def make_claim(
    *,
    session: RemoteSession,
    manifest: Manifest,
    reference: TocReference,
    totals: Totals,
    environment: Environment,
    successors: Sequence[PublicKey],
) -> SnapshotClaim:
    """The claim about a build: its commit and contents, when it was made, by what, and how long it took in all."""
    binding = session.binding(manifest.git.head_sha or "")
    created = datetime.fromisoformat(manifest.created_at).astimezone(UTC)
    return SnapshotClaim(
        repository=binding.repository,
        commit=binding.commit,
        tree=session.tree(binding.commit),
        config_fingerprint=binding.config_fingerprint,
        format=PUBLISHED_FORMAT,
        toc=reference,
        totals=totals,
        builder=f"gitindex {gitindex.__version__}" + (" in CI" if environment.ci else ""),
        built_at=created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        build_ms=total_build_ms(manifest),
        successors=tuple(successors),
    )


def total_build_ms(manifest: Manifest) -> int:
    """How long it took to make this snapshot: every sync it builds upon, and the last run of each indexer."""
    indexer_ms = sum(int(layer.get("elapsed_ms", 0)) for layer in manifest.semantic)
    return manifest.timings_ms.get("total", 0) + indexer_ms


def sign(claim: SnapshotClaim, keys: Sequence[SigningKey]) -> bytes:
    return envelopes.encode(envelopes.sign(claims.encode(claim), keys))
