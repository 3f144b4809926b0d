"""`hooks.hookfile`: what a hook file of ours looks like from outside (HK-1)."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gitindex.hooks import hookfile
from gitindex.hooks.shim import ShimCall


@pytest.mark.parametrize("exists", [True, False])
def test_a_new_hook_is_run_by_all_and_written_by_its_owner(tmp_path: Path, exists: bool):
    """HK-1: git ignores a hook that is not executable; one that others can write runs their code."""
    folder = tmp_path / "hooks"
    if exists:
        folder.mkdir()
    outcome = hookfile._create(folder, folder / "post-commit", "post-commit", ShimCall("alone", "inside"))
    assert stat.S_IMODE((folder / "post-commit").stat().st_mode) == 0o755
    assert (outcome.event, outcome.action) == ("post-commit", "created")
    assert [path.name for path in folder.iterdir()] == ["post-commit"]
