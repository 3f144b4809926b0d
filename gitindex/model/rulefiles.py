"""The files whose rules decide which other files are indexed (CF-2)."""

from __future__ import annotations

from gitindex.model.paths import path_key

IGNORE_NAME = path_key(".gitindexignore")  # at the root only
GIT_NAME = path_key(".gitignore")  # in any directory


def is_rule_file(path: str) -> bool:
    return path == IGNORE_NAME or path.rpartition("/")[2] == GIT_NAME
