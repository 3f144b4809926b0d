"""A commit with the working tree over it, where git and the index spell a path differently (EL-2, CS-3)."""

from __future__ import annotations

import pytest

from gitindex.files.safeopen import Root
from gitindex.git.repo import discover
from gitindex.git.status import PendingStatus
from gitindex.source.gittree import GitSource, differs_from_overlay, open_worktree
from gitindex.source.worktree_files import identify
from tests.support.gitrepo import GitRepo

DECOMPOSED, COMPOSED = "e\u0301.py", "\u00e9.py"
LIMIT = 1000


def opened(repo: GitRepo) -> GitSource:
    place = discover(repo.root)
    assert place is not None
    return open_worktree(place, untracked=True, max_bytes=LIMIT)


@pytest.fixture
def decomposed(repo: GitRepo) -> GitRepo:
    repo.git("config", "core.precomposeunicode", "false")
    repo.commit("named", **{DECOMPOSED: "value = 1\n"})
    return repo


def test_a_change_of_spelling_is_no_duplicate(decomposed: GitRepo):
    """The old spelling is deleted and the new one untracked: two changes to git, one file to the index."""
    (decomposed.root / DECOMPOSED).rename(decomposed.root / COMPOSED)
    with opened(decomposed) as source:
        files = source.list_files()
        assert source.dirty_paths == (COMPOSED,)
    assert {key: item.raw for key, item in files.items()} == {COMPOSED: COMPOSED.encode()}
    assert source.duplicate_spellings == ()


def test_two_dirty_spellings_of_one_key_are_both_reported(decomposed: GitRepo):
    decomposed.write(DECOMPOSED, "value = 2\n")
    decomposed.write(COMPOSED, "value = 3\n")
    with opened(decomposed) as source:
        files = source.list_files()
    assert files[COMPOSED].raw == COMPOSED.encode(), "the canonical spelling counts"
    assert source.duplicate_spellings == ((COMPOSED, DECOMPOSED),)


def test_an_indexed_change_under_another_spelling_is_no_difference(decomposed: GitRepo):
    decomposed.write(DECOMPOSED, "value = 2\n")
    with opened(decomposed) as source:
        (item,) = source.list_files().values()
        entry = source.identify(item, None).overlay_entry
        assert entry is not None
        overlay = {entry.path: entry}
        with PendingStatus(source.repo) as pending:
            status = pending.full_status
        assert not differs_from_overlay(source.repo, status, overlay, LIMIT)
        decomposed.write(DECOMPOSED, "value = 3\n")
        assert differs_from_overlay(source.repo, status, overlay, LIMIT)
        assert differs_from_overlay(source.repo, status, {}, LIMIT)


def test_a_change_that_went_away_is_read_from_the_commit(repo: GitRepo):
    """CS-3: what the overlay holds and git no longer reports is listed with its blob at HEAD; an absent one as gone."""
    repo.commit("one", **{"a.py": "a = 1\n"})
    with opened(repo) as source:
        item = source.list_files()["a.py"]
        with Root(repo.root) as root:
            entry = identify(root, item, None, LIMIT, source.algorithm).overlay_entry
        assert entry is not None
        changed = source.list_changed(source.tree, {"a.py": entry, "gone.py": entry})
    assert changed == {"a.py": item, "gone.py": None}
