"""Options for installed packages, and the entry point of the process (CF-5)."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import click
import pytest

from gitindex.cli import start
from gitindex.cli.packages import add_package_options


@click.command()
@add_package_options
def packages(python_env: Path | None, node_modules: Path | None) -> tuple[Path | None, Path | None]:
    return python_env, node_modules


def test_both_options_are_optional_directories(tmp_path: Path):
    assert packages.main([], standalone_mode=False) == (None, None)
    given = packages.main(["--python-env", str(tmp_path)], standalone_mode=False)
    assert given == (tmp_path, None)


@pytest.mark.parametrize("option", ["--python-env", "--node-modules"])
def test_a_file_and_a_missing_directory_are_usage_errors(option: str, tmp_path: Path):
    (tmp_path / "file").touch()
    for name in ("file", "missing"):
        with pytest.raises(click.BadParameter):
            packages.main([option, str(tmp_path / name)], standalone_mode=False)


@pytest.mark.parametrize("begin", [start.main, lambda: runpy.run_module("gitindex", run_name="__main__")])
def test_the_process_is_protected_before_commands_are_loaded(begin, monkeypatch: pytest.MonkeyPatch):
    """CF-5: what is imported before `protect` could come from the repository."""
    calls = []
    monkeypatch.setattr("gitindex.child.protect", lambda: calls.append("protect"))
    monkeypatch.setattr("gitindex.cli.main.main", lambda: calls.append("main"))
    monkeypatch.setattr(sys, "argv", ["gitindex"])
    begin()
    assert calls == ["protect", "main"]
