"""`cli.command`: who is told that a run in the background failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.cli import command
from tests.support.harness import cli


@pytest.mark.parametrize(("words", "warned"), [((), True), (("--json",), False)])
def test_a_failed_run_in_the_background_is_told_to_people_only(
    words: tuple[str, ...], warned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """UI-1: programs read it from `status --json`."""
    asked: list[Path] = []
    monkeypatch.setattr(command, "warn_of_failed_run", asked.append)
    assert cli("stores", "--path", str(tmp_path), *words).code == 0
    assert asked == ([tmp_path] if warned else [])
