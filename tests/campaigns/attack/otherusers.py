"""What tests need that run as another user than the one who started them."""

from __future__ import annotations

import stat
import tempfile
from pathlib import Path

import pytest


def find_open_directory() -> str:
    """A directory for temporary files that an ordinary user reaches: the tests' own may be closed to others."""
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        if all(folder.stat().st_mode & stat.S_IXOTH for folder in (Path(place), *Path(place).parents)):
            return place
    pytest.skip("no directory here is open to an ordinary user")
