"""What a CI job gets besides the log (RE-9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.cli import summary
from gitindex.config import Environment


def test_tables_are_appended_and_cells_stay_cells(tmp_path: Path):
    file = tmp_path / "summary.md"
    environment = Environment(tmp_path, summary=str(file))
    summary.append(environment, "built", [("a|b", "one\ntwo")])
    summary.append(environment, "pushed", [])
    assert (
        file.read_text()
        == "### built\n\n| | |\n|---|---|\n| a\\|b | one two |\n\n### pushed\n\n| | |\n|---|---|\n\n"
    )


def test_outputs_are_one_line_each(tmp_path: Path):
    file = tmp_path / "outputs"
    summary.set_outputs(Environment(tmp_path, outputs=str(file)), {"snapshot": "1", "uploaded": "2"})
    assert file.read_text() == "snapshot=1\nuploaded=2\n"


def test_a_failure_names_its_command_and_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    summary.append_failure("push", "refused", "git switch main")
    summary.append_failure("build", "failed", None)
    assert "### gitindex push failed" in file.read_text()
    assert file.read_text().count("| next |") == 1


def test_without_a_file_nothing_is_written_and_nothing_fails(tmp_path: Path):
    summary.append(Environment(tmp_path), "built", [("a", "b")])
    summary.append(Environment(tmp_path, summary=str(tmp_path / "no" / "folder")), "built", [("a", "b")])
    assert list(tmp_path.glob("*.md")) == []
