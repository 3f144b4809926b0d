"""CF-2: a rule file that git does not list is recorded, so that an edit of it is a change."""

from __future__ import annotations

from gitindex.model.skips import SkipReason
from gitindex.ops.syncing.hidden_rules import read_hidden_git_rules
from gitindex.ops.syncing.sync_plan import SyncOptions, open_source
from tests.support import harness
from tests.support.gitrepo import GitRepo

RULES = ".gitignore\n*.log.py\n"


def record(repo: GitRepo, path: str = ".gitignore"):
    with harness.view(repo.root) as view:
        return view.record(path)


def test_a_rule_file_that_ignores_itself_is_recorded(repo: GitRepo):
    repo.commit("A", **{"a.py": "A = 1\n"})
    repo.write(".gitignore", RULES)
    harness.index(repo.root)
    hidden = record(repo)
    assert hidden is not None
    assert hidden.skip == SkipReason.IGNORED
    assert hidden.blob == repo.git("hash-object", ".gitignore")
    assert harness.index(repo.root).noop


def test_an_edit_of_it_is_a_change(repo: GitRepo):
    repo.commit("A", **{"a.py": "A = 1\n"})
    repo.write(".gitignore", RULES)
    harness.index(repo.root)
    before = fingerprint(repo)
    repo.write(".gitignore", RULES + "*.tmp.py\n")
    assert not harness.index(repo.root).noop
    assert fingerprint(repo) != before
    repo.write(".gitignore", RULES)
    harness.index(repo.root)
    assert fingerprint(repo) == before


def test_a_deleted_one_is_forgotten(repo: GitRepo):
    repo.commit("A", **{"a.py": "A = 1\n"})
    rules = repo.write(".gitignore", RULES)
    harness.index(repo.root)
    rules.unlink()
    assert not harness.index(repo.root).noop
    assert record(repo) is None
    assert harness.index(repo.root).noop


def test_a_full_comparison_keeps_it(repo: GitRepo):
    """Nothing lists the file, so comparing every path takes it for deleted at first."""
    repo.commit("A", **{"a.py": "A = 1\n"})
    repo.write(".gitignore", RULES)
    harness.index(repo.root)
    repo.write(".gitindexignore", "never.py\n")
    harness.index(repo.root)
    assert record(repo) is not None


def test_a_tracked_rule_file_is_an_ordinary_one(repo: GitRepo):
    repo.commit("A", **{"a.py": "A = 1\n", ".gitignore": "*.log.py\n"})
    harness.index(repo.root)
    ordinary = record(repo)
    assert ordinary is not None
    assert ordinary.skip != SkipReason.IGNORED


def test_only_unlisted_rules_are_read(repo: GitRepo):
    repo.commit("A", **{"a.py": "A = 1\n"})
    repo.write(".gitignore", "*.log.py\n")
    codebase = harness.codebase(repo.root)
    with open_source(codebase, SyncOptions(), bulk=False) as source:
        assert read_hidden_git_rules(codebase, source) is None, "listed as untracked"
    repo.write(".gitignore", RULES)
    with open_source(codebase, SyncOptions(), bulk=False) as source:
        assert read_hidden_git_rules(codebase, source) == RULES.encode()


def fingerprint(repo: GitRepo) -> str:
    with harness.view(repo.root) as view:
        return view.manifest.ignore_fingerprint
