"""HK-1, HK-4: real pre-commit, and real husky and lefthook (slow: they come from their registry)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitindex.gitdir import hookrequest
from gitindex.hooks import journal, precommit
from gitindex.hooks.events import EVENTS
from gitindex.hooks.install import install, read_status, uninstall
from gitindex.hooks.reach import CONFIGURATION, DRY_RUN
from tests.hooks.harness import Hooked, found, run, wait_for
from tests.hooks.test_install import snapshot
from tests.support.gitrepo import GitRepo

_ROOT = Path(__file__).parents[2]
NO_OP = """\
default_install_hook_types: [post-commit, post-checkout, post-merge, post-rewrite]
repos:
- repo: local
  hooks:
  - id: theirs
    name: theirs
    language: system
    entry: sh -c 'echo theirs >>theirs.log'
    always_run: true
    pass_filenames: false
    stages: [post-commit, post-checkout]
"""


def pre_commit(repo: GitRepo, *arguments: str) -> None:
    run(sys.executable, "-m", "pre_commit", *arguments, cwd=repo.root)


@pytest.fixture
def published(tmp_path: Path) -> str:
    """Our hooks as pre-commit gets them: a repository with the manifest and the shims."""
    repo = GitRepo.create(tmp_path / "published")
    shutil.copy(_ROOT / ".pre-commit-hooks.yaml", repo.root)
    shutil.copytree(_ROOT / "hooks", repo.root / "hooks")
    repo.commit("release")
    repo.git("tag", "v1")
    return str(repo.root)


@pytest.fixture
def on_path(recorder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `gitindex` on PATH that records."""
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    monkeypatch.setenv("GITINDEX_PAUSE", "0.01")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gitindex").symlink_to(recorder)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.fixture
def by_pre_commit(repo: GitRepo, published: str, home: Path, on_path: Path) -> Hooked:
    """A repository whose only way to us is `gitindex-system` under pre-commit."""
    text = precommit.render_config("v1", "gitindex-system").replace(precommit.SOURCE, published)
    repo.write(precommit.CONFIG, text)
    repo.commit("configured")
    pre_commit(repo, "install", "--install-hooks")
    (home / ".gitindex").mkdir()
    return Hooked(repo, home / ".gitindex")


def test_pre_commit_runs_us_on_committed_content(by_pre_commit: Hooked) -> None:
    """HK-1: unstaged changes are hidden from hooks there, so only committed content is asked for."""
    by_pre_commit.repo.write("a.py", "a = 1\n")
    by_pre_commit.repo.commit("x")
    by_pre_commit.settle()
    by_pre_commit.forget()
    by_pre_commit.repo.write("a.py", "a = 2\n")
    by_pre_commit.git("commit", "-q", "--allow-empty", "-m", "with unstaged changes")
    seen = by_pre_commit.settle()[-1]
    assert (seen["head"], seen["commit_only"], seen["leaked"]) == (by_pre_commit.head, True, [])
    assert (by_pre_commit.repo.root / "a.py").read_text() == "a = 2\n"


@pytest.mark.parametrize(
    "command",
    [
        ("checkout", "-q", "side"),
        ("merge", "-q", "--ff-only", "side"),
        ("commit", "-q", "--amend", "-m", "again"),
    ],
    ids=["post-checkout", "post-merge", "post-rewrite"],
)
def test_pre_commit_stages(by_pre_commit: Hooked, command: tuple[str, ...]) -> None:
    by_pre_commit.git("branch", "side")
    by_pre_commit.git("checkout", "-q", "side")
    by_pre_commit.repo.commit("ahead")
    by_pre_commit.git("checkout", "-q", "main")
    by_pre_commit.settle()
    by_pre_commit.forget()
    by_pre_commit.git(*command)
    assert by_pre_commit.settle()[-1]["head"] == by_pre_commit.head


def test_pre_commit_does_not_wait_for_the_worker(by_pre_commit: Hooked) -> None:
    """HK-2: pre-commit waits for whoever holds its pipe; the worker holds nothing."""
    (by_pre_commit.home / "hold").touch()
    by_pre_commit.git("commit", "--allow-empty", "-m", "x")
    wait_for(lambda: by_pre_commit.steps())
    assert by_pre_commit.runs() == []
    (by_pre_commit.home / "hold").unlink()
    by_pre_commit.settle()


