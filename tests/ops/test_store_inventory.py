"""`stores`, `gc --stores`, last use, the log, and which change makes which store (ST-1, ST-2, ST-5, CF-2)."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from gitindex.store import log, state_file, stores
from gitindex.store.layout import Layout, store_id
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    return repo


def age(layout: Layout, days: float) -> None:
    old = time.time() - days * 86400
    os.utime(layout.last_used, (old, old))


def test_stores_tells_everything(indexed: GitRepo):
    """ST-5."""
    layout = harness.codebase(indexed.root).layout
    (found,) = harness.cli("stores", "--json", "--path", str(indexed.root)).json["stores"]
    assert found["store_id"] == layout.id
    assert found["canonical_root"] == str(indexed.root)
    assert found["config_fingerprint"] == harness.codebase(indexed.root).fingerprint
    assert found["size_bytes"] > 1000
    assert found["mode"] == "single"
    assert found["active_snapshot_id"]
    assert found["last_used_at"].startswith("20")
    assert found["created_at"].startswith("20")


def test_store_ids(tmp_path: Path):
    """ST-1: slug, root hash, fingerprint; two roots of one name differ, odd names have a slug."""
    one, two = (store_id(tmp_path / part / "My Repo!", "f" * 64) for part in ("a", "b"))
    assert one.startswith("my-repo__")
    assert one.endswith("__" + "f" * 16)
    assert one != two
    assert store_id(Path("/"), "f" * 64).startswith("root__")
    assert store_id(tmp_path / "日本", "f" * 64).startswith("root__")


def test_unused_stores_go_the_current_one_only_by_force(indexed: GitRepo, tmp_path: Path):
    """ST-5."""
    other = GitRepo.create(tmp_path / "other")
    other.commit("one", **{"b.py": "B = 1\n"})
    harness.index(other.root)
    mine, theirs = (harness.codebase(root).layout for root in (indexed.root, other.root))
    collect = ("gc", "--stores", "--json", "--path", str(indexed.root))
    assert harness.cli(*collect).json["removed"] == []
    age(theirs, 29)
    assert harness.cli(*collect).json["removed"] == []
    age(theirs, 31)
    age(mine, 31)
    planned = harness.cli(*collect, "--dry-run").json
    assert planned["removed"] == [theirs.id]
    assert theirs.base.exists()
    done = harness.cli(*collect).json
    assert done["removed"] == [theirs.id]
    assert done["bytes_freed"] == planned["bytes_freed"] > 0
    assert not theirs.base.exists()
    assert mine.base.exists()
    age(mine, 31)
    assert harness.cli(*collect, "--force").json["removed"] == [mine.id]
    assert harness.index(indexed.root).snapshot_id


def test_a_busy_store_is_kept(indexed: GitRepo):
    """ST-5, LE-1: a store with a live writer is not removed, by force or not."""
    from gitindex.store import lease

    layout = harness.codebase(indexed.root).layout
    age(layout, 31)
    with lease.hold(layout, "somebody"):
        assert (
            harness.cli("gc", "--stores", "--force", "--json", "--path", str(indexed.root)).json["removed"]
            == []
        )


def test_last_use_is_remembered_at_most_hourly(indexed: GitRepo):
    """ST-5: reading often must not mean writing often."""
    layout = harness.codebase(indexed.root).layout
    age(layout, 0.5 / 24)
    before = layout.last_used.stat().st_mtime_ns
    state_file.touch_last_used(layout)
    harness.index(indexed.root)
    assert layout.last_used.stat().st_mtime_ns == before
    age(layout, 2 / 24)
    harness.index(indexed.root)
    assert time.time() - layout.last_used.stat().st_mtime < 60


def test_a_store_without_any_readable_file_is_still_listed(indexed: GitRepo):
    """ST-5: what cannot be read is said to be unknown."""
    layout = harness.codebase(indexed.root).layout
    layout.state.write_text("garbage")
    layout.active_pointer.write_text("garbage")
    info = stores.describe_store(layout, "single")
    assert (info.canonical_root, info.mode, info.active_snapshot_id) == ("unknown", "unknown", None)
    assert harness.cli("stores", "--path", str(indexed.root)).code == 0


def test_ignore_changes_publish_in_the_same_store(indexed: GitRepo):
    """CF-2: another ignore fingerprint, the same store."""
    before = harness.codebase(indexed.root).layout
    with harness.view(indexed.root) as view:
        old = view.manifest.ignore_fingerprint
    for name in (".gitignore", ".gitindexignore", "sub/.gitignore"):
        indexed.write(name, "*.tmp\n")
        assert not harness.index(indexed.root).noop
        with harness.view(indexed.root) as view:
            assert view.manifest.ignore_fingerprint != old
            old = view.manifest.ignore_fingerprint
    assert harness.codebase(indexed.root).layout == before
    status = harness.cli("status", "--json", "--path", str(indexed.root)).json
    assert status["fingerprints"]["ignore"] == old


def test_index_configuration_makes_a_new_store_query_configuration_does_not(indexed: GitRepo):
    """CF-2, ST-1."""
    first = harness.codebase(indexed.root)
    indexed.write(".gitindex.toml", "[query]\nlimit = 20\n")
    queried = harness.codebase(indexed.root)
    assert queried.layout == first.layout
    query = harness.cli("status", "--json", "--path", str(indexed.root)).json["fingerprints"]["query"]
    indexed.write(".gitindex.toml", "[query]\nlimit = 21\n")
    assert harness.cli("status", "--json", "--path", str(indexed.root)).json["fingerprints"]["query"] != query
    indexed.write(".gitindex.toml", "[index]\nexclude = ['x/**']\n")
    assert harness.codebase(indexed.root).layout != first.layout
    harness.index(indexed.root)
    assert len(stores.list_layouts(first.home)) == 2
    indexed.write(".gitindex.toml", "# the same settings\n[index]\nexclude = [ 'x/**' ]\n")
    harness.index(indexed.root)
    assert len(stores.list_layouts(first.home)) == 2


def test_a_commit_without_changes_is_published(indexed: GitRepo):
    """CS-5: `indexed_commit` moves although no file did, and the marker proves the new snapshot."""
    commit = indexed.commit("empty")
    report = harness.index(indexed.root)
    assert not report.noop
    assert report.commit == commit
    assert sum(report.changes.values()) == 0
    with harness.view(indexed.root) as view:
        assert (view.read_marker() or {})["runId"] == report.snapshot_id
    assert harness.index(indexed.root).noop


def test_the_log_holds_metadata_only_and_rotates(indexed: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """ST-2: no paths, no content; bounded."""
    indexed.commit("two", **{"secret_name.py": "SECRET_CONTENT = 1\n"})
    harness.index(indexed.root)
    layout = harness.codebase(indexed.root).layout
    text = layout.log.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["event"] for line in lines] == ["sync", "sync"]
    assert "secret_name" not in text
    assert "SECRET_CONTENT" not in text
    monkeypatch.setattr(log, "MAX_BYTES", 400)
    for _ in range(40):
        log.append(layout, "sync", elapsed_ms=1)
    kept = sorted(path.name for path in layout.log.parent.iterdir())
    assert len(kept) == log.ROTATED_FILES + 1
    assert all(path.stat().st_size <= max(400, len(text)) for path in layout.log.parent.iterdir())


def test_the_layout_of_the_source_document(indexed: GitRepo):
    """ST-2."""
    layout = harness.codebase(indexed.root).layout
    with harness.view(indexed.root) as view:
        active = view.manifest.snapshot_id
    for name in (
        "ACTIVE_SNAPSHOT",
        "index_state.json",
        f"snapshots/{active}/manifest.json",
        "staging",
        "locks/writer_lease.json",
        "locks/readers.lock",
        "logs/sync.log.jsonl",
        "cache/embeddings",
    ):
        assert (layout.base / name).exists(), name
    assert list(layout.staging.iterdir()) == []
    assert layout.active_pointer.read_text() == f"{active}\n"
