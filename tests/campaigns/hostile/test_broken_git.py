"""Git that fails (C-1, CS-2, CS-6): the files are scanned in its place, the snapshot says so, and it heals."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from gitindex.config import load_environment
from gitindex.errors import GitDamaged, GitError
from gitindex.gitdir import hookrequest
from gitindex.gitdir.hookrequest import HookRequest
from gitindex.hooks import journal, worker
from gitindex.mcp.server import Service
from gitindex.store import manifests
from tests.campaigns.hostile.brokengit import BREAKS, Kept, cut, garble, git, loose
from tests.campaigns.hostile.test_names import paths_of
from tests.support import harness
from tests.support.gitrepo import GitRepo

FILES = {
    "pkg/a.py": "def alpha():\n    return 1\n",
    "b.py": "B = 1\n",
    "gone.py": "GONE = 1\n",
    ".gitignore": "*.log.py\nbuild/\n",
}


@pytest.fixture
def made(repo: GitRepo) -> GitRepo:
    """Two commits; a file that is tracked though a rule ignores it; an untracked one, an ignored one, a nested one."""
    repo.commit("one", **{"b.py": "B = 0\n"})
    for path, text in FILES.items():
        repo.write(path, text)
    repo.write("kept.log.py", "KEPT = 1\n")
    repo.git("add", "-A")
    repo.git("add", "-f", "kept.log.py")
    repo.git("commit", "-q", "-m", "two")
    repo.write("new.py", "NEW = 1\n")
    repo.write("build/out.py", "OUT = 1\n")
    GitRepo.create(repo.root / "nested").commit("inside", **{"inner.py": "INNER = 1\n"})
    return repo


@pytest.fixture
def no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A PATH without git; undone by `monkeypatch.undo`, so only use it where that is wanted."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    return monkeypatch


def run(root: Path, *arguments: str) -> Any:
    ran = harness.cli(*arguments, "--json", "--path", str(root))
    assert "defect" not in ran.out, ran.out
    return ran


def edit(repo: GitRepo) -> None:
    repo.write("pkg/a.py", "def beta():\n    return 2\n")
    repo.write("added.py", "ADDED = 1\n")
    (repo.root / "gone.py").unlink()


def git_state(root: Path) -> Any:
    with harness.view(root) as view:
        return view.manifest.git


def indexed(root: Path) -> set[str]:
    return {path for path, skip in paths_of(root).items() if not skip}


def assert_scanned(root: Path, code: str, kind: str) -> None:
    """Every surface says so, with the next step."""
    state = git_state(root)
    assert (state.head_sha, state.tree_sha, state.branch) == (None, None, None)
    assert (state.failure.code, state.failure.kind) == (code, kind)
    status = run(root, "status")
    assert status.code == 0
    assert status.json["fallback"]["code"] == code
    assert status.json["indexed_commit"] is None
    assert [problem["next"] for problem in status.json["problems"] if problem["code"] == code]
    assert "by scanning the files, because git failed" in status.json["truth"]
    health = run(root, "health")
    assert health.code == 0
    assert any(
        "scanning the files" in notice["message"] and notice["next"] for notice in health.json["notices"]
    )
    found = run(root, "search", "beta")
    assert found.code == 0
    assert found.json["freshness"]["scanned"] == state.failure.message
    assert found.json["freshness"]["next"]
    assert not found.json["freshness"]["in_sync"]
    assert found.json["results"][0]["path"] == "pkg/a.py"
    text = harness.cli("search", "beta", "--path", str(root))
    assert "because git failed" in text.out
    assert run(root, "search", "GONE", "--mode", "lexical").json["results"] == []


@pytest.mark.parametrize("name", BREAKS)
def test_the_files_are_scanned_and_the_index_heals(made: GitRepo, tmp_path: Path, name: str) -> None:
    """C-1, CS-2, SN-10, EL-5: what git could not tell, a scan finds; later git's truth is back, as by a clean build."""
    kept = Kept(made, tmp_path / "kept")
    broken = BREAKS[name]
    if broken.noticed:
        harness.index(made.root)
    broken.apply(made)
    edit(made)
    ran = run(made.root, "sync")
    assert ran.code == 0, ran.out
    fallback = ran.json["fallback"]
    assert (fallback["code"], fallback["kind"]) == ("git_damaged", broken.kind)
    assert fallback["message"]
    assert fallback["next"]
    assert ran.json["commit"] is None
    expected = {"pkg/a.py", "b.py", "added.py", "new.py", ".gitignore"}
    assert indexed(made.root) == expected | ({"kept.log.py"} if broken.tracked else set())
    assert not any(
        path == ".git" or path.startswith((".git/", "nested/", "build/")) for path in paths_of(made.root)
    )
    assert_scanned(made.root, "git_damaged", broken.kind)
    scanned = harness.digest_of(made.root)
    assert scanned == harness.clean_digest(made.root, tmp_path / "scratch")
    assert harness.cli("audit", "--rebuild", "--path", str(made.root)).code == 0
    assert run(made.root, "sync").json["noop"]

    kept.restore()
    healed = run(made.root, "sync")
    assert (healed.code, healed.json["fallback"], healed.json["noop"]) == (0, None, False)
    assert healed.json["commit"] == made.git("rev-parse", "HEAD")
    assert harness.digest_of(made.root) == harness.clean_digest(made.root, tmp_path / "scratch")
    if broken.tracked:  # then the scan missed nothing
        assert harness.digest_of(made.root) == scanned
    status = run(made.root, "status").json
    assert (status["fallback"], status["in_sync"], status["problems"]) == (None, True, [])


