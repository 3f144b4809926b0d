"""`gitindex stats` adds up."""

from __future__ import annotations

from tests import harness
from tests.gitrepo import GitRepo


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
    assert found["compaction"]["bytes_saved"] > 0
    assert set(found["last_publish_ms"]) >= {"plan", "write"}
    assert harness.cli("stats", "--path", str(repo.root)).out.startswith("text")


def test_stats_without_an_index_is_gated(repo: GitRepo):
    assert harness.cli("stats", "--json", "--path", str(repo.root)).json["reason"] == "not_indexed"
