"""Collect garbage on a remote: read its inventory, carry out a plan (RE-7). Deletes only what `collection_plan` names.

Order: manifests to drop, then objects to sweep, then the new mark. A manifest that appears while objects are being
deleted makes the plan stale: deletion stops. All times are the remote's own, so a wrong local clock ages no mark.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from gitindex.errors import IntegrityError, RemoteMissing, RemoteUnavailable
from gitindex.remote import collection_plan, pool, toc
from gitindex.remote.collection_plan import Inventory, Mark, RemoteGcPlan
from gitindex.remote.remote_layout import Names
from gitindex.remote.transport import Entry, Timeouts, Transport, get
from gitindex.trust import claim as claims
from gitindex.trust import envelope as envelopes
from gitindex.trust.envelope import MAX_ENVELOPE_BYTES
from gitindex.trust.strictjson import MalformedError

THREADS = 16
_BATCH = 256  # objects to delete before the manifests are listed again
_TABLE_BYTES = 256 * 1024  # a generous size of one manifest with its table of contents, for the deadline


@dataclass(frozen=True, slots=True)
class RemoteGcResult:
    dropped: int
    deleted: int
    freed_bytes: int
    stale: bool  # stopped early because a manifest was published; run again


def read_inventory(transport: Transport, names: Names, *, threads: int = THREADS) -> Inventory:
    """Read manifests first and list objects second: an object written in between is too young to be condemned (G3).

    Signatures are not verified: a forged manifest only keeps more objects. Raises IntegrityError for a manifest that
    cannot be read, because what it references is unknown.
    """
    manifest_keys = [
        entry.key for entry in transport.list(names.manifests_prefix) if names.parse_manifest_key(entry.key)
    ]
    manifests: dict[str, frozenset[str]] = {}
    outcomes = pool.run(
        lambda key: read_references(transport, names, key),
        manifest_keys,
        threads=threads,
        seconds=Timeouts().for_object(toc.MAX_TOC_BYTES),
        stop=threading.Event(),
        total_seconds=Timeouts().for_operation(len(manifest_keys), len(manifest_keys) * _TABLE_BYTES),
    )
    with closing(outcomes):
        for task in outcomes:
            if task.result is not None:
                manifests[task.item] = task.result
    objects = tuple(
        entry for entry in transport.list(names.objects_prefix) if names.parse_object_key(entry.key)
    )
    return Inventory(manifests, objects)


def read_references(transport: Transport, names: Names, key: str) -> frozenset[str] | None:
    """The keys of every object that a manifest needs, its table of contents included; None when it is gone."""
    try:
        data = get(transport, key, max_bytes=MAX_ENVELOPE_BYTES)
    except RemoteMissing:
        return None
    try:
        claim = claims.decode(envelopes.decode(data).payload, limit=MAX_ENVELOPE_BYTES)
    except MalformedError as error:
        raise IntegrityError(
            f"cannot tell what {key} references: {error}",
            hint="delete that manifest or push its commit again",
        ) from None
    needed = {names.object_key(claim.toc.sha256)}
    try:
        stored = get(transport, names.object_key(claim.toc.sha256), max_bytes=claim.toc.size)
    except RemoteMissing:
        return frozenset(needed)  # without its table of contents nobody can use this manifest
    table = toc.unpack(stored, claim)
    return frozenset(needed | {names.object_key(entry.packed.sha256) for entry in table.entries})


def read_mark(transport: Transport, names: Names) -> Mark | None:
    """The present mark, None without one. Publishers upload again what it condemns."""
    try:
        return collection_plan.decode_mark(
            get(transport, names.mark_key, max_bytes=collection_plan.MAX_MARK_BYTES)
        )
    except RemoteMissing:
        return None


def read_remote_clock(transport: Transport, names: Names) -> float:
    """The remote's clock: the time it gives to an object written now."""
    transport.put(names.clock_key, b"now")
    entry = transport.head(names.clock_key)
    if entry is None:
        raise RemoteUnavailable(f"{transport.url} lost an object just written", hint="try again")
    return entry.modified


def collect(
    transport: Transport, names: Names, plan: RemoteGcPlan, *, threads: int = THREADS
) -> RemoteGcResult:
    """Carry out a plan. Stops, with `stale` set, when a manifest appears that the plan does not know."""
    _delete(transport, plan.drop, threads)
    deleted: list[Entry] = []
    for start in range(0, len(plan.sweep), _BATCH):
        if _has_new_manifest(transport, names, plan):
            return RemoteGcResult(len(plan.drop), len(deleted), sum(entry.size for entry in deleted), True)
        batch = [entry for entry in plan.sweep[start : start + _BATCH] if _is_unchanged(transport, entry)]
        _delete(transport, [entry.key for entry in batch], threads)
        deleted += batch
    if plan.mark is not None:
        transport.put(names.mark_key, collection_plan.encode_mark(plan.mark))
    return RemoteGcResult(len(plan.drop), len(deleted), sum(entry.size for entry in deleted), False)


def _has_new_manifest(transport: Transport, names: Names, plan: RemoteGcPlan) -> bool:
    return any(
        names.parse_manifest_key(entry.key) and entry.key not in plan.known_manifests
        for entry in transport.list(names.manifests_prefix)
    )


def _is_unchanged(transport: Transport, entry: Entry) -> bool:
    """Whether nobody rewrote the object since the plan; publishers rewrite condemned objects that they need.

    Compares whole seconds: S3 lists finer times than it answers to HEAD.
    """
    current = transport.head(entry.key)
    return current is not None and int(current.modified) <= int(entry.modified)


def _delete(transport: Transport, keys: Sequence[str], threads: int) -> None:
    outcomes = pool.run(
        transport.delete,
        keys,
        threads=threads,
        seconds=Timeouts().for_object(0),
        stop=threading.Event(),
        total_seconds=Timeouts().for_operation(len(keys), 0),
    )
    with closing(outcomes):
        for task in outcomes:
            task.check()
