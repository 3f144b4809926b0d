"""HK-4: install next to anything, break nothing, leave nothing."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from gitindex.errors import HookError
from gitindex.gitdir import hookrequest
from gitindex.hooks import block
from gitindex.hooks.events import EVENTS
from gitindex.hooks.install import install, read_status, uninstall
from gitindex.hooks.reach import CONFIGURATION, DRY_RUN
from gitindex.hooks.shim import ShimCall
from tests.hooks.harness import Hooked, found, run
from tests.support.gitrepo import GitRepo

_MOVING = ("index", "refs", "COMMIT_EDITMSG", "ORIG_HEAD", "HEAD")  # what commits change by themselves
SHELL_HOOK = "#!/bin/sh\necho foreign $1 >>log\nexit 5\n"


def snapshot(repo: GitRepo) -> dict[str, object]:
    """Everything in the git directory that an install could touch, with modes and link targets."""
    git = found(repo.root).common_dir
    seen: dict[str, object] = {}
    for path in sorted(
        path for path in git.rglob("*") if path.relative_to(git).parts[0] not in ("objects", "logs")
    ):
        name = str(path.relative_to(git))
        if path.is_symlink():
            seen[name] = os.readlink(path)
        else:
            seen[name] = (stat.S_IMODE(path.stat().st_mode), path.read_bytes() if path.is_file() else None)
    return {name: what for name, what in seen.items() if not name.startswith(_MOVING)}


def put(repo: GitRepo, event: str, text: str | bytes, mode: int = 0o755) -> Path:
    path = repo.write(f".git/hooks/{event}", text)
    path.chmod(mode)
    return path


def actions(repo: GitRepo, python: str = sys.executable) -> dict[str, str]:
    return {outcome.event: outcome.action for outcome in install(found(repo.root), python=python).outcomes}


def removed(repo: GitRepo) -> None:
    report = uninstall(found(repo.root))
    assert report.leftovers == ()


def test_a_fresh_repository(any_git: None, repo: GitRepo) -> None:
    before = snapshot(repo)
    assert set(actions(repo).values()) == {"created"}
    assert read_status(found(repo.root)).is_effective
    assert set(actions(repo).values()) == {"unchanged"}
    removed(repo)
    assert snapshot(repo) == before
    assert not read_status(found(repo.root)).is_effective


def test_after_use_nothing_is_left(hooked: Hooked, tmp_path: Path) -> None:
    """HK-4: notes, journal, log and lock of every worktree go as well."""
    hooked.git("worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
    hooked.repo.commit("x")
    hooked.settle()
    hooked.settle(tmp_path / "linked")
    removed(hooked.repo)
    assert not [path for path in hooked.git_dir.rglob("*") if "gitindex" in path.name]
    assert b"gitindex" not in (hooked.git_dir / "config").read_bytes()


def test_a_running_worker_is_not_pulled_from_under(hooked: Hooked) -> None:
    (hooked.home / "hold").touch()
    hooked.repo.commit("x")
    while not hooked.steps():
        pass
    report = uninstall(found(hooked.repo.root), timeout=0.05)
    assert report.leftovers == (hookrequest.request_folder(hooked.git_dir),)
    (hooked.home / "hold").unlink()
    removed(hooked.repo)
    assert not hookrequest.request_folder(hooked.git_dir).exists()


def test_a_repository_without_a_hooks_folder(any_git: None, tmp_path: Path) -> None:
    repo = GitRepo.create(tmp_path / "bare minimum", "--template=")
    before = snapshot(repo)
    assert set(actions(repo).values()) == {"created"}
    assert read_status(found(repo.root)).is_effective
    removed(repo)
    assert snapshot(repo) == before


def test_a_shell_hook_keeps_its_exit_code(any_git: None, repo: GitRepo, recorder: str, home: Path) -> None:
    """HK-4: a post-checkout hook's exit code becomes git's; ours comes first and does not change it."""
    repo.commit("first")
    put(repo, "post-checkout", SHELL_HOOK)
    before = snapshot(repo)
    hooked = Hooked.install(repo, recorder, home / ".gitindex")
    done = run("git", "checkout", "-b", "x", cwd=repo.root, check=False)
    assert done.returncode == 1, "git makes one of every failure"
    assert "foreign" in (repo.root / "log").read_text()
    assert hooked.settle()[-1]["head"] == hooked.head
    removed(repo)
    assert snapshot(repo) == before


def test_stdin_of_post_rewrite_is_left_to_others(any_git: None, repo: GitRepo, recorder: str) -> None:
    repo.commit("first")
    put(repo, "post-rewrite", "#!/bin/sh\ncat >>log\n")
    install(found(repo.root), python=recorder)
    repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "again")
    assert repo.git("rev-parse", "HEAD") in (repo.root / "log").read_text()
    removed(repo)


FOREIGN = {
    "python": b"#!/usr/bin/env python3\nimport sys\nopen('log', 'a').write('foreign')\nsys.exit(5)\n",
    "no first line": b"echo foreign >>log; exit 5\n",
    "exec": b"#!/bin/bash\nexec sh -c 'echo foreign >>log; exit 5'\n",
    "no newline": b"#!/bin/sh\necho foreign >>log; exit 5",
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_other_hooks_are_chained_or_joined(
    any_git: None, repo: GitRepo, recorder: str, home: Path, kind: str
) -> None:
    repo.commit("first")
    put(repo, "post-checkout", FOREIGN[kind], 0o750)
    before = snapshot(repo)
    hooked = Hooked.install(repo, recorder, home / ".gitindex")
    assert run("git", "checkout", "-b", "x", cwd=repo.root, check=False).returncode == 1
    assert "foreign" in (repo.root / "log").read_text()
    assert hooked.settle()[-1]["head"] == hooked.head
    assert read_status(found(repo.root)).is_effective
    assert set(actions(repo, recorder).values()) == {"unchanged"}
    removed(repo)
    assert snapshot(repo) == before


def test_a_link_to_a_tracked_script_is_not_written_through(
    any_git: None, repo: GitRepo, recorder: str, home: Path
) -> None:
    script = repo.write("scripts/hook", "#!/bin/sh\necho foreign >>log\n")
    script.chmod(0o755)
    repo.commit("first")
    (repo.root / ".git/hooks/post-commit").symlink_to("../../scripts/hook")
    before = snapshot(repo)
    hooked = Hooked.install(repo, recorder, home / ".gitindex")
    assert script.read_text() == "#!/bin/sh\necho foreign >>log\n"
    repo.commit("second")
    assert "foreign" in (repo.root / "log").read_text()
    assert hooked.settle()[-1]["head"] == hooked.head
    removed(repo)
    assert snapshot(repo) == before


def test_a_switched_off_hook_stays_off(any_git: None, repo: GitRepo, recorder: str, home: Path) -> None:
    """A hook that is not executable is ignored by git; installing must not bring it to life."""
    put(repo, "post-commit", "#!/bin/sh\necho foreign >>log\n", 0o644)
    before = snapshot(repo)
    hooked = Hooked.install(repo, recorder, home / ".gitindex")
    repo.commit("x")
    assert hooked.settle()[-1]["head"] == hooked.head
    assert not (repo.root / "log").exists()
    removed(repo)
    assert snapshot(repo) == before


def test_past_versions_are_brought_up_to_date(any_git: None, repo: GitRepo) -> None:
    old = b"#!/bin/sh\n# >>> gitindex hook 0 own file >>>\n/usr/bin/old-gitindex\n# <<< gitindex hook <<<\n"
    before = snapshot(repo)
    put(repo, "post-commit", old)
    repo.git("config", "hook.gitindex-post-merge.command", "old-gitindex")
    repo.git("config", "hook.gitindex-post-merge.event", "post-merge")
    install(found(repo.root))
    assert read_status(found(repo.root)).is_effective
    removed(repo)
    assert snapshot(repo) == before


def test_lines_added_to_our_file_are_kept(repo: GitRepo) -> None:
    install(found(repo.root), files=True)
    path = repo.root / ".git/hooks/post-commit"
    path.write_bytes(path.read_bytes() + b"echo mine\n")
    removed(repo)
    assert path.read_bytes() == b"#!/bin/sh\necho mine\n"


def test_a_hook_that_looks_at_its_name_is_left_alone(repo: GitRepo) -> None:
    """One script under many names cannot be renamed; the user gets the line to add."""
    text = "#!/usr/bin/env ruby\nhook = File.basename($0)\n"
    put(repo, "post-commit", text)
    report = install(found(repo.root), files=True)
    (refused,) = report.refused_outcomes
    assert refused.event == "post-commit"
    assert refused.snippet is not None
    assert "gitindex_event=post-commit" in refused.snippet
    assert (repo.root / ".git/hooks/post-commit").read_text() == text
    reached = {reach.event: reach.reached for reach in read_status(found(repo.root)).events}
    assert reached == {event: event != "post-commit" for event in EVENTS}


@pytest.mark.parametrize("what", ["folder", "dangling link", "chained in the way"])
def test_what_cannot_be_taken_over_is_refused(repo: GitRepo, what: str) -> None:
    path = repo.root / ".git/hooks/post-commit"
    if what == "folder":
        path.mkdir()
    elif what == "dangling link":
        path.symlink_to("nowhere")
    else:
        put(repo, "post-commit", "#!/usr/bin/perl\n")
        put(repo, "post-commit.gitindex-chained", "somebody's")
    before = snapshot(repo)
    assert [outcome.event for outcome in install(found(repo.root), files=True).refused_outcomes] == [
        "post-commit"
    ]
    removed(repo)
    assert snapshot(repo) == before


def test_hooks_path_outside_is_respected(repo: GitRepo, tmp_path: Path) -> None:
    """HK-4: a shared or tracked hooks folder is not ours; the line to add works when added."""
    shared = tmp_path / "shared"
    shared.mkdir()
    repo.git("config", "core.hooksPath", str(shared))
    before = snapshot(repo)
    report = install(found(repo.root), files=True)
    assert {outcome.event for outcome in report.refused_outcomes} == set(EVENTS)
    assert list(shared.iterdir()) == []
    assert snapshot(repo) == before
    for outcome in report.refused_outcomes:
        path = Path(outcome.where)
        path.write_text("#!/bin/sh\n" + (outcome.snippet or ""))
        path.chmod(0o755)
    seen = read_status(found(repo.root))
    assert seen.is_effective
    assert {reach.proof for reach in seen.events} == {CONFIGURATION}


def test_hooks_path_inside_the_git_directory(any_git: None, repo: GitRepo, recorder: str, home: Path) -> None:
    repo.git("config", "core.hooksPath", ".git/my-hooks")
    before = snapshot(repo)
    hooked = Hooked.install(repo, recorder, home / ".gitindex")
    repo.commit("x")
    assert hooked.settle()[-1]["head"] == hooked.head
    assert read_status(found(repo.root)).is_effective
    removed(repo)
    assert snapshot(repo) == before


def test_a_hooks_path_set_later_is_noticed(repo: GitRepo, tmp_path: Path) -> None:
    """HK-4: status tells that files are there and git does not look at them; uninstall finds them."""
    before = snapshot(repo)
    install(found(repo.root), files=True)
    assert {reach.proof for reach in read_status(found(repo.root)).events} == {DRY_RUN}
    repo.git("config", "core.hooksPath", str(tmp_path))
    assert not any(reach.reached for reach in read_status(found(repo.root)).events)
    removed(repo)
    repo.git("config", "--unset", "core.hooksPath")
    after = snapshot(repo)
    assert {**after, "config": None} == {**before, "config": None}


def test_a_dry_run_starts_nothing(any_git: None, repo: GitRepo, recorder: str) -> None:
    """HK-4: neither the other hook, nor a note, nor a worker."""
    put(repo, "post-commit", "#!/bin/sh\necho foreign >>log\n")
    put(repo, "post-merge", FOREIGN["python"])
    install(found(repo.root), python=recorder)
    seen = read_status(found(repo.root))
    assert seen.is_effective
    assert {reach.proof for reach in seen.events} == {DRY_RUN}
    assert (seen.pending, seen.last_run) == (False, None)
    assert not (repo.root / "log").exists()
    assert not hookrequest.request_folder(repo.root / ".git").exists()


def test_a_hook_that_lost_its_shim_is_not_effective(any_git: None, repo: GitRepo) -> None:
    install(found(repo.root))
    for path in [repo.root / ".git/config", *(repo.root / ".git/hooks").glob("post-*")]:
        path.write_bytes(path.read_bytes().replace(b"/gitindex-hook", b"/gone"))
    assert not any(reach.reached for reach in read_status(found(repo.root)).events)
    assert set(actions(repo).values()) == {"updated"}
    assert read_status(found(repo.root)).is_effective


def test_a_worktree_and_its_main_tree_share_hooks(any_git: None, repo: GitRepo, tmp_path: Path) -> None:
    repo.commit("first")
    repo.git("worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
    before = snapshot(repo)
    install(found(tmp_path / "linked"))
    assert read_status(found(repo.root)).is_effective
    assert read_status(found(tmp_path / "linked")).is_effective
    removed(repo)
    assert snapshot(repo) == before


def test_bare_repositories_are_refused(any_git: None, tmp_path: Path) -> None:
    repo = GitRepo.create(tmp_path / "bare.git", "--bare")
    for act in (install, uninstall, read_status):
        with pytest.raises(HookError, match="bare"):
            act(found(repo.root))


def test_git_lfs_hooks_still_run(
    any_git: None, repo: GitRepo, recorder: str, tmp_path: Path, home: Path
) -> None:
    """HK-4: the text git-lfs writes, with a git-lfs that writes down what it was asked."""
    tool = tmp_path / "bin" / "git-lfs"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/lfs\n')
    tool.chmod(0o755)
    lfs = '#!/bin/sh\ncommand -v git-lfs >/dev/null 2>&1 || { echo "none" >&2; exit 2; }\ngit lfs %s "$@"\n'
    for event in ("post-checkout", "post-commit", "post-merge"):
        put(repo, event, lfs % event)
    before = snapshot(repo)
    hooked = Hooked.install(repo, recorder, home / ".gitindex")
    path = f"{tool.parent}:{os.environ['PATH']}"
    run("git", "commit", "-q", "--allow-empty", "-m", "x", cwd=repo.root, PATH=path)
    assert (tmp_path / "lfs").read_text().split() == ["post-commit"]
    assert hooked.settle()[-1]["head"] == hooked.head
    removed(repo)
    assert snapshot(repo) == before


def test_the_block_comes_before_anything_foreign() -> None:
    text = block.add(b"#!/bin/sh\n# a comment\nexit 0\n", ShimCall(": call", ": call"))
    found_at = block.find(text)
    assert found_at is not None
    assert block.is_first(text, found_at)
    moved = b"#!/bin/sh\necho first\n" + text[found_at.start : found_at.end] + b"\n"
    again = block.find(moved)
    assert again is not None
    assert not block.is_first(moved, again)
