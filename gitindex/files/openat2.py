"""Linux's `openat2`: the kernel itself refuses to leave a directory (EL-3). Loaded only when a path has directories."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from functools import cache

_NUMBER = 437  # the same on every Linux architecture
_RESOLVE = 0x08 | 0x04 | 0x02  # BENEATH | NO_SYMLINKS | NO_MAGICLINKS
_MAX_RETRIES = 64  # EAGAIN: a rename somewhere made the kernel unsure


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@cache
def is_supported() -> bool:
    """Old kernels lack it, some sandboxes forbid it."""
    if not sys.platform.startswith("linux"):
        return False
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    root_fd = os.open("/", flags)
    try:
        os.close(open_beneath(root_fd, b".", flags))
    except OSError:
        return False
    finally:
        os.close(root_fd)
    return True


def open_beneath(directory: int, path: bytes, flags: int) -> int:
    """Open `path` without following any link. Raises OSError."""
    how = _OpenHow(flags, 0, _RESOLVE)
    for _ in range(_MAX_RETRIES):
        fd = _libc().syscall(
            ctypes.c_long(_NUMBER),
            ctypes.c_int(directory),
            ctypes.c_char_p(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if fd >= 0:
            return int(fd)
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
