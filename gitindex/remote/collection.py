"""Remote collection: take stock, plan, act (RE-7). Deletes nothing that `gcplan` did not name.

Order: manifests to drop, then ripe objects, then the new mark. A manifest that appears while objects are
being deleted makes the plan stale: deletion stops. Times are the remote's own: a wrong local clock ripens
no mark.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from gitindex.errors import IntegrityError, RemoteMissing, RemoteUnavailable
from gitindex.remote import collection_plan, pool, toc
from gitindex.remote.collection_plan import GcPlan, Inventory, Mark
from gitindex.remote.remote_layout import Names
from gitindex.remote.transport import Entry, Patience, Transport, get
from gitindex.trust import claim as claims
from gitindex.trust import envelope as envelopes
from gitindex.trust.envelope import MAX_ENVELOPE_BYTES
from gitindex.trust.strictjson import MalformedError

THREADS = 16
_BATCH = 256
_TABLE_BYTES = 256 * 1024  # of a manifest and its table of contents, rather more than they have


@dataclass(frozen=True, slots=True)
class Collected:
    dropped: int
    deleted: int
    freed_bytes: int
    stale: bool  # stopped early because somebody published; run again


def take_stock(transport: Transport, names: Names, *, threads: int = THREADS) -> Inventory:
    """Manifests first, objects second: an object listed is at least as young as the manifests seen.

    Signatures do not matter here: believing a forged manifest only keeps more. One that cannot be read is an
    IntegrityError, because what it references is unknown.
    """
    found = [entry.key for entry in transport.list(names.manifests) if names.manifest_commit(entry.key)]
    manifests: dict[str, frozenset[str]] = {}
    outcomes = pool.run(
        lambda key: references(transport, names, key),
        found,
        threads=threads,
        seconds=Patience().seconds(toc.MAX_TOC_BYTES),
        stop=threading.Event(),
        within=Patience().operation(len(found), len(found) * _TABLE_BYTES),
    )
    with closing(outcomes):
        for done in outcomes:
            if done.result is not None:
                manifests[done.item] = done.result
    stored = tuple(entry for entry in transport.list(names.objects) if names.object_hash(entry.key))
    return Inventory(manifests, stored)


def references(transport: Transport, names: Names, key: str) -> frozenset[str] | None:
    """Every object that a manifest needs, itself included by its table of contents; None when it is gone."""
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
    needed = {names.object(claim.toc.sha256)}
    try:
        stored = get(transport, names.object(claim.toc.sha256), max_bytes=claim.toc.size)
    except RemoteMissing:
        return frozenset(needed)  # no reader can use this manifest any more
    table = toc.unpack(stored, claim)
    return frozenset(needed | {names.object(entry.packed.sha256) for entry in table.entries})


def read_mark(transport: Transport, names: Names) -> Mark | None:
    """The present mark; publishers rewrite what it condemns."""
    try:
        return collection_plan.decode_mark(
            get(transport, names.mark, max_bytes=collection_plan.MAX_MARK_BYTES)
        )
    except RemoteMissing:
        return None


def remote_now(transport: Transport, names: Names) -> float:
    """The remote's clock: the time it gives to an object written now."""
    transport.put(names.clock, b"now")
    entry = transport.head(names.clock)
    if entry is None:
        raise RemoteUnavailable(f"{transport.url} lost an object just written", hint="try again")
    return entry.modified


def collect(transport: Transport, names: Names, plan: GcPlan, *, threads: int = THREADS) -> Collected:
    """Carry out a plan."""
    _delete(transport, plan.drop, threads)
    deleted: list[Entry] = []
    for at in range(0, len(plan.sweep), _BATCH):
        if _news(transport, names, plan):
            return Collected(len(plan.drop), len(deleted), sum(entry.size for entry in deleted), True)
        batch = [entry for entry in plan.sweep[at : at + _BATCH] if _untouched(transport, entry)]
        _delete(transport, [entry.key for entry in batch], threads)
        deleted += batch
    if plan.mark is not None:
        transport.put(names.mark, collection_plan.encode_mark(plan.mark))
    return Collected(len(plan.drop), len(deleted), sum(entry.size for entry in deleted), False)


def _news(transport: Transport, names: Names, plan: GcPlan) -> bool:
    return any(
        names.manifest_commit(entry.key) and entry.key not in plan.known
        for entry in transport.list(names.manifests)
    )


def _untouched(transport: Transport, entry: Entry) -> bool:
    """A publisher that needs a condemned object rewrites it; look again just before deleting.

    Whole seconds: S3 lists finer times than it answers to HEAD.
    """
    now = transport.head(entry.key)
    return now is not None and int(now.modified) <= int(entry.modified)


def _delete(transport: Transport, keys: Sequence[str], threads: int) -> None:
    outcomes = pool.run(
        transport.delete,
        keys,
        threads=threads,
        seconds=Patience().seconds(0),
        stop=threading.Event(),
        within=Patience().operation(len(keys), 0),
    )
    with closing(outcomes):
        for done in outcomes:
            done.check()
