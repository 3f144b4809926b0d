"""A store that another user made or can change is not used (ST-3)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitindex.errors import ForeignStore
from gitindex.store import ownership
from gitindex.store.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    base = tmp_path / "store"
    base.mkdir()
    base.chmod(0o700)
    layout = Layout(base)
    layout.active_pointer.write_text("id\n")
    layout.active_pointer.chmod(0o600)
    return layout


def problem(layout: Layout, mode: str = "single") -> str:
    error = ownership.find_problem(layout, mode)
    return "" if error is None else error.message


def test_an_own_or_missing_store_has_no_problem(layout: Layout, tmp_path: Path) -> None:
    assert problem(layout) == ""
    assert problem(Layout(tmp_path / "missing")) == ""
    ownership.check(layout, "single")


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_others_may_not_write_a_private_store(layout: Layout, mode: int) -> None:
    layout.base.chmod(mode)
    assert "others may write" in problem(layout)
    with pytest.raises(ForeignStore):
        ownership.check(layout, "single")
    with pytest.raises(ForeignStore):
        ownership.check_private(layout.base)


def test_a_group_store_is_closed_to_everybody_else(layout: Layout) -> None:
    layout.base.chmod(0o2770)
    layout.active_pointer.chmod(0o660)
    assert problem(layout, "shared") == ""
    layout.base.chmod(0o2772)
    assert "everybody may write" in problem(layout, "shared")


def test_control_files_are_regular_and_private(layout: Layout) -> None:
    layout.active_pointer.chmod(0o620)
    assert f"others may write the index at {layout.active_pointer}" == problem(layout)
    layout.active_pointer.unlink()
    layout.state.symlink_to("elsewhere")
    assert "is no regular file" in problem(layout)


def test_a_store_is_a_directory(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert "is no directory" in problem(Layout(link))
    file = tmp_path / "file"
    file.touch(0o600)
    with pytest.raises(ForeignStore, match="is no directory"):
        ownership.check_private(file)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_counts_except_in_a_store_of_the_group(layout: Layout) -> None:
    os.chown(layout.base, 12345, -1)
    assert "belongs to user 12345" in problem(layout)
    layout.base.chmod(0o2770)
    assert problem(layout, "shared") == ""
    assert "belongs to user 12345" in problem(layout, "single")
    os.chown(layout.base, 12345, 54321)
    layout.base.chmod(0o2770)
    assert "a group that you are not in" in problem(layout, "shared")