def test_gitindex_system_is_content_without_gitindex(by_pre_commit: Hooked, on_path: Path) -> None:
    (on_path / "gitindex").unlink()
    by_pre_commit.git("commit", "-q", "--allow-empty", "-m", "x")
    assert by_pre_commit.runs() == []
    assert hookrequest.has_request(by_pre_commit.git_dir)


def test_status_knows_pre_commit(by_pre_commit: Hooked) -> None:
    seen = read_status(found(by_pre_commit.repo.root))
    assert {(reach.reached, reach.through, reach.proof) for reach in seen.events} == {
        (True, "pre-commit", CONFIGURATION)
    }
    (by_pre_commit.repo.root / precommit.CONFIG).write_text("repos: []\n")
    assert not any(reach.reached for reach in read_status(found(by_pre_commit.repo.root)).events)


def test_hooks_run_under_pre_commit_in_python(repo: GitRepo, home: Path, recorder: str) -> None:
    """HK-1: `gitindex hooks run`, as a local hook; the event comes from pre-commit's variables."""
    script = repo.write(
        ".git/entry.py",
        "import os, sys\nfrom pathlib import Path\nfrom gitindex.hooks import events, spawn\n"
        f"sys.executable = {recorder!r}\n"
        "spawn.start(events.detect_pre_commit_event(os.environ), Path.cwd(), os.environ)\n",
    )
    entry = f"{sys.executable} {script}"
    repo.write(precommit.CONFIG, NO_OP.replace("sh -c 'echo theirs >>theirs.log'", entry))
    repo.commit("configured")
    pre_commit(repo, "install")
    hooked = Hooked(repo, home / ".gitindex")
    repo.commit("x")
    seen = hooked.settle()[-1]
    assert (seen["head"], seen["commit_only"], seen["session"]) == (hooked.head, True, True)


def test_native_first_then_pre_commit(repo: GitRepo, recorder: str, home: Path) -> None:
    """pre-commit moves our file to `.legacy` and runs it; uninstall finds it there."""
    repo.write(precommit.CONFIG, NO_OP)
    repo.commit("configured")
    before = snapshot(repo)
    install(found(repo.root), python=recorder, files=True)
    hooked = Hooked(repo, home / ".gitindex")
    pre_commit(repo, "install")
    repo.commit("x")
    assert hooked.settle()[-1]["head"] == hooked.head
    assert "theirs" in (repo.root / "theirs.log").read_text()
    seen = read_status(found(repo.root))
    assert {(reach.reached, reach.proof) for reach in seen.events} == {(True, DRY_RUN)}
    uninstall(found(repo.root))
    pre_commit(repo, "uninstall")
    assert snapshot(repo) == before


def test_pre_commit_first_then_native(repo: GitRepo, recorder: str, home: Path) -> None:
    """Our file beside pre-commit's survives its next install and its uninstall."""
    repo.write(precommit.CONFIG, NO_OP)
    repo.commit("configured")
    pre_commit(repo, "install")
    before = snapshot(repo)
    install(found(repo.root), python=recorder, files=True)
    hooked = Hooked(repo, home / ".gitindex")
    pre_commit(repo, "install")
    repo.commit("x")
    assert hooked.settle()[-1]["head"] == hooked.head
    assert "theirs" in (repo.root / "theirs.log").read_text()
    assert read_status(found(repo.root)).is_effective
    uninstall(found(repo.root))
    assert snapshot(repo) == before
    install(found(repo.root), python=recorder, files=True)
    pre_commit(repo, "uninstall")
    assert read_status(found(repo.root)).is_effective
    uninstall(found(repo.root))
    assert not list((repo.root / ".git/hooks").glob("post-*[!e]"))


@pytest.fixture(scope="session")
def npm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """husky and lefthook from their registry."""
    folder = tmp_path_factory.mktemp("npm")
    (folder / "package.json").write_text('{"private": true}')
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "husky@9", "lefthook@2"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "node_modules" / ".bin"


@pytest.mark.slow
def test_husky(repo: GitRepo, npm: Path, on_path: Path, home: Path) -> None:
    """husky points git elsewhere: we refuse, say what to add, and see it once it is there."""
    repo.write("package.json", "{}")
    run(str(npm / "husky"), cwd=repo.root)
    before = snapshot(repo)
    report = install(found(repo.root), files=True)
    assert {outcome.event for outcome in report.refused_outcomes} == set(EVENTS)
    assert snapshot(repo) == before
    assert not read_status(found(repo.root)).is_effective
    for outcome in report.refused_outcomes:
        repo.write(f".husky/{outcome.event}", f"{outcome.snippet}echo theirs >>theirs.log\n")
    assert {(reach.reached, reach.through) for reach in read_status(found(repo.root)).events} == {
        (True, "husky")
    }
    _reaches_through_path(repo, home, on_path)


