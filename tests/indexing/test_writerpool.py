"""A large tree is written by several processes; one that dies or fails costs no index (SN-5)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from subprocess import Popen

import psutil
import pytest

from gitindex import launch
from gitindex.errors import StorageFull
from gitindex.git.repo import discover, estimate_tracked
from gitindex.indexing import writerpool
from gitindex.store import publish
from tests.support import harness
from tests.support.gitrepo import GitRepo

FILES = {f"pkg{at % 7}/m{at}.py": f"def f{at}():\n    return g{at}({at})\n" for at in range(300)}
SIDE_BY_SIDE = {"workers": 3}


@pytest.fixture
def large(repo: GitRepo) -> GitRepo:
    repo.commit("many", **FILES, **{"image.bin": b"\0\1\2", "notes.md": "# Notes\n"})
    repo.write("untracked.py", "def new(): pass\n")
    return repo


def pool_processes() -> list[psutil.Process]:
    """Those that run; an idle sandbox that ended by itself is reaped when the next one is needed."""
    ours = psutil.Process(os.getpid()).children(recursive=True)
    running = [process for process in ours if process.status() != psutil.STATUS_ZOMBIE]
    return [
        process
        for process in running
        if {"writerprocess", "deadly"} & set(".".join(process.cmdline()).split("."))
    ]


def segments(root: Path, home: Path) -> int:
    with harness.view(root, home) as opened:
        return len(opened.manifest.segments)


def test_side_by_side_equals_one_by_one(large: GitRepo, tmp_path: Path) -> None:
    harness.index(large.root, tmp_path / "one")
    harness.index(large.root, tmp_path / "many", **SIDE_BY_SIDE)
    assert harness.digest_of(large.root, tmp_path / "many") == harness.digest_of(large.root, tmp_path / "one")
    assert segments(large.root, tmp_path / "many") == SIDE_BY_SIDE["workers"]
    assert harness.audited(large.root, tmp_path / "many").is_clean
    assert not pool_processes()


def test_a_pool_that_nobody_needs_is_terminated(
    large: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git's index promises many files; the policy leaves two of them."""
    started_with: list[object] = []
    init = writerpool.WriterPool.__init__

    def noted(self: writerpool.WriterPool, count: int) -> None:
        started_with.append(count)
        init(self, count)

    monkeypatch.setattr(writerpool.WriterPool, "__init__", noted)
    large.commit("few", **{".gitindexignore": "pkg*/\n"})
    harness.index(large.root, tmp_path / "index", **SIDE_BY_SIDE)
    assert started_with == [SIDE_BY_SIDE["workers"]]
    assert segments(large.root, tmp_path / "index") == 1
    assert not pool_processes()


def test_the_number_of_tracked_files_is_a_hint(large: GitRepo) -> None:
    found = discover(large.root)
    assert found is not None
    assert estimate_tracked(found) == len(FILES) + 2
    (found.git_dir / "index").write_bytes(b"DIRC")
    assert estimate_tracked(found) == 0
    (found.git_dir / "index").unlink()
    assert estimate_tracked(found) == 0


@pytest.fixture
def deadly_processes(monkeypatch: pytest.MonkeyPatch):
    """Processes that go wrong in a way of their own (`deadly`)."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    start = launch.start

    def choose(how: str) -> None:
        def started(module: str, *arguments: str, descriptors: Sequence[int] = ()) -> Popen[bytes]:
            if module != writerpool.PROCESS_MODULE:
                return start(module, *arguments, descriptors=descriptors)
            return start("tests.indexing.deadly", how, *arguments, descriptors=descriptors)

        monkeypatch.setattr(launch, "start", started)

    return choose


def test_a_process_that_dies_costs_no_index(large: GitRepo, tmp_path: Path, deadly_processes) -> None:
    deadly_processes("crash")
    harness.index(large.root, tmp_path / "index", **SIDE_BY_SIDE)
    assert segments(large.root, tmp_path / "index") == 1, "written again, in this process"
    assert harness.digest_of(large.root, tmp_path / "index") == harness.clean_digest(
        large.root, tmp_path / "clean"
    )


def test_a_stopped_process_costs_no_index(
    large: GitRepo, tmp_path: Path, deadly_processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers nothing, and its lease is kept alive all the while: only a deadline helps."""
    deadly_processes("stop")
    monkeypatch.setattr(writerpool, "ANSWER_TIMEOUT", 3.0)
    harness.index(large.root, tmp_path / "index", **SIDE_BY_SIDE)
    assert segments(large.root, tmp_path / "index") == 1, "written again, in this process"


def test_what_a_process_cannot_do_is_raised_here(large: GitRepo, tmp_path: Path, deadly_processes) -> None:
    deadly_processes("full")
    with pytest.raises(StorageFull):
        harness.index(large.root, tmp_path / "index", **SIDE_BY_SIDE)
    assert not pool_processes()
    staging = harness.codebase(large.root, tmp_path / "index").layout.base / "staging"
    assert not any(staging.iterdir()), "a failed try leaves nothing behind"


def test_an_interrupted_build_leaves_no_process(
    large: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(publish.StagedSnapshot, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        harness.index(large.root, tmp_path / "index", **SIDE_BY_SIDE)
    assert not pool_processes()
