"""A kill at any named step leaves the old or the new snapshot, and a retry works.

SN-4, SN-8, SN-9, SN-11, ST-4, ST-6.
"""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

from gitindex.store import manifests, steps
from gitindex.view.snapshot import open_active
from tests.campaigns.crash.crashing import kill_at, perform
from tests.support import harness
from tests.support.gitrepo import GitRepo

# Which operation reaches which steps: every listed step must be in here, and every pair is run.
CAMPAIGN = {
    "sync": steps.STEPS["publish"],
    "seed": steps.STEPS["seed"],
    "compact": (
        *steps.STEPS["compact"],
        "publish.lexical",
        "publish.manifest",
        "publish.swap",
        "publish.state",
    ),
    "merge": ("compact.build", "compact.publish", "publish.chunks", "publish.install", "publish.swap"),
    "gc": steps.STEPS["gc"],
    "upgrade": (*steps.STEPS["upgrade"], "publish.swap"),
    "repair": (*steps.STEPS["repair"], "publish.install", "publish.swap"),
}
CASES = [(operation, step) for operation, names in CAMPAIGN.items() for step in names]


def test_every_step_has_a_crash_test():
    listed = {name for names in steps.STEPS.values() for name in names}
    assert listed == {step for _, step in CASES}


def test_an_unlisted_step_is_an_error():
    with pytest.raises(KeyError):
        steps.reach("publish.someday")


@pytest.fixture
def prepared(tmp_path: Path, home: Path) -> tuple[GitRepo, Path]:
    """A repository with two published snapshots."""
    repo = GitRepo.create(tmp_path / "repo")
    where = tmp_path / "index"
    repo.commit(
        "one", **{"a.py": "def alpha():\n    return 1\n", "b.py": "def beta():\n    return alpha()\n"}
    )
    harness.index(repo.root, where)
    repo.commit("two", **{"b.py": "def beta():\n    return 2\n", "c.md": "# Title\n\ntext\n"})
    harness.index(repo.root, where)
    return repo, where


def before(operation: str, repo: GitRepo, home: Path) -> tuple[str, Path]:
    """Bring about what the operation needs; returns the operation to run and the root to run it on."""
    layout = harness.codebase(repo.root, home).layout
    if operation == "sync":
        repo.commit("three", **{"a.py": "def alpha():\n    return 3\n", "d.py": "def delta(): pass\n"})
        repo.git("rm", "-q", "c.md")
    elif operation == "seed":
        other = repo.root.parent / "worktree"
        repo.git("worktree", "add", "-q", "-b", "other", str(other))
        return "sync", other
    elif operation in ("gc", "merge"):
        for number in range(6):
            repo.commit("more", **{"e.py": f"E = {number}\n"})
            harness.index(repo.root, home)
    elif operation == "upgrade":
        found = manifests.read_active_id(layout)
        assert found is not None
        path = layout.manifest(found)
        data = json.loads(path.read_text())
        path.write_text(json.dumps({**data, "schema_version": 0}))
    elif operation == "repair":
        victim = layout.facts(sorted(entry.name for entry in layout.segments.iterdir())[-1])
        content = bytearray(victim.read_bytes())
        content[len(content) // 2] ^= 0xFF
        victim.write_bytes(content)
    return operation, repo.root


@pytest.mark.slow
@pytest.mark.parametrize(("operation", "step"), CASES)
def test_kill_leaves_old_or_new(operation: str, step: str, prepared: tuple[GitRepo, Path], tmp_path: Path):
    repo, home = prepared
    real, root = before(operation, repo, home)
    damaged = operation in ("upgrade", "repair")
    old = None if damaged or operation == "seed" else harness.digest_of(repo.root, home)
    assert kill_at(step, real, root, home) == -signal.SIGKILL, f"{operation} never reached {step}"

    layout = harness.codebase(root, home).layout
    new = harness.clean_digest(root, tmp_path / "scratch")
    if not damaged:
        opened = open_active(layout)
        if opened is None:
            assert operation == "seed"
        else:
            opened.close()
            assert harness.audited(root, home).problems == ()
            assert harness.digest_of(root, home) in (old, new)
    retry(real, root, home)
    assert harness.digest_of(root, home) == (old if operation in ("gc", "compact", "merge") else new)
    assert harness.audited(root, home).problems == ()
    # What the crash left behind is garbage, and gc takes it.
    perform("gc", root, home)
    assert list(layout.staging.iterdir()) == []
    assert harness.audited(root, home).problems == ()


def retry(operation: str, root: Path, home: Path) -> None:
    perform(operation, root, home)
    if operation == "upgrade":
        harness.index(root, home)


@pytest.mark.parametrize("step", ["publish.facts", "publish.install", "publish.swap", "publish.state"])
def test_kill_during_sync(step: str, prepared: tuple[GitRepo, Path], tmp_path: Path):
    """The decisive moments again, quick enough for every run."""
    test_kill_leaves_old_or_new("sync", step, prepared, tmp_path)


def test_lost_pointer_falls_back_to_the_newest_whole_snapshot(prepared: tuple[GitRepo, Path]):
    """SN-11."""
    repo, home = prepared
    layout = harness.codebase(repo.root, home).layout
    digest = harness.digest_of(repo.root, home)
    for content in (None, b"", b"garbage\n", b"\xff\xfe", b"01ARZ3NDEKTSV4RRFFQ69G5FAV\n"):
        if content is None:
            layout.active_pointer.unlink()
        else:
            layout.active_pointer.write_bytes(content)
        assert harness.digest_of(repo.root, home) == digest
    harness.cli("repair", "--path", str(repo.root))


def test_no_whole_snapshot_is_store_corrupt(prepared: tuple[GitRepo, Path], monkeypatch: pytest.MonkeyPatch):
    """SN-11: the message names the command that helps, and that command helps."""
    repo, home = prepared
    monkeypatch.setenv("GITINDEX_HOME", str(home))
    layout = harness.codebase(repo.root, home).layout
    for snapshot_id in manifests.list_ids(layout):
        layout.manifest(snapshot_id).write_text("{")
    ran = harness.cli("audit", "--path", str(repo.root), "--json")
    assert ran.code == 4
    assert ran.json["error"]["code"] == "store_corrupt"
    assert ran.json["error"]["hint"] == "gitindex sync --full"
    assert harness.cli("sync", "--full", "--path", str(repo.root)).code == 0
    assert harness.audited(repo.root, home).problems == ()
    shutil.rmtree(home)


@pytest.mark.parametrize("step", ["publish.preflight", "publish.swap"])
def test_a_first_publish_that_dies_before_its_swap_is_not_seen(step: str, repo: GitRepo, tmp_path: Path):
    """LE-1, SN-4: nothing was ever active, so nothing is, whatever lies in the store."""
    home = tmp_path / "index"
    repo.commit("one", **{"a.py": "A = 1\n"})
    assert kill_at(step, "sync", repo.root, home) == -signal.SIGKILL
    assert open_active(harness.codebase(repo.root, home).layout) is None
    harness.index(repo.root, home)
    assert harness.audited(repo.root, home).problems == ()
