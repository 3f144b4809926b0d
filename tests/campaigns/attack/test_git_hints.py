"""EN-2: a hint runs as printed, whatever a directory is called."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gitindex.errors import GitError
from gitindex.files.safeopen import Root, Unreadable
from gitindex.git import repo as repository
from gitindex.git.repo import discover
from tests.support.gitrepo import GitRepo

NAME = "x'; touch sprung; echo '$(touch sprung)`touch sprung`\n"


def run_as_printed(hint: str, where: Path, home: Path) -> None:
    subprocess.run(
        ["sh", "-c", hint], cwd=where, capture_output=True, check=False, env={**os.environ, "HOME": str(home)}
    )
    assert not (where / "sprung").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a repository somebody else's")
def test_the_hint_about_another_user_s_repository(tmp_path: Path, home: Path) -> None:
    """CF-5: quoted, and about the repository itself; run as printed it helps."""
    repo = GitRepo.create(tmp_path / NAME)
    repo.commit("one", **{"sub/a.py": "1"})
    for folder, _, files in os.walk(repo.root):
        for name in (folder, *(os.path.join(folder, file) for file in files)):
            os.chown(name, 65534, 65534)
    with pytest.raises(GitError, match="another user") as caught:
        discover(repo.root / "sub")
    assert caught.value.hint is not None
    work = tmp_path / "work"
    work.mkdir()
    run_as_printed(caught.value.hint, work, home)
    found = discover(repo.root / "sub")
    assert found is not None
    shutil.rmtree(repo.root)


def test_the_hint_is_quoted_without_root_too(tmp_path: Path, home: Path) -> None:
    """CF-5."""
    error = GitError("git: dubious ownership", stderr="fatal: detected dubious ownership in repository")
    hint = repository._explain_refusal(error, tmp_path / NAME).hint
    assert hint is not None
    run_as_printed(hint, tmp_path, home)


def test_the_hint_about_an_unreadable_file(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CF-5: a file's name is not a command."""

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    with Root(tmp_path) as root:
        monkeypatch.setattr("gitindex.files.safeopen._walk_open", refuse)
        with pytest.raises(Unreadable) as caught:
            root.open(b"$(touch sprung);touch sprung")
    assert caught.value.hint is not None
    run_as_printed(caught.value.hint, tmp_path, home)
