"""Verifies the checksum of git's index file, which git itself does not.

Git reads a truncated index as one without its later entries, and reports their files as deleted.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Protocol

_PIECE = 1 << 20


class IndexLocation(Protocol):
    @property
    def git_dir(self) -> Path: ...
    @property
    def algorithm(self) -> str: ...


def has_valid_checksum(repo: IndexLocation) -> bool:
    """Whether the index is what git wrote. One without a checksum (`index.skipHash`), or no index at all, counts."""
    digest = hashlib.new(repo.algorithm, usedforsecurity=False)
    try:
        with open(repo.git_dir / "index", "rb") as file:
            last = b""
            while piece := file.read(_PIECE):
                last += piece
                digest.update(last[: -digest.digest_size])
                last = last[-digest.digest_size :]
    except OSError:
        return True  # git itself reports what is wrong with it
    return last == digest.digest() or (len(last) == digest.digest_size and not any(last))
