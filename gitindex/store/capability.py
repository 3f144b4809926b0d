"""Whether a file system can hold a store that a group shares (ST-3).

Every process that writes to such a store checks once: the volume may have been remounted, or copied to a network file
system, since the store was created.
"""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path

from gitindex.errors import StoreNotShareable
from gitindex.model.ids import ulid
from gitindex.store import acl, atomic
from gitindex.store.layout import Layout

# Network file systems do not guarantee exclusive create and atomic rename between hosts.
_NETWORK_FILESYSTEMS = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs",
        "orangefs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse",
    }
)  # fmt: skip
_USE_LOCAL_HINT = (
    "set GITINDEX_HOME to a directory on a local file system, or shared to false in its config.toml"
)


def ensure_shareable(layout: Layout) -> None:
    """Check a shared store, once per process. Raises StoreNotShareable, StorageFull, StoreUnwritable."""
    try:
        base_stat = layout.base.stat()
    except FileNotFoundError:  # the write itself will report it
        return
    if base_stat.st_mode & stat.S_ISGID:
        _check_once(layout, base_stat.st_dev, base_stat.st_ino)


@cache
def _check_once(layout: Layout, device: int, inode: int) -> None:  # noqa: ARG001 - cache keys: another volume is another store
    check_shareable(layout)
    if not acl.is_group_granted(layout.base):  # created by a release that set no ACLs
        for folder in (layout.base, *layout.folders):
            acl.grant_group(folder)


def check_shareable(layout: Layout) -> None:
    """Prove that the file system is local and supports exclusive create, read after write, and rename.

    Raises StoreNotShareable naming what is missing, StorageFull, StoreUnwritable.
    """
    kind = filesystem_type(layout.base)
    if kind in _NETWORK_FILESYSTEMS:
        raise StoreNotShareable(
            f"shared stores need a local file system; {layout.base} is on {kind}", hint=_USE_LOCAL_HINT
        )
    probe = layout.locks / f"probe.{ulid()}"
    moved = probe.with_suffix(".moved")
    try:
        with atomic.translate_storage_errors(layout.base):
            os.close(atomic.create(probe))
            _check_create_is_exclusive(probe)
            atomic.write_bytes(probe, b"probe")
            atomic.move(probe, moved)
            if probe.exists() or moved.read_bytes() != b"probe":
                raise StoreNotShareable(
                    f"{layout.base}: a written file does not read back", hint=_USE_LOCAL_HINT
                )
    except OSError as error:
        raise StoreNotShareable(
            f"{layout.base} cannot carry a shared store: {error}", hint=_USE_LOCAL_HINT
        ) from error
    finally:
        probe.unlink(missing_ok=True)
        moved.unlink(missing_ok=True)


def _check_create_is_exclusive(probe: Path) -> None:
    try:
        os.close(atomic.create(probe))
    except FileExistsError:
        return
    raise StoreNotShareable(f"{probe.parent}: exclusive create is not exclusive", hint=_USE_LOCAL_HINT)


def filesystem_type(path: Path) -> str:
    """The type of the file system that holds `path`, "" where /proc does not list mounts."""
    try:
        lines = Path("/proc/self/mounts").read_text().splitlines()
    except OSError:
        return ""
    real = os.path.realpath(path)  # a link may lead to another file system
    longest_mount_point, kind = "", ""
    for line in lines:
        _, mount_point, mount_type, *_ = line.split(" ")
        mount_point = mount_point.replace("\\040", " ")  # the kernel escapes spaces in octal
        inside = real == mount_point or real.startswith(mount_point.rstrip("/") + "/")
        if inside and len(mount_point) >= len(longest_mount_point):
            longest_mount_point, kind = mount_point, mount_type
    return kind