@pytest.mark.slow
def test_lefthook(repo: GitRepo, npm: Path, on_path: Path, recorder: str, home: Path) -> None:
    """lefthook rewrites its own files: those events are refused with a snippet, the others are installed."""
    theirs = "post-commit:\n  commands:\n    theirs:\n      run: echo theirs >>theirs.log\n"
    repo.write("lefthook.yml", theirs)
    run(str(npm / "lefthook"), "install", cwd=repo.root)
    before = snapshot(repo)
    report = install(found(repo.root), python=recorder, files=True)
    (refused,) = report.refused_outcomes
    assert refused.event == "post-commit"
    run(str(npm / "lefthook"), "install", cwd=repo.root)
    reached = {reach.event: reach.reached for reach in read_status(found(repo.root)).events}
    assert reached == {event: event != "post-commit" for event in EVENTS}
    assert refused.snippet is not None
    repo.write("lefthook.yml", theirs + refused.snippet.partition("  commands:\n")[2])
    assert read_status(found(repo.root)).is_effective
    _reaches_through_path(repo, home, on_path)
    uninstall(found(repo.root))
    repo.write("lefthook.yml", theirs)
    run(str(npm / "lefthook"), "install", cwd=repo.root)
    stamped = {"info/lefthook.checksum": None}  # holds a time
    assert {**snapshot(repo), **stamped} == {**before, **stamped}


@pytest.mark.slow
def test_lefthook_installed_over_us_is_noticed(repo: GitRepo, npm: Path, recorder: str) -> None:
    """It renames our file and never runs it; status says so, and uninstall cleans up all the same."""
    install(found(repo.root), python=recorder, files=True)
    repo.write("lefthook.yml", "post-commit:\n  commands:\n    theirs:\n      run: 'true'\n")
    run(str(npm / "lefthook"), "install", cwd=repo.root)
    reached = {reach.event: reach.reached for reach in read_status(found(repo.root)).events}
    assert reached == {event: event != "post-commit" for event in EVENTS}
    uninstall(found(repo.root))
    assert not (repo.root / ".git/hooks/post-commit.old").exists()


def _reaches_through_path(repo: GitRepo, home: Path, on_path: Path) -> None:
    """The snippets call `gitindex hooks run` from PATH."""
    (on_path / "gitindex").unlink()
    (on_path / "gitindex").write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m gitindex "$@"\n')
    (on_path / "gitindex").chmod(0o755)
    repo.commit("through the manager")
    git_dir = found(repo.root).git_dir
    assert "theirs" in (repo.root / "theirs.log").read_text()
    wait_for(lambda: hookrequest.request_folder(git_dir).exists())


def test_the_manifest_is_valid(published: str) -> None:
    """HK-1: pre-commit's own opinion."""
    run(sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml", cwd=_ROOT)


@pytest.mark.slow
def test_the_python_hook_builds_its_own_environment(repo: GitRepo, tmp_path: Path, home: Path) -> None:
    """HK-1: `id: gitindex`, as a stranger gets it: pre-commit clones, builds the wheel, installs every dependency."""
    release = GitRepo.create(tmp_path / "release")
    for name in run("git", "ls-files", "-co", "--exclude-standard", "-z", cwd=_ROOT).stdout.split("\0"):
        if name and (_ROOT / name).is_file():
            (release.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(_ROOT / name, release.root / name)
    (release.root / "README.md").touch()
    release.commit("release")
    release.git("tag", "v1")
    repo.write(precommit.CONFIG, precommit.render_config("v1").replace(precommit.SOURCE, str(release.root)))
    repo.commit("configured")
    pre_commit(repo, "install", "--install-hooks")
    run("git", "commit", "-q", "--allow-empty", "-m", "x", cwd=repo.root, PYTHONPATH="")
    hooked = Hooked(repo, home / ".gitindex")
    hooked.settle(seconds=120)
    last = journal.read(hooked.git_dir)
    assert last is not None
    assert (last.result, last.error) == (journal.DONE, None)
