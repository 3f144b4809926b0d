"""`push`: objects, then the table of contents, then the signed manifest, last (RE-2).

Safe to repeat and safe to race: until the manifest is there nothing refers to what was uploaded.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gitindex.config import Environment
from gitindex.errors import IntegrityError, RemoteError
from gitindex.model import portable
from gitindex.model.ids import sha256_hex
from gitindex.model.manifest import Manifest
from gitindex.ops import keys, outgoing, sharing, statement
from gitindex.ops.buildarea import built, open_area
from gitindex.ops.codebase import Codebase
from gitindex.ops.published import Finder
from gitindex.ops.sharing import Share
from gitindex.remote import gc, toc, upload
from gitindex.remote import push as pushing
from gitindex.remote.fetch import read_toc
from gitindex.remote.objects import Packed
from gitindex.remote.push import Artifact, PushPlan
from gitindex.remote.transport import OnProgress, Patience, Put
from gitindex.remote.upload import Outgoing, Sent
from gitindex.store import steps
from gitindex.store.integrity import Verifier
from gitindex.store.readers import ReadersLock
from gitindex.trust.keys import SigningKey, load_private
from gitindex.trust.verify import Policy
from gitindex.view.snapshot import SnapshotView

_KNOWN_DEPTH = 64  # how far back to look for objects that need no packing


@dataclass(frozen=True, slots=True)
class PushOptions:
    url: str = ""
    rev: str = "HEAD"
    branches: tuple[str, ...] = ()  # besides those the commit's settings name
    successors: tuple[Path, ...] = ()  # private keys to hand over to (RE-5)
    patience: Patience | None = None


@dataclass(frozen=True, slots=True)
class PushReport:
    status: str
    commit: str
    repository: str
    remote: str
    manifest: str  # created | exists
    objects: dict[str, int]  # uploaded, reused
    bytes: dict[str, int]
    signers: tuple[str, ...]
    successors: tuple[str, ...]
    elapsed_ms: int


@dataclass(frozen=True, slots=True)
class _Push:
    """One push under way."""

    share: Share
    manifest: Manifest
    signers: tuple[SigningKey, ...]
    successors: tuple[SigningKey, ...]
    environment: Environment
    patience: Patience | None
    transfer: OnProgress

    def publish(self, codebase: Codebase, scratch: Path) -> tuple[Put, dict[str, int], dict[str, int]]:
        """Everything to the remote; the manifest's fate, objects and bytes (uploaded, reused)."""
        steps.reach("push.pack")
        plan = self._plan(codebase, scratch)
        table, packed = pushing.pack_all(plan, self.share.names, scratch)
        steps.reach("push.objects")
        objects, sizes = self._upload(packed)
        reference, stored = toc.pack(table)
        steps.reach("push.toc")
        more = self._upload((Outgoing(self.share.names.object(reference.sha256), reference.size, stored),))
        claim = statement.describe(
            self.share, self.manifest, (reference, table.totals), self.environment,
            [key.public for key in self.successors],
        )  # fmt: skip
        envelope = statement.sign(claim, (*self.signers, *self.successors))
        steps.reach("push.manifest")
        put = pushing.publish_manifest(
            self.share.transport,
            self.share.names,
            envelope,
            self.share.policy,
            self.share.binding(claim.commit),
        )
        steps.reach("push.done")
        known = sum({entry.packed.sha256: entry.packed.size for entry in plan.reuse}.values())
        written = (1, len(envelope)) if put is Put.CREATED else (0, 0)
        return (
            put,
            {
                "uploaded": objects["uploaded"] + more[0]["uploaded"] + written[0],
                "reused": objects["reused"]
                + more[0]["reused"]
                + len({one.packed.sha256 for one in plan.reuse}),
            },
            {
                "uploaded": sizes["uploaded"] + more[1]["uploaded"] + written[1],
                "reused": sizes["reused"] + more[1]["reused"] + known,
            },
        )

    def _plan(self, codebase: Codebase, scratch: Path) -> PushPlan:
        data = portable.encode(self.manifest)
        (scratch / portable.NAME).write_bytes(data)
        files = [Artifact(portable.NAME, scratch / portable.NAME, sha256_hex(data), len(data))]
        files += [
            Artifact(one.path, codebase.layout.base / one.path, one.sha256, one.size_bytes)
            for one in portable.artifacts(self.manifest)
        ]
        known = self._known()
        wanted = [self.share.names.object(known[one.sha256].sha256) for one in files if one.sha256 in known]
        present = upload.present(self.share.transport, wanted)
        condemned = self._condemned()
        spared = {key: size for key, size in present.items() if key not in condemned}
        return pushing.plan_push(files, known, spared, self.share.names)

    def _known(self) -> dict[str, Packed]:
        """Raw hash → object, from the nearest publication: packing again is only needed for what is new."""
        with suppress(RemoteError, IntegrityError):
            finder = Finder(self.share, depth=_KNOWN_DEPTH)
            found = next(finder.candidates(self.manifest.git.head_sha or ""), None)
            if found is not None:
                table = read_toc(self.share.transport, self.share.names, found.claim)
                return {entry.packed.raw_sha256: entry.packed for entry in table.entries}
        return {}

    def _condemned(self) -> frozenset[str]:
        mark = gc.read_mark(self.share.transport, self.share.names)
        return mark.keys if mark else frozenset()

    def _upload(self, outgoing: tuple[Outgoing, ...]) -> tuple[dict[str, int], dict[str, int]]:
        sent = upload.upload(
            self.share.transport,
            outgoing,
            condemned=self._condemned(),
            on_progress=self.transfer,
            patience=self.patience,
        )
        made = (Sent.CREATED, Sent.REPLACED)
        objects = {"uploaded": sum(sent.objects[one] for one in made), "reused": sent.objects[Sent.REUSED]}
        return objects, {"uploaded": sent.sent_bytes, "reused": sent.bytes[Sent.REUSED]}


