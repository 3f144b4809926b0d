"""Whether a file system can carry a store that a group shares (ST-3): looked at by every process that will write one.

A volume may have been moved, mounted otherwise or copied to a network since the store was made.
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

# Remote file systems cannot promise exclusive create and rename between hosts.
_NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs",
        "orangefs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse",
    }
)  # fmt: skip
_LOCAL = "set GITINDEX_HOME to a directory on a local file system, or shared to false in its config.toml"


def ensure_shareable(layout: Layout) -> None:
    """Check a shared store, once per process. Raises StoreNotShareable, StorageFull, StoreUnwritable."""
    try:
        found = layout.base.stat()
    except FileNotFoundError:  # whoever writes there says so
        return
    if found.st_mode & stat.S_ISGID:
        _check_once(layout, found.st_dev, found.st_ino)


@cache
def _check_once(layout: Layout, device: int, inode: int) -> None:  # noqa: ARG001 - another volume is another store
    check_shareable(layout)
    if not acl.is_granted(layout.base):  # made by a release that set none
        for folder in (layout.base, *layout.folders):
            acl.grant_group(folder)


def check_shareable(layout: Layout) -> None:
    """Prove that the file system is local and keeps its word: exclusive create, read after flush, rename.

    Raises StoreNotShareable naming what is missing, StorageFull, StoreUnwritable.
    """
    kind = filesystem(layout.base)
    if kind in _NETWORK:
        raise StoreNotShareable(
            f"shared stores need a local file system; {layout.base} is on {kind}", hint=_LOCAL
        )
    probe = layout.locks / f"probe.{ulid()}"
    moved = probe.with_suffix(".moved")
    try:
        with atomic.storage(layout.base):
            os.close(atomic.create(probe))
            _refuse_second_create(probe)
            atomic.write_bytes(probe, b"probe")
            atomic.move(probe, moved)
            if probe.exists() or moved.read_bytes() != b"probe":
                raise StoreNotShareable(f"{layout.base}: a written file does not read back", hint=_LOCAL)
    except OSError as error:
        raise StoreNotShareable(f"{layout.base} cannot carry a shared store: {error}", hint=_LOCAL) from error
    finally:
        probe.unlink(missing_ok=True)
        moved.unlink(missing_ok=True)


def _refuse_second_create(probe: Path) -> None:
    try:
        os.close(atomic.create(probe))
    except FileExistsError:
        return
    raise StoreNotShareable(f"{probe.parent}: exclusive create is not exclusive", hint=_LOCAL)


def filesystem(path: Path) -> str:
    """The type of the file system below `path`, "" where the system does not tell."""
    try:
        lines = Path("/proc/self/mounts").read_text().splitlines()
    except OSError:
        return ""
    real = os.path.realpath(path)  # a link may lead to another file system
    best, kind = "", ""
    for line in lines:
        _, point, fs, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fs
    return kind
