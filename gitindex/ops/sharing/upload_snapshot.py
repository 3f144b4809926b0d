"""Upload one snapshot: objects, then the table of contents, then the signed manifest (RE-2).

The remote is asked about every object each time, because an object uploaded earlier may be gone.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitindex.config import Environment
from gitindex.errors import IntegrityError, RemoteError
from gitindex.model import portable
from gitindex.model.ids import sha256_hex
from gitindex.model.manifest import Manifest
from gitindex.ops.sharing import signed_claim
from gitindex.ops.sharing.published_snapshots import PublishedFinder
from gitindex.ops.sharing.remote_session import RemoteSession
from gitindex.remote import collection, publisher, toc, upload
from gitindex.remote.fetch_plan import read_toc
from gitindex.remote.publisher import LocalArtifact, PushPlan
from gitindex.remote.stored_objects import PackedArtifact
from gitindex.remote.transport import OnProgress, PutOutcome, Timeouts
from gitindex.remote.upload import PendingUpload, UploadOutcome
from gitindex.store import steps
from gitindex.store.layout import Layout
from gitindex.trust.keys import SigningKey

_SEARCH_DEPTH = 64  # commits to search for a publication whose objects need no packing


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of objects and their bytes together."""

    objects: int = 0
    size: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.objects + other.objects, self.size + other.size)


@dataclass(frozen=True, slots=True)
class Tally:
    """What was sent, and what the remote had already."""

    uploaded: Amount = Amount()
    reused: Amount = Amount()

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.uploaded + other.uploaded, self.reused + other.reused)

    def objects(self) -> dict[str, int]:
        return {"uploaded": self.uploaded.objects, "reused": self.reused.objects}

    def bytes(self) -> dict[str, int]:
        return {"uploaded": self.uploaded.size, "reused": self.reused.size}


@dataclass(frozen=True, slots=True)
class Publication:
    """A snapshot to publish, and everything that this needs."""

    session: RemoteSession
    layout: Layout
    manifest: Manifest
    signers: tuple[SigningKey, ...]
    successors: tuple[SigningKey, ...]
    environment: Environment
    timeouts: Timeouts | None
    transfer: OnProgress

    def publish(self, scratch: Path) -> tuple[PutOutcome, Tally]:
        """Upload everything; returns whether the manifest is new, and what was sent."""
        steps.reach("push.pack")
        plan = self._plan(scratch)
        table, packed = publisher.pack_all(plan, self.session.names, scratch)
        steps.reach("push.objects")
        tally = _tally_reused(plan) + self._upload(packed)
        reference, toc_bytes = toc.pack(table)
        steps.reach("push.toc")
        toc_key = self.session.names.object_key(reference.sha256)
        tally += self._upload((PendingUpload(toc_key, reference.size, toc_bytes),))
        claim = signed_claim.make_claim(
            session=self.session,
            manifest=self.manifest,
            reference=reference,
            totals=table.totals,
            environment=self.environment,
            successors=[key.public for key in self.successors],
        )
        envelope = signed_claim.sign(claim, (*self.signers, *self.successors))
        steps.reach("push.manifest")
        binding = self.session.binding(claim.commit)
        put = publisher.publish_manifest(
            self.session.transport, self.session.names, envelope, self.session.policy, binding
        )
        steps.reach("push.done")
        if put is PutOutcome.CREATED:
            tally += Tally(uploaded=Amount(1, len(envelope)))
        return put, tally

    def _plan(self, scratch: Path) -> PushPlan:
        data = portable.encode(self.manifest)
        (scratch / portable.NAME).write_bytes(data)
        files = [LocalArtifact(portable.NAME, scratch / portable.NAME, sha256_hex(data), len(data))]
        files += [
            LocalArtifact(
                artifact.path, self.layout.base / artifact.path, artifact.sha256, artifact.size_bytes
            )
            for artifact in portable.published_artifacts(self.manifest)
        ]
        packed_objects = self._find_packed_objects()
        object_keys = [
            self.session.names.object_key(packed_objects[file.sha256].sha256)
            for file in files
            if file.sha256 in packed_objects
        ]
        present_objects = upload.find_existing(self.session.transport, object_keys)
        condemned = self._list_condemned()
        reusable = {key: size for key, size in present_objects.items() if key not in condemned}
        return publisher.plan_push(files, packed_objects, reusable, self.session.names)

    def _find_packed_objects(self) -> dict[str, PackedArtifact]:
        """Raw hash → object, from the nearest publication: only what it does not hold has to be packed."""
        with suppress(RemoteError, IntegrityError):
            finder = PublishedFinder(self.session, depth=_SEARCH_DEPTH)
            published = next(finder.iter_published(self.manifest.git.head_sha or ""), None)
            if published is not None:
                table = read_toc(self.session.transport, self.session.names, published.claim, self.timeouts)
                return {entry.packed.raw_sha256: entry.packed for entry in table.entries}
        return {}

    def _list_condemned(self) -> frozenset[str]:
        mark = collection.read_mark(self.session.transport, self.session.names)
        return mark.keys if mark else frozenset()

    def _upload(self, outgoing: tuple[PendingUpload, ...]) -> Tally:
        sent = upload.upload(
            self.session.transport,
            outgoing,
            condemned=self._list_condemned(),
            on_progress=self.transfer,
            timeouts=self.timeouts,
        )
        uploaded = sum(sent.objects[outcome] for outcome in (UploadOutcome.CREATED, UploadOutcome.REPLACED))
        return Tally(
            uploaded=Amount(uploaded, sent.sent_bytes),
            reused=Amount(sent.objects[UploadOutcome.REUSED], sent.bytes[UploadOutcome.REUSED]),
        )


def _tally_reused(plan: PushPlan) -> Tally:
    sizes = {entry.packed.sha256: entry.packed.size for entry in plan.reuse}
    return Tally(reused=Amount(len(sizes), sum(sizes.values())))
