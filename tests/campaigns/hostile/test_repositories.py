"""Every shape a repository comes in (ST-1, CS-2, CS-6, EL-4)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.campaigns.hostile.test_names import paths_of
from tests.support import harness
from tests.support.gitrepo import GitRepo


def test_an_unborn_head(repo: GitRepo):
    """CS-2: no commit yet: untracked files are all there is, and the first commit changes no file."""
    harness.index(repo.root)
    assert paths_of(repo.root) == {}
    repo.write("a.py", "def alpha(): pass\n")
    assert harness.index(repo.root).changes["add"] == 1
    status = harness.cli("status", "--json", "--path", str(repo.root)).json
    assert status["indexed_commit"] is None
    assert status["in_sync"]
    commit = repo.commit("first")
    report = harness.index(repo.root)
    assert report.commit == commit
    assert report.changes == {"add": 0, "modify": 0, "delete": 0, "rename": 0}
    assert harness.audited(repo.root).is_clean


def test_a_directory_without_git(tmp_path: Path):
    """C-1, CS-6, ST-1: the resolved path is the root; `.gitignore` files count; changes are found by stat and hash."""
    root = tmp_path / "notes"
    (root / "sub").mkdir(parents=True)
    (root / "a.py").write_text("A = 1\n")
    (root / "sub" / "b.py").write_text("B = 1\n")
    (root / "sub" / ".gitignore").write_text("skip.py\n")
    (root / "sub" / "skip.py").write_text("S = 1\n")
    harness.index(root)
    assert {path for path, skip in paths_of(root).items() if not skip} >= {"a.py", "sub/b.py"}
    assert "sub/skip.py" not in paths_of(root)
    assert harness.index(root).noop
    (root / "a.py").write_text("A = 2\n")
    (root / "sub" / "b.py").rename(root / "c.py")
    report = harness.index(root)
    assert report.changes == {"add": 0, "modify": 1, "delete": 0, "rename": 1}
    assert report.commit is None
    assert harness.audited(root).is_clean
    assert harness.cli("audit", "--rebuild", "--path", str(root)).code == 0
    link = tmp_path / "link"
    link.symlink_to(root)
    assert harness.codebase(link).layout == harness.codebase(root).layout


def test_a_directory_becomes_a_repository(tmp_path: Path):
    """CS-2, CS-6: the same root, the same store; the snapshot then names a commit."""
    root = tmp_path / "later"
    root.mkdir()
    (root / "a.py").write_text("A = 1\n")
    harness.index(root)
    repo = GitRepo.create(root)
    commit = repo.commit("now tracked")
    report = harness.index(root)
    assert report.commit == commit
    assert harness.digest_of(root) == harness.clean_digest(root, tmp_path / "scratch")
    shutil.rmtree(root / ".git")
    assert harness.index(root).commit is None
    assert harness.audited(root).is_clean


def test_a_detached_head_and_any_path_inside(repo: GitRepo):
    """ST-1: every path of the worktree means the same codebase."""
    first = repo.commit("first", **{"pkg/a.py": "A = 1\n"})
    repo.commit("second", **{"pkg/a.py": "A = 2\n"})
    repo.git("checkout", "-q", "--detach", first)
    assert harness.index(repo.root / "pkg").commit == first
    assert harness.cli("status", "--json", "--path", str(repo.root / "pkg" / "a.py")).json["in_sync"]


def test_a_sha256_repository(tmp_path: Path):
    """CS-2: libgit2 cannot read these; the git command line can."""
    repo = GitRepo.create(tmp_path / "sha256", "--object-format=sha256")
    commit = repo.commit("first", **{"a.py": "A = 1\n", "b.py": "B = 1\n"})
    assert len(commit) == 64
    assert harness.index(repo.root).commit == commit
    repo.git("mv", "b.py", "c.py")
    repo.write("a.py", "A = 2\n")
    assert harness.index(repo.root).changes == {"add": 0, "modify": 1, "delete": 0, "rename": 1}
    repo.commit("second")
    harness.index(repo.root)
    assert harness.audited(repo.root).is_clean
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")


def test_submodules_and_nested_repositories_are_not_entered(repo: GitRepo, tmp_path: Path):
    """EL-4: each is one skip with its reason."""
    other = GitRepo.create(tmp_path / "other")
    other.commit("lib", **{"lib.py": "HIDDEN = 1\n"})
    repo.commit("first", **{"a.py": "A = 1\n"})
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.root), "vendor/sub")
    repo.git("commit", "-q", "-m", "submodule")
    nested = GitRepo.create(repo.root / "nested")
    nested.commit("inside", **{"inner.py": "HIDDEN = 2\n"})
    harness.index(repo.root)
    found = paths_of(repo.root)
    assert found["vendor/sub"] == "submodule"
    assert {path.rstrip("/"): skip for path, skip in found.items()}["nested"] == "nested_repository"
    assert not any("lib.py" in path or "inner.py" in path for path in found)
    (repo.root / "vendor" / "sub" / "lib.py").write_text("HIDDEN = 3\n")
    assert harness.index(repo.root).noop or "vendor/sub" in paths_of(repo.root)
    with harness.view(repo.root) as view:
        assert not any("HIDDEN" in document.text for document in view.lexical.iter_documents())


def test_a_sparse_checkout_is_not_a_deletion(repo: GitRepo, tmp_path: Path):
    """CS-3: files outside the cone are committed, so they are indexed from their blobs."""
    repo.commit("first", **{"in/a.py": "A = 1\n", "out/b.py": "B = 1\n", "top.py": "T = 1\n"})
    harness.index(repo.root)
    before = harness.digest_of(repo.root)
    repo.git("sparse-checkout", "set", "in")
    assert not (repo.root / "out").exists()
    harness.index(repo.root)
    assert harness.digest_of(repo.root) == before
    assert harness.clean_digest(repo.root, tmp_path / "scratch") == before


@pytest.mark.parametrize("name", ["with space\nand line", "-dash 'quo\"tes", "ünï per%20cent#?"])
def test_worktrees_at_odd_paths(repo: GitRepo, tmp_path: Path, name: str):
    """ST-1, ST-4."""
    repo.commit("first", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    other = tmp_path / name
    repo.git("worktree", "add", "-q", "-b", "side", str(other))
    report = harness.index(other)
    assert report.seeded_from == harness.codebase(repo.root).layout.id
    (other / "b.py").write_text("B = 1\n")
    harness.index(other)
    assert paths_of(other) == {"a.py": "", "b.py": ""}
    assert harness.audited(other).is_clean


def test_a_bare_repository_says_what_to_do(tmp_path: Path):
    """UI-1."""
    bare = GitRepo.create(tmp_path / "bare.git", "--bare")
    ran = harness.cli("sync", "--json", "--path", str(bare.root))
    assert ran.code == 2
    assert "bare" in ran.json["error"]["message"]


def test_a_shallow_clone_and_a_force_push(repo: GitRepo, tmp_path: Path):
    """CS-2: no history is needed; trees are compared, not commits."""
    for at in range(3):
        repo.commit(f"c{at}", **{f"f{at}.py": f"F = {at}\n"})
    shallow = GitRepo(tmp_path / "shallow")
    repo.git("clone", "-q", "--depth=1", f"file://{repo.root}", str(shallow.root))
    harness.index(shallow.root)
    repo.git("reset", "-q", "--hard", "HEAD~2")
    repo.commit("other history", **{"g.py": "G = 1\n"})
    shallow.git("fetch", "-q", "--depth=1", "origin", "main")
    shallow.git("reset", "-q", "--hard", "FETCH_HEAD")
    harness.index(shallow.root)
    assert set(paths_of(shallow.root)) == {"f0.py", "g.py"}
    assert harness.digest_of(shallow.root) == harness.clean_digest(shallow.root, tmp_path / "scratch")


def test_index_lock_is_waited_out_or_told(repo: GitRepo):
    """CS-4: reading needs no index lock at all."""
    repo.commit("first", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    repo.write("a.py", "A = 2\n")
    (repo.root / ".git" / "index.lock").touch()
    assert harness.index(repo.root).changes["modify"] == 1


def test_a_missing_path_and_a_broken_git_directory(repo: GitRepo, tmp_path: Path):
    """C-1, UI-1, CS-4: a message and an exit code, never a traceback; the last snapshot stays."""
    assert harness.cli("sync", "--path", str(tmp_path / "nowhere")).code == 2
    repo.commit("first", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    before = harness.digest_of(repo.root)
    (repo.root / ".git" / "HEAD").write_text("garbage\n")
    ran = harness.cli("sync", "--json", "--path", str(repo.root))
    assert ran.code in (0, 1), ran.out
    assert "defect" not in ran.out
    (repo.root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    harness.index(repo.root)
    assert harness.digest_of(repo.root) == before
