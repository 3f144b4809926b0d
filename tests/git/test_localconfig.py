"""Words of a repository's configuration, and the filters that it defines (CF-5)."""

from __future__ import annotations

from gitindex.git import localconfig
from gitindex.git.filters import filter_overrides
from gitindex.git.localconfig import mentions, names_sha256
from gitindex.git.repo import discover
from tests.support.gitrepo import GitRepo


def test_words_count_in_any_case_and_in_both_files(repo: GitRepo):
    found = discover(repo.root)
    assert found is not None
    assert not mentions(found, b"filter", b"include")
    (repo.root / ".git" / "config.worktree").write_text("[Include]\n")
    assert mentions(found, b"filter", b"include")
    assert not mentions(found, b"filter")


def test_a_file_too_large_to_read_mentions_everything(repo: GitRepo, monkeypatch):
    found = discover(repo.root)
    assert found is not None
    config = repo.root / ".git" / "config"
    monkeypatch.setattr(localconfig, "_MAX_BYTES", config.stat().st_size)
    assert not mentions(found, b"nothing of the kind")
    monkeypatch.setattr(localconfig, "_MAX_BYTES", config.stat().st_size - 1)
    assert mentions(found, b"nothing of the kind")


def test_sha256_needs_both_words(repo: GitRepo):
    config = repo.root / ".git" / "config"
    assert not names_sha256(repo.root / ".git")
    config.write_text(config.read_text() + "# sha256\n")
    assert not names_sha256(repo.root / ".git")
    config.write_text(config.read_text() + "[extensions]\n\tobjectFormat = sha256\n")
    assert names_sha256(repo.root / ".git")


def test_filters_of_the_repository_get_no_command(repo: GitRepo):
    found = discover(repo.root)
    assert found is not None
    assert filter_overrides(found) == {}
    repo.git("config", "filter.my.own.clean", "touch evil")
    assert filter_overrides(found) == {
        "filter.my.own.clean": "",
        "filter.my.own.smudge": "",
        "filter.my.own.process": "",
        "filter.my.own.required": "false",
    }
