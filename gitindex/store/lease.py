"""The writer lease (LE-1): cooperative, kept alive by heartbeats, fenced by an epoch that only grows.

Invariant: the lease file changes only under the guard (a short-lived file, created exclusively), so that acquire,
heartbeat, steal and release never overwrite each other. A guard is removed only under the breaker (an flock), and each
write checks under the same lock that its guard still exists: a process that was suspended for longer than any time
limit writes nothing when it resumes (LE-3). A lease that vanished or has another owner is lost: its former owner stops
before it makes anything visible. A new owner removes what earlier ones left in staging.
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
from functools import cache
from pathlib import Path
from typing import Any

from gitindex.errors import GitindexError, LeaseHeld, LeaseLost, StoreCorrupt
from gitindex.model import versions
from gitindex.model.frozen import frozen
from gitindex.model.ids import ulid
from gitindex.store import atomic, capability, manifests, sealed_json, staging
from gitindex.store.clock import boot_id
from gitindex.store.layout import Layout

TTL_MS = 120_000
GUARD_TTL = 5.0  # seconds
_POLL = 0.02  # seconds
_PID_NAMESPACE = "/proc/self/ns/pid"


@frozen
class LeaseState:
    """`writer_lease.json`."""

    owner_id: str
    pid: int
    hostname: str  # a `process_scope`; older releases wrote the bare host name, which never equals one
    started_at: str
    last_heartbeat_at: str
    lease_epoch: int
    lease_ttl_ms: int
    staging_txn_id: str
    released: bool = False

    @property
    def host(self) -> str:
        return self.hostname.partition(" ")[0]

    def is_stale(self, now: float) -> bool:
        """Whether it was released, is past its ttl, or belongs to a process of this scope that no longer runs."""
        if self.released:
            return True
        last_heartbeat = datetime.fromisoformat(self.last_heartbeat_at).timestamp()
        if now - last_heartbeat > self.lease_ttl_ms / 1000:
            return True
        return self.hostname == process_scope() and not is_alive(self.pid)


class Lease:
    """A held lease. `check` raises LeaseLost once it is no longer ours."""

    def __init__(
        self, layout: Layout, state: LeaseState, clock: Callable[[], float], *, had_to_wait: bool = False
    ) -> None:
        self.had_to_wait = had_to_wait  # for another writer, before this one got the lease
        self.removed_leftovers: dict[Path, int] = {}  # folders of earlier owners in staging → their sizes
        self._layout = layout
        self._state = state
        self._clock = clock
        self._stop = threading.Event()
        self._heartbeat_thread = threading.Thread(target=self._heartbeat, name="lease-heartbeat", daemon=True)
        self._heartbeat_thread.start()

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
        if self._is_taken(read(self._layout)):
            raise LeaseLost(
                "the writer lease was taken over by another process; nothing was published",
                hint="gitindex sync",
            )

    def is_lost(self) -> bool:
        """Whether another process certainly has the lease; False when the lease file cannot be read."""
        try:
            return self._is_taken(read(self._layout))
        except (OSError, GitindexError):
            return False

    def clean_staging(self) -> None:
        """Remove what dead builders and owners of older leases left (see `staging`)."""
        for folder in staging.find_leftovers(self._layout, self.epoch):
            self.removed_leftovers[folder] = atomic.remove_tree(folder)

    def release(self) -> None:
        self._stop.set()
        self._heartbeat_thread.join()
        # LeaseLost also means that the store was removed: then nothing is left to release.
        with contextlib.suppress(LeaseLost), take_guard(self._layout) as lease_guard:
            current = read(self._layout)
            if current is not None and self._is_ours(current):
                lease_guard.write(replace(current, released=True))

    @contextmanager
    def fence(self) -> Iterator[None]:
        """No process can take the lease while the body runs, not even while this process is suspended in it.

        Raises LeaseLost when another process has taken it, LeaseHeld when the guard stays taken.
        """
        with take_guard(self._layout) as lease_guard, lease_guard.fence():
            self.check()
            yield

    def _is_taken(self, current: LeaseState | None) -> bool:
        return current is None or current.released or not self._is_ours(current)

    def _is_ours(self, current: LeaseState) -> bool:
        return current.owner_id == self.owner and current.lease_epoch == self.epoch

    def _heartbeat(self) -> None:
        while not self._stop.wait(self._state.lease_ttl_ms / 3000):
            # A missed beat is not fatal: the ttl allows two more, and `check` decides before any publish.
            ignored_errors = contextlib.suppress(LeaseHeld, LeaseLost, OSError, StoreCorrupt)
            with ignored_errors, take_guard(self._layout) as lease_guard:
                current = read(self._layout)
                if current is None or not self._is_ours(current):
                    return
                lease_guard.write(replace(current, last_heartbeat_at=_format_time(self._clock())))


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

    Raises LeaseHeld when another writer keeps it; LeaseLost when the store was removed, or when the body failed after
    another process took the lease, as that process may have removed the body's files; StoreNotShareable.
    """
    capability.ensure_shareable(layout)
    lease_state, had_to_wait = _acquire(layout, txn, wait, ttl_ms, clock)
    lease = Lease(layout, lease_state, clock, had_to_wait=had_to_wait)
    try:
        staging.assign_to_lease(layout, txn, lease_state.lease_epoch)
        lease.clean_staging()
        yield lease
    except LeaseLost:
        raise
    except Exception as error:
        if lease.is_lost():
            raise LeaseLost(
                "the writer lease was taken over by another process, which stopped this one",
                hint="gitindex sync",
            ) from error
        raise
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
        data = sealed_json.verify_seal(data)
        del data["schema_version"]
        return LeaseState(**data)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreCorrupt(
            f"writer lease {layout.lease} is damaged: {error}", hint="gitindex repair"
        ) from error


