"""`gitindex stats` adds up."""

from __future__ import annotations

from gitindex.store import log
from gitindex.store.steps import STEPS
from tests.support import harness
from tests.support.gitrepo import GitRepo


def test_stats_add_up(repo: GitRepo):
    repo.commit("one", **{"a.py": "def alpha(): pass\n", "b.py": "def beta(): pass\n"})
    harness.index(repo.root)
    repo.commit("two", **{"a.py": "def gamma(): pass\n"})
    harness.index(repo.root)
    ran = harness.cli("stats", "--json", "--path", str(repo.root))
    assert ran.code == 0
    found = ran.json
    parts = found["bytes"]
    assert parts["total"] == sum(parts[name] for name in ("tables", "facts", "lexical", "snapshots"))
    assert parts["text"] == len("def gamma(): pass\n") + len("def beta(): pass\n")
    assert found["segments"] == 2
    assert found["tombstones"] == 1
    assert found["rows"]["dead"] > 0
    assert 0 < found["compaction"]["bytes_saved"] < parts["tables"] + parts["facts"]
    assert set(found["last_publish_ms"]) >= {"plan", "write", "publish", "stage", "flush", "gate", "swap"}
    assert harness.cli("stats", "--path", str(repo.root)).out.startswith("text")


def test_stats_without_an_index_is_gated(repo: GitRepo):
    assert harness.cli("stats", "--json", "--path", str(repo.root)).json["reason"] == "not_indexed"


def test_a_sync_tells_its_phases(repo: GitRepo):
    """The steps of a publish are in the answer and in the log, in their order; nothing to do has none."""
    repo.commit("one", **{"a.py": "def alpha(): pass\n"})
    ran = harness.cli("sync", "--json", "--path", str(repo.root)).json
    steps = [name.rpartition(".")[2] for name in STEPS["publish"]]
    assert list(ran["phases_ms"]) == steps[:-1]
    assert set(ran["timings_ms"]) == {"plan", "write", "publish", "total"}
    (entry,) = log.read_entries(harness.codebase(repo.root).layout, "sync")
    assert entry["phases_ms"] == ran["phases_ms"]
    assert harness.cli("sync", "--json", "--path", str(repo.root)).json["phases_ms"] == {}


def test_vectors_of_known_chunks_are_counted_as_reused(repo: GitRepo):
    """SN-3: the hit rate covers what the log remembers."""
    repo.commit(
        "one", **{".gitindex.toml": '[embedding]\nprovider = "fake"\n', "a.py": "def alpha(): pass\n"}
    )
    harness.index(repo.root)
    repo.git("mv", "a.py", "b.py")
    repo.commit("two")
    harness.index(repo.root)
    found = harness.cli("stats", "--json", "--path", str(repo.root)).json["embedding"]
    assert found["embedded"] > 0
    assert found["reused"] > 0
    assert found["hit_rate"] == round(found["reused"] / (found["embedded"] + found["reused"]), 3)
    assert "hit rate" in harness.cli("stats", "--path", str(repo.root)).out


def test_a_torn_log_is_passed_over(repo: GitRepo):
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    with harness.codebase(repo.root).layout.log.open("a") as handle:
        handle.write('[]\n{"event": "sync"')
    assert harness.cli("stats", "--json", "--path", str(repo.root)).json["status"] == "ok"
