"""C-1, CS-2: when git fails, a second attempt scans the files; some errors stay errors."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitindex.errors import GitDamaged, GitError, MissingObjects
from gitindex.git.failure import Damage
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing import git_fallback
from gitindex.ops.syncing.git_fallback import scan_if_git_fails, scan_instead
from gitindex.ops.syncing.sync_plan import SyncOptions
from tests.support import harness
from tests.support.gitrepo import GitRepo

DAMAGED = GitDamaged("index file corrupt", hint="git read-tree HEAD", kind=Damage.INDEX)
MISSING_BLOB = GitDamaged("missing blob", hint="git fsck", kind=Damage.OBJECT)


@pytest.fixture
def codebase(repo: GitRepo) -> Codebase:
    repo.commit("A", **{"a.py": "A = 1\n", "b.py": "B = 1\n"})
    return harness.codebase(repo.root)


def tracked_only(codebase: Codebase) -> Codebase:
    index = replace(codebase.settings.index, untracked=False)
    return replace(codebase, settings=replace(codebase.settings, index=index))


def test_the_second_attempt_scans(codebase: Codebase):
    attempts: list[SyncOptions] = []

    def act(options: SyncOptions) -> str:
        attempts.append(options)
        if options.without_git is None:
            raise DAMAGED
        return "scanned"

    assert scan_if_git_fails(codebase, SyncOptions(workers=3), act) == "scanned"
    first, second = attempts
    assert first.without_git is None
    assert second.workers == 3, "the other options stay"
    assert second.without_git is not None
    failure = second.without_git.failure
    assert (failure.code, failure.kind, failure.message) == ("git_damaged", "index", "index file corrupt")


def test_without_a_failure_there_is_one_attempt(codebase: Codebase):
    attempts: list[SyncOptions] = []
    scan_if_git_fails(codebase, SyncOptions(), attempts.append)
    assert attempts == [SyncOptions()]


def test_a_commit_needs_git(codebase: Codebase):
    with pytest.raises(GitDamaged):
        scan_instead(codebase, SyncOptions(commit_only=True), DAMAGED)


def test_an_unknown_failure_stays_one(codebase: Codebase):
    with pytest.raises(GitError, match="something else"):
        scan_instead(codebase, SyncOptions(), GitError("something else"))


def test_outside_of_a_repository_there_is_nothing_to_replace(codebase: Codebase):
    with pytest.raises(GitDamaged):
        scan_instead(replace(codebase, repo=None), SyncOptions(), DAMAGED)


def test_a_partial_clone_misses_objects(codebase: Codebase, repo: GitRepo):
    repo.git("config", "remote.origin.promisor", "true")
    with pytest.raises(MissingObjects):
        scan_instead(codebase, SyncOptions(), MISSING_BLOB)
    assert scan_instead(codebase, SyncOptions(), DAMAGED).without_git is not None, "the index is not fetched"


def test_untracked_files_are_not_guessed(codebase: Codebase, monkeypatch: pytest.MonkeyPatch):
    """Where they are left out, the paths of the last snapshot are the tracked ones; without it the error stays."""
    monkeypatch.setattr(git_fallback, "list_tracked", lambda _repo: None)
    strict = tracked_only(codebase)
    assert scan_instead(codebase, SyncOptions(), DAMAGED).without_git is not None
    with pytest.raises(GitDamaged):
        scan_instead(strict, SyncOptions(), DAMAGED)
    harness.index(codebase.root)
    without_git = scan_instead(replace(strict, layout=codebase.layout), SyncOptions(), DAMAGED).without_git
    assert without_git is not None
    assert without_git.tracked == frozenset({b"a.py", b"b.py"})
