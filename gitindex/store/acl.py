"""POSIX default ACLs: the kernel gives what is made in a folder the access of its group, whatever the umask (ST-3).

Linux only, through extended attributes; a file system without them leaves it to `atomic` to set permissions.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

_DEFAULT_ACL_ATTRIBUTE = "system.posix_acl_default"
# The kernel's form (linux/posix_acl_xattr.h): a version, then entries of tag, permissions and id, little-endian.
_ACL_VERSION = 2
_ENTRY = struct.Struct("<HHI")
_USER_OBJ, _GROUP_OBJ, _GROUP, _MASK, _OTHER = 0x01, 0x04, 0x08, 0x10, 0x20
_ALL = 0o7
_NO_ID = 0xFFFFFFFF


def grant_group(folder: Path) -> bool:
    """Let the group, and nobody else, into everything that will be made in `folder`; False where that cannot be set.

    A default ACL that does this already stays: an administrator may have named more groups.
    """
    if not hasattr(os, "setxattr"):
        return False
    if is_group_granted(folder):
        return True
    entries = ((_USER_OBJ, _ALL), (_GROUP_OBJ, _ALL), (_OTHER, 0))
    value = struct.pack("<I", _ACL_VERSION) + b"".join(_ENTRY.pack(*entry, _NO_ID) for entry in entries)
    try:
        os.setxattr(folder, _DEFAULT_ACL_ATTRIBUTE, value, follow_symlinks=False)
    except OSError:  # no such attributes here, or the folder is somebody else's
        return False
    return True


def is_group_granted(folder: Path) -> bool:
    """Does the folder's default ACL give a group everything, and others nothing?"""
    try:
        value = os.getxattr(folder, _DEFAULT_ACL_ATTRIBUTE, follow_symlinks=False)
        entries = list(_ENTRY.iter_unpack(value[4:]))
    except (OSError, AttributeError, struct.error):
        return False
    masks = [allowed for tag, allowed, _ in entries if tag == _MASK]
    groups = [allowed for tag, allowed, _ in entries if tag in (_GROUP_OBJ, _GROUP)]
    others = [allowed for tag, allowed, _ in entries if tag == _OTHER]
    return others == [0] and _ALL in groups and masks in ([], [_ALL])
