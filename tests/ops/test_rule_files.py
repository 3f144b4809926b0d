"""Rule files that are themselves ignored still decide what is indexed, so the ignore fingerprint covers them (CF-2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.files.ignore import fingerprint_rules
from tests.support import harness
from tests.support.gitrepo import GitRepo


def ignore_fingerprint(root: Path) -> str:
    with harness.view(root) as view:
        return view.manifest.ignore_fingerprint


def edit(repo: GitRepo, name: str, rules: str) -> None:
    repo.write(name, rules)
    assert not harness.index(repo.root).noop
    assert ignore_fingerprint(repo.root) == fingerprint_rules({name: rules.encode()})
    assert harness.index(repo.root).noop


@pytest.mark.parametrize("name", [".gitignore", ".gitindexignore"])
def test_a_rule_file_that_ignores_itself_counts(name: str, repo: GitRepo, tmp_path: Path):
    """CF-2: made, edited and deleted; also where no indexed file changes."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    edit(repo, name, f"{name}\n*.tmp\n")
    edit(repo, name, f"{name}\n*.tmp\n*.log\n")
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")
    assert harness.cli("health", "--path", str(repo.root)).code == 0
    (repo.root / name).unlink()
    harness.index(repo.root)
    assert ignore_fingerprint(repo.root) == fingerprint_rules({})
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")


def test_a_rule_file_that_another_one_ignores_counts(repo: GitRepo):
    """CF-2: git lists no `.gitindexignore` that `.gitignore` names."""
    repo.commit("one", **{"a.py": "A = 1\n", ".gitignore": ".gitindexignore\n"})
    harness.index(repo.root)
    for rules in (b"*.tmp\n", b"*.log\n"):
        repo.write(".gitindexignore", rules)
        assert not harness.index(repo.root).noop
        wanted = fingerprint_rules({".gitignore": b".gitindexignore\n", ".gitindexignore": rules})
        assert ignore_fingerprint(repo.root) == wanted
        assert harness.index(repo.root).noop


@pytest.mark.parametrize("name", [".gitignore", ".gitindexignore"])
def test_a_committed_one_that_leaves_the_index_of_git(name: str, repo: GitRepo, tmp_path: Path):
    """CF-2: once tracked, then only on disk and hidden by its own rule."""
    rules = f"{name}\n*.tmp\n"
    repo.write(name, rules)
    repo.git("add", "-f", name)
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    repo.git("rm", "-q", "--cached", name)
    repo.git("commit", "-qm", "untrack")
    harness.index(repo.root)
    assert ignore_fingerprint(repo.root) == fingerprint_rules({name: rules.encode()})
    assert harness.index(repo.root).noop
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")


def test_without_git(tmp_path: Path):
    """CF-2, CS-6."""
    root = tmp_path / "plain"
    root.mkdir()
    (root / "a.py").write_text("A = 1\n")
    harness.index(root)
    for rules in (".gitignore\n*.tmp\n", ".gitignore\n*.log\n"):
        (root / ".gitignore").write_text(rules)
        assert not harness.index(root).noop
        assert ignore_fingerprint(root) == fingerprint_rules({".gitignore": rules.encode()})
        assert harness.index(root).noop


def test_a_hidden_rule_file_is_listed_as_ignored(repo: GitRepo):
    """EL-1: and leaves no word in the index; the tree counts as clean."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    repo.write(".gitignore", ".gitignore\n# xyzzyword\n")
    harness.index(repo.root)
    told = harness.cli("status", "--json", "--path", str(repo.root)).json
    assert told["skipped_files"] == {"ignored": [".gitignore"]}
    assert (told["dirty_files"], told["in_sync"], told["freshness"]["dirty_gone"]) == (0, True, 0)
    found = harness.cli("search", "xyzzyword", "--mode", "lexical", "--json", "--path", str(repo.root)).json
    assert found["results"] == []
