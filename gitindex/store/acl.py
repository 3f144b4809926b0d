"""POSIX default ACLs: the kernel grants a folder's group access to every new file in it, whatever the umask (ST-3).

Linux only, through extended attributes. On a file system without them, `atomic` alone sets the permissions.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

_DEFAULT_ACL_ATTRIBUTE = "system.posix_acl_default"
# Layout of the attribute (linux/posix_acl_xattr.h), little-endian: a 32-bit version, then entries of a 16-bit tag,
# 16-bit permissions and a 32-bit user or group id.
_ACL_VERSION = 2
_ENTRY = struct.Struct("<HHI")
_USER_OBJ, _GROUP_OBJ, _GROUP, _MASK, _OTHER = 0x01, 0x04, 0x08, 0x10, 0x20
_ALL = 0o7
_NO_ID = 0xFFFFFFFF


def grant_group(folder: Path) -> bool:
    """Let the group, and nobody else, use all future files in `folder`; False where no default ACL can be set.

    An existing default ACL that already does so is not changed: an administrator may have added groups to it.
    """
    if not hasattr(os, "setxattr"):
        return False
    if is_group_granted(folder):
        return True
    entries = ((_USER_OBJ, _ALL), (_GROUP_OBJ, _ALL), (_OTHER, 0))
    value = struct.pack("<I", _ACL_VERSION) + b"".join(_ENTRY.pack(*entry, _NO_ID) for entry in entries)
    try:
        os.setxattr(folder, _DEFAULT_ACL_ATTRIBUTE, value, follow_symlinks=False)
    except OSError:  # the file system has no ACLs, or another user owns the folder
        return False
    return True


def is_group_granted(folder: Path) -> bool:
    """Whether the folder's default ACL gives a group all permissions, and others none."""
    try:
        value = os.getxattr(folder, _DEFAULT_ACL_ATTRIBUTE, follow_symlinks=False)
        entries = list(_ENTRY.iter_unpack(value[4:]))
    except (OSError, AttributeError, struct.error):
        return False
    masks = [allowed for tag, allowed, _ in entries if tag == _MASK]
    groups = [allowed for tag, allowed, _ in entries if tag in (_GROUP_OBJ, _GROUP)]
    others = [allowed for tag, allowed, _ in entries if tag == _OTHER]
    return others == [0] and _ALL in groups and masks in ([], [_ALL])
