"""The writer lease (LE-1): cooperative, heart-beaten, fenced by an epoch that only grows.

Invariant: every change of the lease file happens under the guard (an exclusively created file with a short
life), so acquire, heartbeat, steal and release never overwrite each other. A lease that vanished or changed
hands is lost: its former owner stops before it makes anything visible.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from gitindex.errors import LeaseHeld, LeaseLost, StoreCorrupt
from gitindex.model import versions
from gitindex.model.frozen import frozen
from gitindex.model.ids import ulid
from gitindex.store import atomic, sealed
from gitindex.store.layout import Layout

TTL_MS = 120_000
GUARD_TTL = 5.0
_POLL = 0.02


@frozen
class LeaseState:
    """`writer_lease.json`."""

    owner_id: str
    pid: int
    hostname: str
    started_at: str
    last_heartbeat_at: str
    lease_epoch: int
    lease_ttl_ms: int
    staging_txn_id: str
    released: bool = False

    def stale(self, now: float) -> bool:
        """Released, past its ttl, or held by a process of this host that no longer runs."""
        if self.released:
            return True
        beat = datetime.fromisoformat(self.last_heartbeat_at).timestamp()
        if now - beat > self.lease_ttl_ms / 1000:
            return True
        return self.hostname == os.uname().nodename and not alive(self.pid)


class Lease:
    """A held lease. `check` raises LeaseLost once it is no longer ours."""

    def __init__(
        self, layout: Layout, state: LeaseState, clock: Callable[[], float], *, waited: bool = False
    ) -> None:
        self.waited = waited  # for another writer, before it became ours
        self._layout = layout
        self._state = state
        self._clock = clock
        self._stop = threading.Event()
        self._beat = threading.Thread(target=self._heartbeat, name="lease-heartbeat", daemon=True)
        self._beat.start()

    @property
    def epoch(self) -> int:
        return self._state.lease_epoch

    @property
    def owner(self) -> str:
        return self._state.owner_id

    def check(self) -> None:
        """Re-read the lease file: owner and epoch must be ours (IDX.MUST.002).

        Raises LeaseLost.
        """
        current = read(self._layout)
        if current is None or current.released or not self._ours(current):
            raise LeaseLost(
                "the writer lease was taken over by another process; nothing was published",
                hint="gitindex sync",
            )

    def release(self) -> None:
        self._stop.set()
        self._beat.join()
        with guard(self._layout):
            current = read(self._layout)
            if current is not None and self._ours(current):
                _write(self._layout, replace(current, released=True))

    def _ours(self, current: LeaseState) -> bool:
        return current.owner_id == self.owner and current.lease_epoch == self.epoch

    def _heartbeat(self) -> None:
        while not self._stop.wait(self._state.lease_ttl_ms / 3000):
            # A missed beat is not fatal: the ttl allows two more, and `check` decides before any publish.
            with contextlib.suppress(LeaseHeld, OSError, StoreCorrupt), guard(self._layout):
                current = read(self._layout)
                if current is None or not self._ours(current):
                    return
                _write(self._layout, replace(current, last_heartbeat_at=_stamp(self._clock())))


@contextmanager
def hold(
    layout: Layout,
    txn: str,
    *,
    wait: float = 0.0,
    ttl_ms: int = TTL_MS,
    clock: Callable[[], float] = time.time,
) -> Iterator[Lease]:
    """Hold the lease for the body. Waits up to `wait` seconds for the present owner.

    Raises LeaseHeld when another writer keeps it.
    """
    granted, waited = _acquire(layout, txn, wait, ttl_ms, clock)
    lease = Lease(layout, granted, clock, waited=waited)
    try:
        yield lease
    finally:
        lease.release()


def read(layout: Layout) -> LeaseState | None:
    """The lease on disk, None when there is none."""
    try:
        raw = layout.lease.read_bytes()
    except FileNotFoundError:
        return None
    try:
        data: dict[str, Any] = json.loads(raw)
        versions.check("writer_lease", data.get("schema_version"), str(layout.lease))
        data = sealed.opened(data)
        del data["schema_version"]
        return LeaseState(**data)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreCorrupt(
            f"writer lease {layout.lease} is damaged: {error}", hint="gitindex repair"
        ) from error


def mend(layout: Layout, epoch: int) -> None:
    """Replace a lease file nobody can read by a released one of at least `epoch`; its owner, if any, has lost it."""
    with guard(layout):
        try:
            read(layout)
        except StoreCorrupt:
            _write(layout, replace(_fresh("", TTL_MS, time.time(), epoch), released=True))


@contextmanager
def guard(layout: Layout, wait: float = 10.0) -> Iterator[None]:
    """Serialise lease changes by exclusive create. A guard older than its ttl is broken.

    Raises LeaseHeld when the guard stays taken for `wait` seconds.
    """
    deadline = time.monotonic() + wait
    mine = _create_guard(layout)
    while mine is None:
        _break_stale_guard(layout)
        if time.monotonic() > deadline:
            raise LeaseHeld("the lease guard stays taken by another writer", hint="gitindex sync")
        time.sleep(_POLL)
        mine = _create_guard(layout)
    try:
        yield
    finally:
        with _breaker(layout):
            _unlink_if(layout, mine)


def _acquire(
    layout: Layout, txn: str, wait: float, ttl_ms: int, clock: Callable[[], float]
) -> tuple[LeaseState, bool]:
    """What was granted, and whether somebody had to be waited for."""
    deadline = time.monotonic() + wait
    waited = False
    while True:
        with guard(layout):
            current = read(layout)
            if current is None or current.stale(clock()):
                return _grant(layout, current, txn, ttl_ms, clock()), waited
        waited = True
        if time.monotonic() >= deadline:
            raise LeaseHeld(
                f"another writer (pid {current.pid} on {current.hostname}, since {current.started_at}) "
                "is updating this index",
                hint="gitindex status",
            )
        time.sleep(_POLL)


def _grant(layout: Layout, previous: LeaseState | None, txn: str, ttl_ms: int, now: float) -> LeaseState:
    granted = _fresh(txn, ttl_ms, now, (previous.lease_epoch if previous else 0) + 1)
    _write(layout, granted)
    return granted


def _fresh(txn: str, ttl_ms: int, now: float, epoch: int) -> LeaseState:
    return LeaseState(
        owner_id=ulid(),
        pid=os.getpid(),
        hostname=os.uname().nodename,
        started_at=_stamp(now),
        last_heartbeat_at=_stamp(now),
        lease_epoch=epoch,
        lease_ttl_ms=ttl_ms,
        staging_txn_id=txn,
    )


def _write(layout: Layout, state: LeaseState) -> None:
    sealed.write(layout.lease, {"schema_version": versions.MATRIX["writer_lease"].current, **asdict(state)})


def _create_guard(layout: Layout) -> int | None:
    """The inode of the guard we made, None when somebody has it."""
    try:
        descriptor = atomic.create(layout.lease_guard)
    except FileExistsError:
        return None
    try:
        return os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)


def _break_stale_guard(layout: Layout) -> None:
    with _breaker(layout), contextlib.suppress(FileNotFoundError):
        seen = os.stat(layout.lease_guard)
        if abs(time.time() - seen.st_mtime) > GUARD_TTL:
            _unlink_if(layout, seen.st_ino)


@contextmanager
def _breaker(layout: Layout) -> Iterator[None]:
    """All removals of a guard happen under this lock, so nobody removes a guard made after it looked."""
    try:
        descriptor = atomic.create(layout.guard_breaker)
    except FileExistsError:
        descriptor = os.open(layout.guard_breaker, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _unlink_if(layout: Layout, inode: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        if os.stat(layout.lease_guard).st_ino == inode:
            os.unlink(layout.lease_guard)


def alive(pid: int) -> bool:
    """Whether a process of this host still runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _stamp(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
