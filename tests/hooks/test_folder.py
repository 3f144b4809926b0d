"""HK-6: the folder of a user, held open: nothing is followed, nothing comes back after it was removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitindex.gitdir import folder
from gitindex.gitdir.folder import Folder


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    with folder.open_folder(tmp_path / ".git", create=True) as made:
        assert made is not None
    return tmp_path / ".git"


def in_the_way(where: Path, kind: str, target: Path) -> None:
    if kind == "link":
        where.symlink_to(target)
    elif kind == "dangling":
        where.symlink_to(target.with_name("nowhere"))
    elif kind == "fifo":
        os.mkfifo(where)
    else:
        where.mkdir()
        (where / "inside").write_text("")


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "directory"])
def test_what_is_in_the_way_is_replaced_not_followed(git_dir: Path, tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    with folder.open_folder(git_dir) as place:
        assert place is not None
        for number, write in enumerate((_append, _replace)):
            name = f"name{number}"
            in_the_way(folder.user_folder_path(git_dir) / name, kind, target)
            assert place.stat(name) is None
            assert place.read(name, 10) is None
            write(place, name)
            assert place.read(name, 10) == b"new"
    assert target.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def _append(place: Folder, name: str) -> None:
    descriptor = place.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, b"new")
    os.close(descriptor)


def _replace(place: Folder, name: str) -> None:
    place.replace(name, b"new")


def test_an_exchanged_folder_is_not_written(git_dir: Path, tmp_path: Path) -> None:
    """The descriptor was checked: a link put in the place of the path leads nobody astray."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with folder.open_folder(git_dir) as place:
        assert place is not None
        folder.user_folder_path(git_dir).rename(tmp_path / "aside")
        folder.user_folder_path(git_dir).symlink_to(elsewhere)
        _append(place, "worker.log")
        _replace(place, "worker.json")
    assert list(elsewhere.iterdir()) == []
    assert {path.name for path in (tmp_path / "aside").iterdir()} == {"worker.log", "worker.json"}


def test_nothing_comes_back_after_removal(git_dir: Path) -> None:
    with folder.open_folder(git_dir) as place:
        assert place is not None
        _append(place, "worker.log")
        folder.remove(git_dir)
        with pytest.raises(FileNotFoundError):
            place.open("worker.log", os.O_WRONLY | os.O_CREAT)
    assert not folder.user_folder_path(git_dir).exists()


@pytest.mark.parametrize("mode", [0o700, 0o1770, 0o1701])
def test_a_folder_without_the_mark_is_not_believed(git_dir: Path, mode: int) -> None:
    folder.user_folder_path(git_dir).chmod(mode)
    with folder.open_folder(git_dir) as place:
        assert place is None
