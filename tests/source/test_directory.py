"""A directory without git, or with a git that fails (CS-6, C-1)."""

from __future__ import annotations

import os
from pathlib import Path

from gitindex.model.manifest import GitFailure
from gitindex.model.skips import SkipReason
from gitindex.source.directory import DirectorySource, WithoutGit
from gitindex.source.source_file import LINK

FAILURE = GitFailure("git_damaged", "index", "git: index file corrupt", "git read-tree HEAD")


def listed(root: Path, **more: object) -> dict[str, SkipReason | None]:
    without_git = WithoutGit(FAILURE, "sha1", **more) if more else None  # type: ignore[arg-type]
    with DirectorySource(root, max_bytes=1000, without_git=without_git) as source:
        return {key: item.skip for key, item in source.list_files().items()}


def test_every_entry_has_a_place(tmp_path: Path):
    """EL-1: what cannot be indexed is a skip with its reason."""
    (tmp_path / "a.py").write_text("a = 1\n")
    (tmp_path / "link").symlink_to("a.py")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    assert listed(tmp_path) == {
        "a.py": None,
        "link": None,
        "fifo": SkipReason.NOT_A_FILE,
        "inner": SkipReason.NESTED_REPOSITORY,
    }
    with DirectorySource(tmp_path, max_bytes=1000) as source:
        assert source.list_files()["link"].mode == LINK
        assert source.git_state.untracked_included
        assert source.list_changed("tree", {}) is None
        assert source.dirty_paths == ()


def test_tracked_files_are_listed_although_a_rule_ignores_them(tmp_path: Path):
    """C-1: as git would, from the paths that it tracks."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("kept.log", "other.log", "new.py"):
        (tmp_path / name).write_text("x = 1\n")
    tracked = frozenset({b"kept.log", b".gitignore", b"gone.log"})
    assert set(listed(tmp_path, tracked=tracked, untracked=True)) == {".gitignore", "kept.log", "new.py"}
    assert set(listed(tmp_path, tracked=tracked, untracked=False)) == {".gitignore", "kept.log"}
    assert set(listed(tmp_path, tracked=None, untracked=False)) == {".gitignore", "new.py"}


def test_a_file_is_read_again_only_when_its_stat_changed(tmp_path: Path):
    """CS-3."""
    path = tmp_path / "a.py"
    path.write_text("a = 1\n")
    with DirectorySource(tmp_path, max_bytes=1000) as source:
        (item,) = source.list_files().values()
        [(_, content)] = source.read([item])
        assert content.overlay_entry is not None
        entry = content.overlay_entry
        assert not entry.stat.is_settled, "it changed a moment ago"
        settled = entry._replace(blob="recorded", stat=entry.stat._replace(ctime_ns=path.stat().st_ctime_ns))
        assert source.identify(item, settled).blob == "recorded"
        assert (
            source.identify(item, settled._replace(stat=settled.stat._replace(inode=0))).blob == content.blob
        )
        assert source.identify(item, settled._replace(stat=settled.stat.unsettled)).blob == content.blob