def lease_held_error(state: LeaseState) -> LeaseHeld:
    """The error for every process but the owner."""
    return LeaseHeld(
        f"another writer (pid {state.pid} on {state.host}, since {state.started_at}) is updating this index",
        hint="gitindex status",
    )


def next_epoch(layout: Layout) -> int:
    """The epoch that a lease acquired now would get, or 0 while another writer holds it."""
    current = read(layout)
    if current is not None and not current.is_stale(time.time()):
        return 0
    return _highest_granted_epoch(layout, current) + 1


def replace_damaged_lease(layout: Layout, epoch: int) -> None:
    """Replace an unreadable lease file by a released one with `epoch`; an owner it may have had loses the lease."""
    with take_guard(layout) as lease_guard:
        try:
            read(layout)
        except StoreCorrupt:
            lease_guard.write(replace(_new_lease_state("", TTL_MS, time.time(), epoch), released=True))


class Guard:
    """The guard, held. Its file stays open, so that no other file can get its inode meanwhile."""

    def __init__(self, layout: Layout, descriptor: int) -> None:
        self._layout = layout
        self._descriptor = descriptor

    @contextmanager
    def fence(self) -> Iterator[None]:
        """No process breaks the guard while the body runs. Raises LeaseLost when one has already."""
        with _lock_breaker(self._layout):
            if not self._is_current():
                raise LeaseLost("the lease guard was broken by another process", hint="gitindex sync")
            yield

    def write(self, state: LeaseState) -> None:
        """Write the lease file. Raises LeaseLost when the guard was broken: what was read under it is outdated."""
        value = {"schema_version": versions.MATRIX["writer_lease"].current, **asdict(state)}
        with self.fence():
            sealed_json.write(self._layout.lease, value)

    def release(self) -> None:
        with contextlib.suppress(LeaseHeld), _lock_breaker(self._layout):  # LeaseHeld: the guard expires
            if self._is_current():
                os.unlink(self._layout.lease_guard)
        os.close(self._descriptor)

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self._layout.lease_guard))
        except FileNotFoundError:
            return False