@pytest.mark.parametrize("name", ["tree missing", "index garbled", "HEAD missing"])
def test_a_first_index_is_made_without_git(made: GitRepo, name: str) -> None:
    """C-1: `init` too; hooks are installed where git lets them be."""
    BREAKS[name].apply(made)
    ran = run(made.root, "init")
    assert ran.code == 0, ran.out
    assert ran.json["fallback"]["code"] == "git_damaged"
    assert ran.json["hooks"].startswith("not installed" if name == "HEAD missing" else "installed")
    assert run(made.root, "search", "alpha").json["results"]


def test_without_a_git_program(made: GitRepo, tmp_path: Path, no_git: pytest.MonkeyPatch) -> None:
    """C-1, ST-1, SN-10: the same root and store as with git, from anywhere inside."""
    edit(made)
    ran = run(made.root / "pkg", "init")
    assert ran.code == 0, ran.out
    assert ran.json["fallback"]["code"] == "git_not_installed"
    assert ran.json["root"] == str(made.root)
    assert ran.json["hooks"].startswith("not installed: git is not installed")
    assert indexed(made.root) == {"pkg/a.py", "b.py", "added.py", "new.py", ".gitignore"}
    assert_scanned(made.root, "git_not_installed", "")
    assert harness.digest_of(made.root) == harness.clean_digest(made.root, tmp_path / "scratch")
    store = harness.codebase(made.root).layout
    no_git.setenv("PATH", os.defpath)
    healed = run(made.root, "sync").json
    assert (healed["fallback"], healed["commit"]) == (None, made.git("rev-parse", "HEAD"))
    assert harness.codebase(made.root).layout == store
    assert harness.digest_of(made.root) == harness.clean_digest(made.root, tmp_path / "scratch")


