"""One publication under way: what to pack, what to upload, in which order (RE-2).

Objects, then the table of contents, then the signed manifest. The remote is asked about every object each time.
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
from gitindex.ops.sharing.published_snapshots import Finder
from gitindex.ops.sharing.remote_session import Share
from gitindex.remote import collection, publisher, toc, upload
from gitindex.remote.fetch_plan import read_toc
from gitindex.remote.publisher import Artifact, PushPlan
from gitindex.remote.stored_objects import Packed
from gitindex.remote.transport import OnProgress, Patience, Put
from gitindex.remote.upload import Outgoing, Sent
from gitindex.store import steps
from gitindex.store.layout import Layout
from gitindex.trust.keys import SigningKey

_KNOWN_DEPTH = 64  # how far back to look for objects that need no packing


@dataclass(frozen=True, slots=True)
class Tally:
    """Objects and bytes: sent, and found there already."""

    uploaded: tuple[int, int] = (0, 0)
    reused: tuple[int, int] = (0, 0)

    def __add__(self, other: Tally) -> Tally:
        return Tally(_sum(self.uploaded, other.uploaded), _sum(self.reused, other.reused))

    def objects(self) -> dict[str, int]:
        return {"uploaded": self.uploaded[0], "reused": self.reused[0]}

    def bytes(self) -> dict[str, int]:
        return {"uploaded": self.uploaded[1], "reused": self.reused[1]}


@dataclass(frozen=True, slots=True)
class Publication:
    share: Share
    layout: Layout
    manifest: Manifest
    signers: tuple[SigningKey, ...]
    successors: tuple[SigningKey, ...]
    environment: Environment
    patience: Patience | None
    transfer: OnProgress

    def publish(self, scratch: Path) -> tuple[Put, Tally]:
        """Everything to the remote; whether the manifest is new, and what travelled."""
        steps.reach("push.pack")
        plan = self._plan(scratch)
        table, packed = publisher.pack_all(plan, self.share.names, scratch)
        steps.reach("push.objects")
        tally = _known(plan) + self._upload(packed)
        reference, stored = toc.pack(table)
        steps.reach("push.toc")
        tally += self._upload((Outgoing(self.share.names.object(reference.sha256), reference.size, stored),))
        heirs = [key.public for key in self.successors]
        contents = (reference, table.totals)
        claim = signed_claim.describe(self.share, self.manifest, contents, self.environment, heirs)
        envelope = signed_claim.sign(claim, (*self.signers, *self.successors))
        steps.reach("push.manifest")
        bound = self.share.binding(claim.commit)
        put = publisher.publish_manifest(
            self.share.transport, self.share.names, envelope, self.share.policy, bound
        )
        steps.reach("push.done")
        return put, tally + Tally((1, len(envelope))) if put is Put.CREATED else tally

    def _plan(self, scratch: Path) -> PushPlan:
        data = portable.encode(self.manifest)
        (scratch / portable.NAME).write_bytes(data)
        files = [Artifact(portable.NAME, scratch / portable.NAME, sha256_hex(data), len(data))]
        files += [
            Artifact(one.path, self.layout.base / one.path, one.sha256, one.size_bytes)
            for one in portable.artifacts(self.manifest)
        ]
        known = self._packed()
        wanted = [self.share.names.object(known[one.sha256].sha256) for one in files if one.sha256 in known]
        present = upload.present(self.share.transport, wanted)
        condemned = self._condemned()
        spared = {key: size for key, size in present.items() if key not in condemned}
        return publisher.plan_push(files, known, spared, self.share.names)

    def _packed(self) -> dict[str, Packed]:
        """Raw hash → object, from the nearest publication: packing again is only needed for what is new."""
        with suppress(RemoteError, IntegrityError):
            finder = Finder(self.share, depth=_KNOWN_DEPTH)
            found = next(finder.candidates(self.manifest.git.head_sha or ""), None)
            if found is not None:
                table = read_toc(self.share.transport, self.share.names, found.claim, self.patience)
                return {entry.packed.raw_sha256: entry.packed for entry in table.entries}
        return {}

    def _condemned(self) -> frozenset[str]:
        mark = collection.read_mark(self.share.transport, self.share.names)
        return mark.keys if mark else frozenset()

    def _upload(self, outgoing: tuple[Outgoing, ...]) -> Tally:
        sent = upload.upload(
            self.share.transport,
            outgoing,
            condemned=self._condemned(),
            on_progress=self.transfer,
            patience=self.patience,
        )
        made = sum(sent.objects[one] for one in (Sent.CREATED, Sent.REPLACED))
        return Tally((made, sent.sent_bytes), (sent.objects[Sent.REUSED], sent.bytes[Sent.REUSED]))


def _known(plan: PushPlan) -> Tally:
    sizes = {entry.packed.sha256: entry.packed.size for entry in plan.reuse}
    return Tally(reused=(len(sizes), sum(sizes.values())))


def _sum(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]
