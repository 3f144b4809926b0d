"""A short life of the soak (`ci/soak`): random operations, every invariant after each (SN-6, SN-10, LE-2, HK-3)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.house.graph import REPOSITORY


@pytest.mark.slow
def test_a_short_soak():
    """The seed is fixed, so a failure can be played again with the command that the output names."""
    command = [sys.executable, str(REPOSITORY / "ci" / "soak"), "--seed", "20261116", "--operations", "70"]
    done = subprocess.run(command, env={**os.environ}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed: 70 operations" in done.stdout
