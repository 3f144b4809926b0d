"""The trust file is read only where no other user could have written it (RE-5)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitindex.errors import ConfigError, Untrusted
from gitindex.trust import private_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    path = folder / "trust.json"
    path.write_bytes(b"content")
    path.chmod(0o600)
    return path


def test_a_private_file_is_read_up_to_the_limit(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert private_file.read(file) == b"content"
    monkeypatch.setattr(private_file, "MAX_BYTES", 3)
    assert private_file.read(file) == b"cont", "one byte more, so that a parser sees that it is too long"


def test_a_missing_file_or_folder_is_none(file: Path) -> None:
    assert private_file.read(file.with_name("other")) is None
    assert private_file.read(file.parent / "no" / "folder") is None


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_or_folder_that_others_may_write_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(Untrusted, match="can be written by others"):
        private_file.read(file)
    file.chmod(0o600)
    file.parent.chmod(mode | 0o100)
    with pytest.raises(Untrusted, match="can be written by others"):
        private_file.read(file)


def test_a_link_to_the_file_is_refused_but_one_to_the_folder_is_not(file: Path) -> None:
    linked_folder = file.parent.with_name("linked")
    linked_folder.symlink_to(file.parent)
    assert private_file.read(linked_folder / file.name) == b"content"
    link = file.with_name("link.json")
    link.symlink_to(file)
    with pytest.raises(Untrusted, match="is a link"):
        private_file.read(link)


def test_what_is_no_ordinary_file_is_refused_without_waiting(file: Path) -> None:
    pipe = file.with_name("pipe")
    os.mkfifo(pipe, 0o600)
    with pytest.raises(Untrusted, match="no ordinary file"):
        private_file.read(pipe)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_is_an_error_of_configuration(file: Path) -> None:
    file.chmod(0o200)
    with pytest.raises(ConfigError, match="cannot read"):
        private_file.read(file)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_or_folder_of_another_user_is_refused(file: Path) -> None:
    os.chown(file, 12345, -1)
    with pytest.raises(Untrusted, match="belongs to another user"):
        private_file.read(file)
    os.chown(file, 0, -1)
    os.chown(file.parent, 12345, -1)
    with pytest.raises(Untrusted, match="belongs to another user"):
        private_file.read(file)
