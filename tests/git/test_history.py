"""What sharing reads from history and branches (RE-3)."""

from __future__ import annotations

from dataclasses import replace

from gitindex.git import history
from gitindex.git.repo import Repo, discover
from tests.support.gitrepo import GitRepo


def opened(repo: GitRepo) -> Repo:
    found = discover(repo.root)
    assert found is not None
    return found


def test_the_first_root_is_that_of_the_first_parents(repo: GitRepo):
    first = repo.commit("one", **{"a.py": "a = 1\n"})
    repo.git("checkout", "-q", "--orphan", "other")
    other = repo.commit("other root")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--allow-unrelated-histories", "-m", "merge", "other")
    place = opened(repo)
    assert history.first_root(place, "HEAD") == first
    assert history.first_root(place, "other") == other
    assert history.first_root(replace(place, shallow=True), "HEAD") is None


def test_branches_are_local_until_there_is_a_remote(repo: GitRepo):
    commit = repo.commit("one")
    repo.git("branch", "topic")
    place = opened(repo)
    assert history.branches_with(place, commit) == ("main", "topic")
    assert history.tracking_branches(place) == ()
    assert history.default_branch(place) == ""
    repo.git("update-ref", "refs/remotes/origin/main", commit)
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    assert history.tracking_branches(place) == ("origin/main",)
    assert history.branches_with(place, commit) == ("main",)
    assert history.local_branches_with(place, commit) == ("main", "topic")
    assert history.default_branch(place) == "main"


def test_commits_apart_count_both_sides(repo: GitRepo):
    repo.commit("one")
    repo.git("checkout", "-q", "-b", "left")
    repo.commit("two")
    repo.commit("three")
    repo.git("checkout", "-q", "main")
    repo.commit("four")
    place = opened(repo)
    assert history.count_commits_apart(place, "left", "main") == 3
    assert history.is_ancestor(place, "main~1", "left")
    assert not history.is_ancestor(place, "main", "left")
    assert len(history.newest_commits(place, 10)) == 4
    assert len(history.newest_commits(place, 2)) == 2


def test_configuration_is_read_and_written(repo: GitRepo):
    place = opened(repo)
    assert history.read_config(place, "gitindex.sample") == ""
    history.configure(place, "gitindex.sample", "a value")
    assert history.read_config(place, "gitindex.sample") == "a value"
