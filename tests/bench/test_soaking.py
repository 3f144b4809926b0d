"""What the soak leaves out because nothing changed, and what it waits for."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest
from soaking import distant
from soaking.invariants import whole
from soaking.world import TICK_NS, World

from gitindex.errors import IntegrityError
from gitindex.segment.lexical_index import LexicalWriter
from tests.support.gitrepo import GitRepo


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("soak"), seed=1)


def settle() -> None:
    time.sleep(2 * TICK_NS / 1e9)


def test_a_store_is_proven_once_and_again_when_a_file_changed(world: World):
    told: Counter[str] = Counter()
    settle()
    whole(world, told)
    whole(world, told)
    assert told == {"audits": 1, "stores untouched": 1}
    artifact = max(world.codebase.layout.segments.rglob("*.sqlite"), key=lambda path: path.stat().st_size)
    kept = artifact.read_bytes()
    artifact.chmod(0o644)
    artifact.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    settle()
    with pytest.raises(IntegrityError):
        whole(world, told)
    artifact.write_bytes(kept)
    settle()
    whole(world, told)
    assert told["audits"] == 3


def test_a_young_store_has_no_stamp(world: World):
    """Two writes within one tick of the clock would look alike."""
    (world.home / "young").touch()
    assert world.stamp() is None
    settle()
    assert world.stamp() is not None


def test_the_committed_contents_are_those_of_head(world: World):
    before = world.committed()
    assert before == world.contents()
    world.write("pkg/new.py", world.body(".py"))
    assert world.committed() == before != world.contents()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
def test_the_shell_of_a_hook_is_waited_for(world: World):
    """It pauses before it starts the worker; a soak that looked only for workers would call the wake-up lost."""
    hook = world.root / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("read -r line\n")
    assert not world.stirring()
    with subprocess.Popen(["sh", ".git/hooks/post-commit"], cwd=world.root, stdin=subprocess.PIPE):
        while not world.stirring():
            time.sleep(0.01)
    world.quiet(seconds=5)


@pytest.fixture
def history(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """Twelve commits, of which those half a history apart count as distant."""
    for number in range(12):
        repo.commit(str(number), **{f"m{number % 4}.py": f"def of_{number}():\n    return {number}\n"})
    monkeypatch.setattr(distant, "_FAR", 4)
    monkeypatch.setattr(distant, "_NEAR", 1)
    monkeypatch.setattr(distant, "_REBUILD_EVERY", 2)
    return repo


def test_a_walk_over_distant_commits(history: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """SN-10: the walk syncs, and compares with clean builds."""
    assert distant.live(history.root, tmp_path, seed=3, syncs=4) is None
    assert "clean builds compared 2" in capsys.readouterr().out


def test_a_walk_tells_of_a_refused_first_try(
    history: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """SN-4: also when the second try passes."""
    delete, calls = LexicalWriter.delete, []

    def lose_the_first(writer: LexicalWriter, path: str) -> None:
        calls.append(path)
        if len(calls) > 1:
            delete(writer, path)

    monkeypatch.setattr(LexicalWriter, "delete", lose_the_first)
    violation = distant.live(history.root, tmp_path, seed=3, syncs=4)
    assert violation is not None
    assert "the gate refused the first try" in violation
