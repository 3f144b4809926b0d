"""Decide what a collection on a remote may delete (RE-7). Pure: time is an argument.

Rules: (G1) an object that a kept manifest references is never condemned; (G2) an object is deleted only when it was
condemned by a mark at least `grace` ago, is still unreferenced, and was not written since that mark; (G3) an object
younger than `grace` is never condemned: its manifest may be about to be written. Publishers rewrite condemned objects
that they need (`upload`), so G2 spares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gitindex.errors import IntegrityError
from gitindex.model.versions import GC_MARK_VERSION
from gitindex.remote.transport import Entry
from gitindex.trust import strictjson
from gitindex.trust.strictjson import MalformedError

GRACE_SECONDS = 24 * 3600.0
MAX_MARK_BYTES = 64 * 1024 * 1024
_MAX_MARKED = 1_000_000


@dataclass(frozen=True, slots=True)
class Inventory:
    """The content of a remote: each manifest with the keys it references, and every object."""

    manifests: Mapping[str, frozenset[str]]
    objects: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """The objects that no manifest referenced at `time`, by the remote's clock: they are condemned."""

    time: float
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class RemoteGcPlan:
    drop: tuple[str, ...]  # manifests to delete
    sweep: tuple[Entry, ...]  # objects to delete
    mark: Mark | None  # to write; None keeps the present one, which is younger than `grace`
    known_manifests: frozenset[str]  # in the inventory of this plan; another one makes the plan stale

    @property
    def freed_bytes(self) -> int:
        return sum(entry.size for entry in self.sweep)


def plan(
    inventory: Inventory,
    mark: Mark | None,
    now: float,
    *,
    drop: frozenset[str] = frozenset(),
    grace: float = GRACE_SECONDS,
) -> RemoteGcPlan:
    """One run: sweep what a mark older than `grace` condemned, then condemn what is unreferenced now."""
    dropped = drop & inventory.manifests.keys()
    kept_references = [keys for name, keys in inventory.manifests.items() if name not in dropped]
    referenced = frozenset[str]().union(*kept_references)
    unreferenced = [entry for entry in inventory.objects if entry.key not in referenced]
    sweep = _select_sweepable(unreferenced, mark, now, grace)
    swept = {entry.key for entry in sweep}
    condemned = {
        entry.key for entry in unreferenced if now - entry.modified >= grace and entry.key not in swept
    }
    mark_is_young = mark is not None and now - mark.time < grace
    return RemoteGcPlan(
        drop=tuple(sorted(dropped)),
        sweep=sweep,
        mark=None if mark_is_young else Mark(now, frozenset(condemned)),
        known_manifests=frozenset(inventory.manifests),
    )


def _select_sweepable(
    unreferenced: list[Entry], mark: Mark | None, now: float, grace: float
) -> tuple[Entry, ...]:
    if mark is None or now - mark.time < grace:
        return ()
    return tuple(
        entry
        for entry in unreferenced
        if entry.key in mark.keys and entry.modified < mark.time and now - entry.modified >= grace
    )


def encode_mark(mark: Mark) -> bytes:
    return strictjson.dump({"version": GC_MARK_VERSION, "time": int(mark.time), "keys": sorted(mark.keys)})


def decode_mark(data: bytes) -> Mark:
    try:
        fields = strictjson.require_record(
            strictjson.parse(data, limit=MAX_MARK_BYTES), ("version", "time", "keys"), "mark"
        )
        if fields["version"] != GC_MARK_VERSION:
            raise MalformedError("its version is unknown")
        keys = strictjson.require_list(fields["keys"], "keys", maximum=_MAX_MARKED)
        marked = frozenset(strictjson.require_text(key, "key", maximum=512) for key in keys)
        return Mark(float(strictjson.require_count(fields["time"], "time")), marked)
    except MalformedError as error:
        raise IntegrityError(f"the mark of the collection is malformed: {error}") from None