def push(
    path: Path,
    environment: Environment,
    options: PushOptions | None = None,
    transfer: OnProgress = lambda _: None,
) -> PushReport:
    """Publish the build of a commit.

    Raises PublishBlocked (nothing may leave), UsageError (not built), ConfigError (no key), RemoteError.
    """
    chosen, started = options or PushOptions(), time.monotonic()
    outgoing.check_event(environment)
    signers, successors = (keys.require(environment),), tuple(map(load_private, chosen.successors))
    codebase, at = open_area(path, environment, chosen.rev)
    assert codebase.repo is not None
    assert at.commit is not None
    proposal = codebase.settings.remote
    outgoing.check_branch(codebase.repo, at.commit, (*proposal.branches, *chosen.branches))
    name = sharing.repository_id(codebase.repo, proposal, at.commit)
    own = Policy(tuple(key.public for key in (*signers, *successors)), threshold=len(signers))
    share = sharing.open_writer(codebase.repo, name, codebase.fingerprint, environment, chosen.url, own)
    manifest = built(codebase, at.commit)
    lock = ReadersLock(codebase.layout)
    with SnapshotView(codebase.layout, manifest, lock, Verifier(codebase.layout)) as view:
        outgoing.check_snapshot(codebase, view, at.commit)
        job = _Push(share, manifest, signers, successors, environment, chosen.patience, transfer)
        with TemporaryDirectory(prefix="gitindex-push-") as scratch:
            put, objects, sizes = job.publish(codebase, Path(scratch))
    return PushReport(
        status="ok",
        commit=at.commit,
        repository=name,
        remote=share.url,
        manifest=put.value,
        objects=objects,
        bytes=sizes,
        signers=tuple(key.public.id for key in signers),
        successors=tuple(key.public.id for key in successors),
        elapsed_ms=round((time.monotonic() - started) * 1000),
    )