def test_reading_without_a_git_program_answers_and_says_that_nothing_was_compared(
    made: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """QU-6: the snapshot is git's, and stays so; nobody claims that it is fresh."""
    harness.index(made.root)
    commit = made.git("rev-parse", "HEAD")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    for command in (
        ("search", "alpha"),
        ("symbol", "alpha"),
        ("refs", "alpha"),
        ("outline", "pkg/a.py"),
        ("callgraph", "alpha"),
        ("imports", "pkg/a.py"),
        ("map",),
        ("read", "pkg/a.py"),
    ):
        ran = run(made.root, *command)
        assert ran.code == 0, (command, ran.out)
        fresh = ran.json["freshness"]
        assert (fresh["indexed_commit"], fresh["head"], fresh["in_sync"]) == (commit, None, False)
        assert "git is not installed" in fresh["problem"]
        assert (fresh["scanned"], fresh["next"]) == ("", "install git 2.34 or newer")
        if command[0] != "read":  # a pipe gets the file alone
            text = harness.cli(*command, "--path", str(made.root))
            assert "nothing was compared: git is not installed" in text.out, command
    assert git_state(made.root).head_sha == commit


def test_a_directory_without_git_needs_no_git(tmp_path: Path, no_git: pytest.MonkeyPatch) -> None:
    """CS-6: nothing failed, so nothing is marked."""
    root = tmp_path / "notes"
    root.mkdir()
    (root / "a.py").write_text("A = 1\n")
    ran = run(root, "sync")
    assert (ran.code, ran.json["fallback"], ran.json["counts"]["files"]) == (0, None, 1)
    assert run(root, "status").json["problems"] == []


# -- blobs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["missing", "cut", "garbled"])
def test_a_lost_blob_is_read_from_the_clean_file(made: GitRepo, tmp_path: Path, damage: str) -> None:
    """CS-2, CS-3: bytes of the same id are the blob; the snapshot is the commit's, and the damage is named."""
    harness.index(made.root)
    whole = harness.digest_of(made.root)
    blob = made.git("rev-parse", "HEAD:pkg/a.py")
    path = loose(made, "HEAD:pkg/a.py")
    {"missing": Path.unlink, "cut": cut, "garbled": garble}[damage](path)
    ran = run(made.root, "sync", "--full")
    assert ran.code == 0, ran.out
    assert (ran.json["fallback"], ran.json["commit"]) == (None, made.git("rev-parse", "HEAD"))
    assert blob in ran.json["damage"]["message"]
    assert ran.json["damage"]["next"] == "git fsck"
    assert harness.digest_of(made.root) == whole == harness.clean_digest(made.root, tmp_path / "scratch")
    assert harness.cli("audit", "--rebuild", "--path", str(made.root)).code == 0
    assert "git fsck" in harness.cli("sync", "--full", "--path", str(made.root)).out
    for refused in (("sync", "--commit-only", "--full"), ("build", "--commit", "HEAD", "--no-semantic")):
        ran = run(made.root, *refused)
        assert (ran.code, ran.json["error"]["code"]) == (1, "git_damaged"), ran.out


def test_every_blob_may_be_lost(made: GitRepo) -> None:
    """CS-2: also those of links; the order of what is read stays."""
    (made.root / "link.py").symlink_to("pkg/a.py")
    made.commit("link")
    harness.index(made.root)
    whole = harness.digest_of(made.root)
    for path in made.git("ls-files").splitlines():
        if path != "nested":
            loose(made, f"HEAD:{path}").unlink(missing_ok=True)
    ran = run(made.root, "sync", "--full")
    assert (ran.code, ran.json["fallback"]) == (0, None), ran.out
    assert harness.digest_of(made.root) == whole


def test_a_lost_blob_without_a_copy_means_a_scan(made: GitRepo, tmp_path: Path) -> None:
    """CS-2: the file has other bytes than the blob, as git's own conversion of line ends makes them."""
    made.git("config", "core.autocrlf", "true")
    (made.root / "b.py").unlink()
    made.git("checkout", "-q", "--", "b.py")
    assert (made.root / "b.py").read_bytes() == b"B = 1\r\n"
    kept = Kept(made, tmp_path / "kept")
    loose(made, "HEAD:b.py").unlink()
    ran = run(made.root, "sync")
    assert ran.code == 0, ran.out
    assert ran.json["fallback"]["kind"] == "object"
    assert git_state(made.root).head_sha is None
    assert run(made.root, "sync").json["noop"]
    kept.restore()
    healed = run(made.root, "sync").json
    assert (healed["fallback"], healed["commit"]) == (None, made.git("rev-parse", "HEAD"))
    assert harness.digest_of(made.root) == harness.clean_digest(made.root, tmp_path / "scratch")


def test_a_blob_that_is_indexed_already_is_not_missed(made: GitRepo) -> None:
    """CS-2: an incremental sync reads what changed, and git can tell that."""
    harness.index(made.root)
    loose(made, "HEAD:pkg/a.py").unlink()
    made.write("b.py", "B = 2\n")
    ran = run(made.root, "sync").json
    assert (ran["fallback"], ran["damage"], ran["changes"]["modify"]) == (None, None, 1)


def test_damage_in_the_tree_that_was_indexed_is_none_in_the_present_one(
    made: GitRepo, tmp_path: Path
) -> None:
    """CS-2: only the target must be readable."""
    harness.index(made.root)
    old = loose(made, "HEAD^{tree}")
    commit = made.commit("more", **{"pkg/a.py": "def beta():\n    return 2\n"})
    garble(old)
    ran = run(made.root, "sync").json
    assert (ran["fallback"], ran["commit"]) == (None, commit)
    assert harness.digest_of(made.root) == harness.clean_digest(made.root, tmp_path / "scratch")


# -- what stays a failure -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tree missing", "index garbled", "HEAD missing", "no git"])
def test_what_needs_a_commit_is_refused_by_name(
    made: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """RE-1, RE-2, C-1: no scan stands for a commit, and the last snapshot stays."""
    harness.index(made.root)
    before = harness.codebase(made.root).layout
    active = manifests.read_active_id(before)
    if name == "no git":
        monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    else:
        BREAKS[name].apply(made)
    code = "git_not_installed" if name == "no git" else "git_damaged"
    commands = [("build", "--commit", "HEAD", "--no-semantic"), ("sync", "--commit-only", "--full")]
    commands += [
        ("push", "--to", f"file://{tmp_path}/remote"),
        ("fetch", "--from", f"file://{tmp_path}/remote"),
    ]
    for command in commands:
        if name == "index garbled" and command[0] != "fetch":
            continue  # a commit needs no index
        ran = run(made.root, *command)
        assert ran.code != 0, command
        if command[0] in ("build", "sync"):
            assert (ran.code, ran.json["error"]["code"]) == (1, code), ran.out
            assert ran.json["error"]["hint"]
    assert manifests.read_active_id(before) == active


def test_a_refresh_scans_and_then_needs_its_commit(made: GitRepo) -> None:
    """SE-3: exact facts are facts of a commit."""
    harness.index(made.root)
    BREAKS["branch names no commit"].apply(made)
    ran = run(made.root, "refresh")
    assert (ran.code, ran.json["error"]["code"]) == (1, "git_damaged")
    assert git_state(made.root).failure is not None


def wrap_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A git of our own before the real one, which it may call as $GIT."""
    program = tmp_path / "wrapped/git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nGIT={shutil.which('git')}\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


REFUSALS = {
    "ownership": ('GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec "$GIT" "$@"', "git"),
    "lock": (
        'case "$*" in *status*) echo "fatal: Unable to create \'.git/index.lock\': File exists." >&2; exit 128;; esac\n'
        'exec "$GIT" "$@"',
        "git_busy",
    ),
    "permission": (
        'case "$*" in *status*) echo "fatal: .git/index: index file open failed: Permission denied" >&2; exit 128;; esac\n'
        'exec "$GIT" "$@"',
        "git",
    ),
    "killed": ('case "$*" in *status*) kill -9 $$;; esac\nexec "$GIT" "$@"', "git"),
    "unknown": (
        'case "$*" in *status*) echo "fatal: nobody knows" >&2; exit 128;; esac\nexec "$GIT" "$@"',
        "git",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_no_reason_to_scan(
    made: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """CF-5, CS-4: nothing is indexed in spite of it, neither anew nor on the last snapshot."""
    script, code = REFUSALS[name]
    wrap_git(tmp_path, monkeypatch, script)
    first = run(made.root, "sync")
    assert (first.code, first.json["error"]["code"]) == (1, code), first.out
    assert not list((tmp_path / "home/.gitindex").glob("data/*/ACTIVE_SNAPSHOT"))
    monkeypatch.setenv("PATH", os.environ["PATH"].partition(":")[2])
    harness.index(made.root)
    active = manifests.read_active_id(harness.codebase(made.root).layout)
    edit(made)
    monkeypatch.setenv("PATH", f"{tmp_path}/wrapped:{os.environ['PATH']}")
    assert run(made.root, "sync").json["error"]["code"] == code
    monkeypatch.setenv("PATH", os.environ["PATH"].partition(":")[2])
    assert manifests.read_active_id(harness.codebase(made.root).layout) == active


def test_a_partial_clone_that_lacks_objects_is_refused(made: GitRepo) -> None:
    """CF-5: the user decides whether git may fetch them; no scan gets around that."""
    made.git("config", "remote.origin.promisor", "true")
    BREAKS["tree missing"].apply(made)
    ran = run(made.root, "sync")
    assert (ran.code, ran.json["error"]["code"]) == (1, "missing_objects"), ran.out


# -- untracked files ------------------------------------------------------------------------------


@pytest.fixture
def tracked_only(made: GitRepo) -> GitRepo:
    made.write(".gitindex.toml", "[index]\nuntracked = false\n")
    made.git("add", ".gitindex.toml")
    made.git("commit", "-q", "-m", "tracked files only")
    return made


@pytest.mark.parametrize("name", ["tree missing", "index garbled", "index cut"])
def test_untracked_files_stay_out_where_git_still_tells_them(tracked_only: GitRepo, name: str) -> None:
    """ST-3, CS-3: from the index, or from HEAD's tree."""
    BREAKS[name].apply(tracked_only)
    edit(tracked_only)
    assert run(tracked_only.root, "sync").json["fallback"]["code"] == "git_damaged"
    assert indexed(tracked_only.root) == {"pkg/a.py", "b.py", "kept.log.py", ".gitignore", ".gitindex.toml"}
    assert not git_state(tracked_only.root).untracked_included


def test_untracked_files_stay_out_where_nobody_tells_them(
    tracked_only: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ST-3: what the last snapshot holds was tracked; without one nothing is indexed."""
    usual = os.environ["PATH"]
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    refused = run(tracked_only.root, "sync")
    assert (refused.code, refused.json["error"]["code"]) == (1, "git_not_installed")
    monkeypatch.setenv("PATH", usual)
    harness.index(tracked_only.root)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    edit(tracked_only)
    assert run(tracked_only.root, "sync").json["fallback"]["code"] == "git_not_installed"
    assert indexed(tracked_only.root) == {"pkg/a.py", "b.py", "kept.log.py", ".gitignore", ".gitindex.toml"}


# -- other doors ----------------------------------------------------------------------------------


def test_the_hooks_worker_scans_and_says_so(made: GitRepo) -> None:
    """HK-3: the request is served, the journal tells how."""
    harness.index(made.root)
    edit(made)
    BREAKS["HEAD missing"].apply(made)
    place = made.root / ".git"
    hookrequest.write_request(place, HookRequest(commit_only=False))
    worker.serve_requests(
        worker.Worker(place, lambda commit_only: worker._index_once(made.root, commit_only), lambda: None)
    )
    last = journal.read(place)
    assert last is not None
    assert (last.result, last.error) == (journal.DONE, None)
    assert "scanned, because git failed" in str(last.detail)
    assert not hookrequest.has_request(place)
    assert worker._require_repository(made.root, place).root == made.root


def test_agents_are_told(made: GitRepo) -> None:
    """UI-2: over MCP as on the command line."""
    tools = Service(load_environment(), made.root).tools
    BREAKS["tree missing"].apply(made)
    created = tools.call("manage_index", {"action": "create", "wait": True})
    assert created["report"]["fallback"]["code"] == "git_damaged"
    found = tools.call("search_codebase", {"query": "alpha"})
    assert found["freshness"]["scanned"]
    assert tools.call("manage_index", {"action": "status"})["fallback"]["next"] == "git fsck"


def test_another_failure_is_another_snapshot(made: GitRepo) -> None:
    """CS-5: what a snapshot says of git is true of the last sync."""
    BREAKS["tree missing"].apply(made)
    first = run(made.root, "sync").json
    garble(git(made, "index"))
    second = run(made.root, "sync").json
    assert (second["noop"], second["fallback"]["kind"]) == (False, "index")
    assert second["snapshot_id"] != first["snapshot_id"]


def test_a_clean_build_that_needs_git_says_so(made: GitRepo) -> None:
    """SN-10: a rebuild without git proves nothing about a snapshot that was made with it."""
    harness.index(made.root)
    BREAKS["index garbled"].apply(made)
    ran = run(made.root, "audit", "--rebuild")
    assert (ran.code, ran.json["error"]["code"]) == (1, "git")
    assert "clean build is not possible" in ran.json["error"]["message"]


def test_a_worktree_whose_repository_is_gone(made: GitRepo, tmp_path: Path) -> None:
    """ST-1: its `.git` file still says where it begins."""
    side = tmp_path / "side"
    made.git("worktree", "add", "-q", str(side))
    shutil.rmtree(made.root)
    ran = run(side / "pkg", "sync")
    assert (ran.code, ran.json["fallback"]["kind"]) == (0, "repository"), ran.out
    assert harness.codebase(side / "pkg").root == side
    assert "b.py" in indexed(side)


def test_a_repair_of_the_index_needs_no_git(made: GitRepo) -> None:
    """SN-11: damage of both at once."""
    harness.index(made.root)
    layout = harness.codebase(made.root).layout
    next(layout.segments.glob("*/facts.sqlite")).write_bytes(b"x")
    BREAKS["tree missing"].apply(made)
    assert run(made.root, "repair").code == 0
    assert harness.audited(made.root).is_clean
    assert git_state(made.root).failure.code == "git_damaged"


def test_a_sha256_repository_keeps_its_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SN-3: the scan names blobs as git does, so that healing writes nothing again."""
    repo = GitRepo.create(tmp_path / "long", "--object-format=sha256")
    commit = repo.commit("one", **{"a.py": "A = 1\n"})
    usual = os.environ["PATH"]
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    run(repo.root, "sync")
    with harness.view(repo.root) as view:
        assert [len(record.blob) for record in view.records()] == [64]
    monkeypatch.setenv("PATH", usual)
    healed = run(repo.root, "sync").json
    assert (healed["commit"], healed["changes"]["modify"]) == (commit, 0)


def test_a_damaged_object_is_named_where_no_file_stands_in(made: GitRepo) -> None:
    """The reader itself never falls back: whoever calls it decides."""
    from gitindex.git.objects import open_objects
    from gitindex.git.repo import discover

    blob = made.git("rev-parse", "HEAD:b.py")
    garble(loose(made, "HEAD:b.py"))
    found = discover(made.root)
    assert found is not None
    for bulk in (True, False):
        with open_objects(found, bulk=bulk) as objects, pytest.raises(GitDamaged):
            list(objects.read([blob], 1 << 20))
    assert issubclass(GitDamaged, GitError)
