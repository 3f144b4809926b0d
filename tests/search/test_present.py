"""A look that began early is as honest as one that begins late (QU-6)."""

from __future__ import annotations

import pytest

from gitindex.ops.answers.answer_truths import assess_freshness
from gitindex.ops.answers.search_answer import QueryOptions, query
from gitindex.ops.syncing.worktree_status import start_status
from gitindex.search.request import LEXICAL, Request
from tests.support import harness
from tests.support.gitrepo import GitRepo

ASKED = Request("alpha", LEXICAL)


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    return repo


def test_an_early_look_answers(indexed: GitRepo):
    """QU-6: clean, then dirty, then behind; the look has begun before the question is asked."""
    codebase = harness.codebase(indexed.root)
    with start_status(codebase) as look:
        told = query(codebase, ASKED, QueryOptions(), look).truth
    assert told is not None
    assert told.freshness.in_sync
    assert told.freshness.dirty_files == 0
    indexed.write("a.py", "def alpha():\n    return 2\n")
    indexed.write("b.py", "beta = 1\n")
    with start_status(codebase) as look:
        told = query(codebase, ASKED, QueryOptions(), look).truth
    assert told is not None
    assert (told.freshness.in_sync, told.freshness.dirty_files) == (False, 2)
    now = indexed.commit("two", **{"c.py": "gamma = 1\n"})
    with start_status(codebase) as look:
        told = query(codebase, ASKED, QueryOptions(), look).truth
    assert told is not None
    assert (told.freshness.head, told.freshness.commits_behind) == (now, 1)


def test_a_snapshot_younger_than_the_look_is_looked_at_anew(indexed: GitRepo):
    """QU-6: what git saw before the publish says nothing about the snapshot published after it."""
    codebase = harness.codebase(indexed.root)
    with start_status(codebase) as look:
        assert look is not None
        assert look.pending.full_status.dirty == ()
        now = indexed.commit("two", **{"b.py": "beta = 1\n"})
        harness.index(indexed.root)
        told = query(codebase, ASKED, QueryOptions(), look).truth
    assert told is not None
    assert (told.freshness.head, told.freshness.indexed_commit) == (now, now)
    assert told.freshness.in_sync


def test_catching_up_first_is_seen(indexed: GitRepo):
    """HK-5: with `sync` the answer speaks of the snapshot it made."""
    codebase = harness.codebase(indexed.root)
    now = indexed.commit("two", **{"b.py": "beta = 1\n"})
    with start_status(codebase) as look:
        told = query(codebase, ASKED, QueryOptions(sync=True), look).truth
    assert told is not None
    assert told.freshness.indexed_commit == now
    assert told.freshness.in_sync


@pytest.mark.parametrize("damage", ["garbage\n", "0" * 39 + "1\n"])
def test_a_broken_head_is_a_problem_and_not_an_empty_branch(indexed: GitRepo, damage: str):
    """QU-6: when git cannot say, the answer says so."""
    codebase = harness.codebase(indexed.root)
    with harness.view(indexed.root) as view:
        (indexed.root / ".git" / "refs" / "heads" / "main").write_text(damage)
        with start_status(codebase) as look:
            told = assess_freshness(codebase, view, look)
    assert told.problem
    assert not told.in_sync


def test_no_git_and_unborn_branches(repo: GitRepo):
    """QU-6: nothing committed yet is no error."""
    repo.write("a.py", "def alpha():\n    return 1\n")
    harness.index(repo.root)
    codebase = harness.codebase(repo.root)
    with harness.view(repo.root) as view, start_status(codebase) as look:
        told = assess_freshness(codebase, view, look)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", str(repo.root / "nowhere"))
            with start_status(codebase) as none:
                assert none is None
                assert "not on PATH" in assess_freshness(codebase, view, none).problem
    assert (told.head, told.problem, told.dirty_files) == (None, "", 1)


def test_the_line_tells_whether_dirty_files_are_indexed(indexed: GitRepo):
    """QU-6: a number of dirty files alone would say the same before and after a sync."""
    indexed.commit("two", **{"b.py": "b = 1\n", "c.py": "c = 1\n"})
    harness.index(indexed.root)

    def line() -> str:
        told = harness.cli("search", "alpha", "--mode", "lexical", "--path", str(indexed.root)).out
        assert harness.cli("status", "--path", str(indexed.root)).out.startswith(told.splitlines()[-1])
        return told.splitlines()[-1].partition("(")[2].partition(")")[0]

    indexed.write("b.py", "b = 2\n")
    assert line() == "1 dirty file"
    harness.index(indexed.root)
    assert line() == "1 dirty file, indexed"
    (indexed.root / "c.py").unlink()
    assert line() == "2 dirty files, 1 indexed"
    harness.index(indexed.root)
    assert line() == "2 dirty files, indexed"
    indexed.write("b.py", "b = 3\n")  # as many bytes
    assert line() == "2 dirty files, 1 indexed"
    indexed.write("c.py", "c = 2\n")
    assert line() == "2 dirty files"
    harness.index(indexed.root)
    indexed.git("checkout", "-q", "b.py")
    assert line() == "1 dirty file, indexed, 1 change since taken back"
    indexed.git("checkout", "-q", "c.py")
    assert line() == "2 changes since taken back"
    harness.index(indexed.root)
    assert line() == ""


def test_a_dirty_file_that_is_skipped_is_not_indexed(indexed: GitRepo):
    """QU-6."""
    indexed.write("latin.txt", b"caf\xe9\n")
    harness.index(indexed.root)
    with harness.view(indexed.root) as view:
        found = assess_freshness(harness.codebase(indexed.root), view)
    assert (found.dirty_files, found.dirty_current, found.dirty_gone) == (1, 0, 0)
