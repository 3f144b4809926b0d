"""Publish a snapshot: plan, pack, and write the manifest as the last step (RE-2).

Until the manifest is there, nothing on the remote refers to what was uploaded; a publisher that dies at any point
leaves at most unreferenced objects. Everything is safe to repeat and safe to run twice at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gitindex.errors import IntegrityError, OutcomeUnknown, RemoteDenied, RemoteMissing, Untrusted
from gitindex.remote import stored_objects, toc
from gitindex.remote.remote_layout import Names
from gitindex.remote.stored_objects import PackedArtifact
from gitindex.remote.toc import Toc, TocEntry
from gitindex.remote.transport import PutOutcome, Transport, get
from gitindex.remote.upload import PendingUpload
from gitindex.trust.claim import SnapshotClaim
from gitindex.trust.envelope import MAX_ENVELOPE_BYTES
from gitindex.trust.verify import Binding, TrustPolicy, verify


@dataclass(frozen=True, slots=True)
class LocalArtifact:
    """A file of the snapshot to publish, as the local manifest describes it."""

    path: str  # inside the snapshot
    source: Path
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class PushPlan:
    reuse: tuple[TocEntry, ...]  # artifacts whose objects are on the remote now
    pack: tuple[LocalArtifact, ...]  # artifacts to pack and upload


def plan_push(
    artifacts: Iterable[LocalArtifact],
    parent_objects: Mapping[str, PackedArtifact],
    remote_sizes: Mapping[str, int],
    names: Names,
) -> PushPlan:
    """Which artifacts need packing. Pure.

    `parent_objects` maps raw hashes to objects of an earlier table of contents, `remote_sizes` the keys that are on the
    remote now to their sizes (`upload.find_existing`). An object that is missing there, or of another size, is packed
    again.
    """
    reuse: list[TocEntry] = []
    pack: list[LocalArtifact] = []
    for artifact in artifacts:
        packed = parent_objects.get(artifact.sha256)
        if (
            packed is not None
            and packed.raw_size == artifact.size
            and _is_on_remote(packed, remote_sizes, names)
        ):
            reuse.append(TocEntry(artifact.path, packed))
        else:
            pack.append(artifact)
    return PushPlan(tuple(reuse), tuple(pack))


def pack_all(plan: PushPlan, names: Names, scratch: Path) -> tuple[Toc, tuple[PendingUpload, ...]]:
    """Pack into `scratch`; returns the table of contents and the objects to upload.

    Raises IntegrityError when a file is not what the local manifest says.
    """
    entries = list(plan.reuse)
    outgoing = []
    for number, artifact in enumerate(plan.pack):
        target = scratch / f"{number}.zst"
        packed = stored_objects.pack_file(artifact.source, target)
        if (packed.raw_sha256, packed.raw_size) != (artifact.sha256, artifact.size):
            raise IntegrityError(
                f"{artifact.path} differs from its manifest; nothing was published", hint="gitindex repair"
            )
        entries.append(TocEntry(artifact.path, packed))
        outgoing.append(PendingUpload(names.object_key(packed.sha256), packed.size, target))
    return toc.make(entries), tuple(outgoing)


def publish_manifest(
    transport: Transport, names: Names, envelope: bytes, policy: TrustPolicy, binding: Binding
) -> PutOutcome:
    """Write the manifest. EXISTS when a trusted one with the same table of contents is there.

    Any other manifest is replaced: a damaged or foreign one, one of a revoked key, one whose objects were not checked
    just now. After a lost answer the manifest is read back; raises OutcomeUnknown when that fails too.
    """
    ours = verify(envelope, policy, binding).claim
    key = names.manifest_key(binding.config_fingerprint, binding.commit)
    existing = _read_manifest(transport, key)
    if existing is not None:
        if _is_equivalent(existing, ours, policy, binding):
            return PutOutcome.EXISTS
        transport.put(key, envelope)
        return PutOutcome.CREATED
    try:
        outcome = transport.put_if_absent(key, envelope)
    except OutcomeUnknown:
        if _read_manifest(transport, key) != envelope:
            raise
        return PutOutcome.CREATED
    return outcome


def _read_manifest(transport: Transport, key: str) -> bytes | None:
    try:
        return get(transport, key, max_bytes=MAX_ENVELOPE_BYTES)
    except (RemoteMissing, RemoteDenied):
        return None  # without s3:ListBucket a missing key is refused; a real refusal shows at the write
    except IntegrityError:
        return b""  # too large to be a manifest


def _is_equivalent(data: bytes, ours: SnapshotClaim, policy: TrustPolicy, binding: Binding) -> bool:
    try:
        theirs = verify(data, policy, binding).claim
    except Untrusted:
        return False
    return theirs.toc == ours.toc and set(ours.successors) <= set(theirs.successors)


def _is_on_remote(packed: PackedArtifact, remote_sizes: Mapping[str, int], names: Names) -> bool:
    return remote_sizes.get(names.object_key(packed.sha256)) == packed.size
