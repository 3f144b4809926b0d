"""The package list for scip-python, from an environment with two packages and a damaged one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitindex.errors import UsageError
from gitindex.semantic import pythonenv


def install(environment: Path, name: str, version: str, *, files: tuple[str, ...] = ("a.py",)) -> None:
    info = environment / "lib/python3.11/site-packages" / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{name}/{file},,\n" for file in files))


def test_packages_are_sorted_by_name_with_their_files(tmp_path: Path):
    install(tmp_path, "zlib_ng", "1.0", files=("b.py", "a.py"))
    install(tmp_path, "attrs", "2.0")
    install(tmp_path, "hollow", "3.0", files=())
    assert json.loads(pythonenv.describe_packages(tmp_path)) == [
        {"name": "attrs", "version": "2.0", "files": ["attrs/a.py"]},
        {"name": "zlib_ng", "version": "1.0", "files": ["zlib_ng/a.py", "zlib_ng/b.py"]},
    ]


def test_the_hash_follows_the_packages(tmp_path: Path):
    first, second = tmp_path / "first", tmp_path / "second"
    install(first, "attrs", "2.0")
    install(second, "attrs", "2.1")
    assert pythonenv.hash_packages(None) == ""
    assert pythonenv.hash_packages(first) == pythonenv.hash_packages(first) != pythonenv.hash_packages(second)


def test_a_link_is_resolved_and_another_directory_refused(tmp_path: Path):
    install(tmp_path / "env", "attrs", "2.0")
    (tmp_path / "link").symlink_to(tmp_path / "env")
    assert pythonenv.locate(tmp_path / "link") == (tmp_path / "env").resolve()
    with pytest.raises(UsageError, match="not a Python environment"):
        pythonenv.locate(tmp_path)
