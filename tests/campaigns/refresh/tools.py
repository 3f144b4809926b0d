"""A home for real indexers; `GITINDEX_TEST_TOOLS` may name a directory that keeps them between runs."""

from __future__ import annotations

import os
from pathlib import Path

from gitindex.config import Environment

VARIABLES = dict(os.environ)  # as they were before a test's own environment


def home_with_kept_tools(where: Path) -> Environment:
    home = where / "index"
    home.mkdir()
    kept = VARIABLES.get("GITINDEX_TEST_TOOLS")
    if kept:
        (home / "tools").symlink_to(kept)
    return Environment(home, variables=VARIABLES)
