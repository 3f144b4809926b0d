"""`Stat`: what tells, without reading it, whether a file is still the one that was read (CS-3, SN-7)."""

from __future__ import annotations

import os
from typing import NamedTuple, Self


class Stat(NamedTuple):
    """Size, times and inode of one file; two of one path are compared with `==`.

    Equal stats mean equal bytes: every write moves `ctime_ns`, which no program can set. The exception is a write
    within the same clock tick; whoever remembers a stat of a file that changed just now remembers `unsettled`.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, result: os.stat_result) -> Self:
        return cls(result.st_size, result.st_mtime_ns, result.st_ctime_ns, result.st_ino)

    @property
    def unsettled(self) -> Self:
        """The same without the time of change: equal to the stat of no file."""
        return self._replace(ctime_ns=0)

    @property
    def is_settled(self) -> bool:
        return self.ctime_ns != 0


NO_STAT = Stat(0, 0, 0, 0)  # of a path that is deleted or was not read
