"""Snapshots to publish in tests: artifacts on disk, signed and pushed with the real building blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from gitindex.remote import fetch_plan, publisher, toc, upload
from gitindex.remote.download import download
from gitindex.remote.publisher import LocalArtifact
from gitindex.remote.remote_layout import Names
from gitindex.remote.toc import Toc
from gitindex.remote.transport import Timeouts, Transport
from gitindex.remote.upload import PendingUpload, UploadReport
from gitindex.trust import claim as claims
from gitindex.trust import envelope as envelopes
from gitindex.trust.claim import SnapshotClaim
from gitindex.trust.keys import SigningKey
from gitindex.trust.verify import Binding, TrustPolicy
from tests.trust.made import REPOSITORY, binding, signing_key, snapshot_claim

NAMES = Names(REPOSITORY)
CI = signing_key("ci")
POLICY = TrustPolicy((CI.public,))
IMPATIENT = Timeouts(attempts=3, back_off=0.0, object_seconds=5.0)
FILES = {
    "manifest.json": b'{"files": 3}',
    "lexical/a.term": bytes(range(256)) * 300,
    "segments/s1/facts.sqlite": b"SQLite format 3" * 4000,
}


def artifacts(where: Path, files: Mapping[str, bytes] = FILES) -> list[LocalArtifact]:
    made = []
    for path, data in files.items():
        source = where / path
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_bytes(data)
        made.append(LocalArtifact(path, source, hashlib.sha256(data).hexdigest(), len(data)))
    return made


def publish(
    transport: Transport,
    where: Path,
    files: Mapping[str, bytes] = FILES,
    keys: Sequence[SigningKey] = (CI,),
    *,
    bound: Binding | None = None,
    condemned: frozenset[str] = frozenset(),
    manifest: bool = True,
) -> tuple[SnapshotClaim, UploadReport]:
    """Everything a push does after the build, in its order."""
    bound = bound or binding()
    plan = publisher.plan_push(artifacts(where / "snapshot", files), {}, {}, NAMES)
    (where / "scratch").mkdir(exist_ok=True)
    table, outgoing = publisher.pack_all(plan, NAMES, where / "scratch")
    reference, stored = toc.pack(table)
    whole = [*outgoing, PendingUpload(NAMES.object_key(reference.sha256), reference.size, stored)]
    sent = upload.upload(transport, whole, condemned=condemned, timeouts=IMPATIENT)
    claim = snapshot_claim(
        toc=reference,
        totals=table.totals,
        commit=bound.commit,
        tree=bound.tree,
        config_fingerprint=bound.config_fingerprint,
    )
    if manifest:
        envelope = envelopes.encode(envelopes.sign(claims.encode(claim), keys))
        publisher.publish_manifest(
            transport, NAMES, envelope, TrustPolicy(tuple(k.public for k in keys)), bound
        )
    return claim, sent


def receive(transport: Transport, claim: SnapshotClaim, where: Path, timeouts: Timeouts = IMPATIENT) -> Toc:
    """Everything a fetch does between verification and installation."""
    table = fetch_plan.read_toc(transport, NAMES, claim)
    plan = fetch_plan.plan_fetch(table, {}, NAMES, where / "staging")
    download(transport, plan.download, where / "partials", timeouts=timeouts)
    return table


def staged(where: Path) -> dict[str, bytes]:
    root = where / "staging"
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
