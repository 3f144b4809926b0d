"""Why a file is not in the index (EL-1). Values are stable: they are stored, counted and printed."""

from __future__ import annotations

from enum import StrEnum


class SkipReason(StrEnum):
    IGNORED = "ignored"  # .gitindexignore
    EXCLUDED = "excluded"  # `index.exclude` in .gitindex.toml
    BINARY = "binary"
    TOO_LARGE = "too_large"
    UNSUPPORTED = "unsupported"  # no known language and not included by configuration
    ENCODING = "encoding"  # not UTF-8 text
    BAD_PATH = "bad_path"  # path is not UTF-8 or has no safe spelling
    OUT_OF_ROOT = "out_of_root"  # symlink or path that leaves the root
    SYMLINK_LOOP = "symlink_loop"
    SYMLINK_BROKEN = "symlink_broken"
    SYMLINK_DIRECTORY = "symlink_directory"
    SUBMODULE = "submodule"
    NESTED_REPOSITORY = "nested_repository"
    NOT_A_FILE = "not_a_file"  # socket, fifo, device
    LFS_POINTER = "lfs_pointer"
    UNREADABLE = "unreadable"  # a directory that may not be listed; a file only in a degraded publish