@contextmanager
def take_guard(layout: Layout, wait: float = 10.0) -> Iterator[Guard]:
    """Hold the guard for the body; a guard file older than its ttl is removed.

    Raises LeaseHeld when the guard stays taken for `wait` seconds.
    """
    deadline = time.monotonic() + wait
    descriptor = _create_guard(layout)
    while descriptor is None:
        _break_stale_guard(layout)
        if time.monotonic() > deadline:
            raise LeaseHeld("the lease guard stays taken by another writer", hint="gitindex sync")
        time.sleep(_POLL)
        descriptor = _create_guard(layout)
    lease_guard = Guard(layout, descriptor)
    try:
        yield lease_guard
    finally:
        lease_guard.release()


def _acquire(
    layout: Layout, txn: str, wait: float, ttl_ms: int, clock: Callable[[], float]
) -> tuple[LeaseState, bool]:
    """The new lease, and whether another writer had to be waited for."""
    deadline = time.monotonic() + wait
    had_to_wait = False
    while True:
        with take_guard(layout) as lease_guard:
            current = read(layout)
            if current is None or current.is_stale(clock()):
                epoch = _highest_granted_epoch(layout, current) + 1
                lease_state = _new_lease_state(txn, ttl_ms, clock(), epoch)
                lease_guard.write(lease_state)
                return lease_state, had_to_wait
        had_to_wait = True
        if time.monotonic() >= deadline:
            raise lease_held_error(current)
        time.sleep(_POLL)


def _highest_granted_epoch(layout: Layout, previous: LeaseState | None) -> int:
    """The highest epoch that was ever granted, even if the lease file was lost or restored from a copy (LE-3)."""
    if previous is None:
        return manifests.highest_epoch(layout, manifests.list_ids(layout))
    active = manifests.read_active_id(layout)
    return max(previous.lease_epoch, manifests.highest_epoch(layout, [active] if active else []))


def _new_lease_state(txn: str, ttl_ms: int, now: float, epoch: int) -> LeaseState:
    return LeaseState(
        owner_id=ulid(),
        pid=os.getpid(),
        hostname=process_scope(),
        started_at=_format_time(now),
        last_heartbeat_at=_format_time(now),
        lease_epoch=epoch,
        lease_ttl_ms=ttl_ms,
        staging_txn_id=txn,
    )


def _create_guard(layout: Layout) -> int | None:
    """Create the guard file; returns its descriptor, None when it exists. Raises LeaseLost when the store is gone."""
    try:
        return atomic.create(layout.lease_guard)
    except FileExistsError:
        return None
    except FileNotFoundError as error:
        raise LeaseLost(
            f"the locks of the index {layout.id} are gone, as when it was removed", hint="gitindex sync"
        ) from error


def _break_stale_guard(layout: Layout) -> None:
    with _lock_breaker(layout), contextlib.suppress(FileNotFoundError):
        if abs(time.time() - os.stat(layout.lease_guard).st_mtime) > GUARD_TTL:
            os.unlink(layout.lease_guard)


@contextmanager
def _lock_breaker(layout: Layout, wait: float = 10.0) -> Iterator[None]:
    """Hold the lock under which guards are removed, so that no process removes a guard created after its check.

    Raises LeaseHeld when a suspended process keeps the lock for `wait` seconds.
    """
    try:
        descriptor = atomic.create(layout.guard_breaker)
    except FileExistsError:
        descriptor = os.open(layout.guard_breaker, os.O_RDWR | os.O_CLOEXEC)
    try:
        _flock_until(descriptor, time.monotonic() + wait)
        try:
            yield
        finally:
            # Closing is not enough: a child that was forked meanwhile shares the lock.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _flock_until(descriptor: int, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise LeaseHeld(
                    "another writer was stopped while it changed the lease", hint="gitindex status"
                ) from None
            time.sleep(_POLL)


@cache
def process_scope() -> str:
    """Within which a process id is unique: host name, boot id and pid namespace.

    Two containers may have the same host name. Systems without boot ids and namespaces (macOS) use the host name alone.
    """
    try:
        boot, namespace = boot_id(), os.readlink(_PID_NAMESPACE)
    except OSError:
        return os.uname().nodename
    return f"{os.uname().nodename} {boot} {namespace}"


def is_alive(pid: int) -> bool:
    """Whether a process with this id runs; it may belong to another user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _format_time(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
