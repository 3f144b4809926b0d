"""Artifacts of another release (ST-6): too new is refused at once, too old is upgraded; last-good stays meanwhile."""

from __future__ import annotations

import json
import re
import sqlite3

import pytest

from gitindex.errors import IncompatibleVersion
from gitindex.model import versions
from gitindex.store import integrity, manifests, sealed_json
from gitindex.store.layout import Layout
from tests.house.graph import REPOSITORY
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    return repo


def rewrite(repo: GitRepo, kind: str, version: int) -> str:
    """Give one artifact another schema version, all checksums right; returns its path."""
    layout = harness.codebase(repo.root).layout
    active = manifests.read_active_id(layout)
    assert active
    if kind in ("manifest", "chunk_rows", "index_state", "writer_lease"):
        path = {"index_state": layout.state, "writer_lease": layout.lease}.get(kind, layout.manifest(active))
        field = "chunk_row_schema_version" if kind == "chunk_rows" else "schema_version"
        data = sealed_json.verify_seal(json.loads(path.read_bytes()))
        sealed_json.write(path, {**data, field: version})
        return path.name
    manifest = json.loads(layout.manifest(active).read_bytes())
    segment = manifest["segments"][0]
    facts = layout.facts(segment["id"])
    with sqlite3.connect(facts) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (str(version),))
    db.close()
    found = integrity.describe_artifact(layout, facts)
    for artifact in segment["artifacts"]:
        if artifact["path"] == found.path:
            artifact.update(size_bytes=found.size_bytes, sha256=found.sha256)
    sealed_json.write(layout.manifest(active), sealed_content(manifest))
    return facts.name


def sealed_content(data: dict) -> dict:
    return {name: value for name, value in data.items() if name != "sha256"}


@pytest.mark.parametrize("kind", ["manifest", "chunk_rows", "index_state", "writer_lease", "facts"])
def test_too_new_is_refused_by_name(kind: str, indexed: GitRepo):
    """ST-6: exit 8, the artifact and its version, and nothing is touched."""
    name = rewrite(indexed, kind, 99)
    indexed.write("b.py", "B = 1\n")
    ran = harness.cli("sync", "--json", "--path", str(indexed.root))
    assert ran.code == 8, ran.out
    assert name in ran.json["error"]["message"]
    assert "99" in ran.json["error"]["message"]
    assert ran.json["error"]["hint"] == "update gitindex"
    assert harness.cli("upgrade-store", "--path", str(indexed.root)).code == 8
    if kind != "facts":  # whole bytes are nothing to repair
        assert harness.cli("repair", "--path", str(indexed.root)).code == 8
    status = harness.cli("status", "--json", "--path", str(indexed.root))
    assert status.code == (0 if kind == "writer_lease" else 8), status.out


@pytest.mark.parametrize("kind", ["manifest", "chunk_rows", "index_state", "writer_lease", "facts"])
@pytest.mark.parametrize("command", [("sync",), ("gc",), ("gc", "--dry-run"), ("compact",)], ids=" ".join)
def test_too_new_is_refused_where_nothing_is_to_be_done(
    command: tuple[str, ...], kind: str, indexed: GitRepo
):
    """ST-6: an idle sync and a collection read little of a store; they are refused all the same, before any change."""
    indexed.commit("two", **{"b.py": "B = 1\n"})
    harness.index(indexed.root)
    name = rewrite(indexed, kind, 99)
    layout = harness.codebase(indexed.root).layout
    before = manifests.list_ids(layout)
    ran = harness.cli(*command, "--json", "--path", str(indexed.root))
    assert ran.code == 8, ran.out
    assert name in ran.json["error"]["message"]
    assert ran.json["error"]["hint"] == "update gitindex"
    assert manifests.list_ids(layout) == before


def rewrite_manifest(layout: Layout, snapshot_id: str) -> None:
    path = layout.manifest(snapshot_id)
    data = sealed_json.verify_seal(json.loads(path.read_bytes()))
    sealed_json.write(path, {**data, "schema_version": 99})


def test_a_collection_keeps_what_a_newer_release_published(indexed: GitRepo):
    """ST-6, SN-9: a retained manifest that only a newer release reads is not taken for one that keeps nothing alive."""
    layout = harness.codebase(indexed.root).layout
    first = manifests.read_active_id(layout)
    assert first
    indexed.commit("two", **{"a.py": "def alpha():\n    return 2\n"})
    harness.index(indexed.root)
    rewrite_manifest(layout, first)
    assert harness.cli("gc", "--path", str(indexed.root)).code == 8
    assert layout.manifest(first).exists()


def test_a_lost_pointer_among_newer_manifests(indexed: GitRepo):
    """ST-6, SN-11: where the pointer may have named a snapshot of a newer release, no older one is chosen for it."""
    layout = harness.codebase(indexed.root).layout
    indexed.commit("two", **{"b.py": "B = 1\n"})
    harness.index(indexed.root)
    newest = manifests.read_active_id(layout)
    assert newest
    rewrite_manifest(layout, newest)
    layout.active_pointer.unlink()
    for command in ("sync", "gc", "health", "audit", "repair"):
        assert harness.cli(command, "--path", str(indexed.root)).code == 8, command


@pytest.mark.parametrize("kind", ["manifest", "chunk_rows", "facts"])
def test_too_old_is_upgraded(kind: str, indexed: GitRepo, tmp_path):
    """ST-6: the message says how; `upgrade-store` reindexes and publishes."""
    rewrite(indexed, kind, 0)
    ran = harness.cli("audit", "--json", "--path", str(indexed.root))
    assert ran.code == 8, ran.out
    assert ran.json["error"]["hint"] == "gitindex upgrade-store"
    ran = harness.cli("upgrade-store", "--json", "--path", str(indexed.root))
    assert ran.code == 0, ran.out
    assert ran.json["outcome"] == "reindexed"
    assert harness.audited(indexed.root).is_clean
    assert harness.digest_of(indexed.root) == harness.clean_digest(indexed.root, tmp_path / "scratch")
    assert harness.cli("upgrade-store", "--json", "--path", str(indexed.root)).json["outcome"] == "current"


def test_a_store_of_an_older_release_is_upgraded(repo: GitRepo, tmp_path, monkeypatch: pytest.MonkeyPatch):
    """ST-6: formats are part of a fingerprint, so the older index lies in a store of its own."""
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    with monkeypatch.context() as patched:
        patched.setitem(versions.MATRIX, "facts", versions.VersionRange(1, 1, 1))
        harness.index(repo.root)
    at = ("--json", "--path", str(repo.root))
    assert harness.cli("search", "alpha", *at).json["status"] == "requires_reindex"
    health = harness.cli("health", *at)
    assert (health.code, health.json["status"]) == (3, "requires_reindex")
    audit = harness.cli("audit", *at)
    assert (audit.code, audit.json["status"]) == (3, "requires_reindex")
    assert harness.cli("upgrade-store", *at).json["outcome"] == "reindexed"
    assert harness.cli("upgrade-store", *at).json["outcome"] == "current"
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")


def test_a_failed_upgrade_keeps_last_good(indexed: GitRepo):
    """ST-6: a damaged store is not upgraded over."""
    layout = harness.codebase(indexed.root).layout
    with harness.view(indexed.root) as view:
        victim = layout.base / view.manifest.lexical[0].path
        before = view.manifest.snapshot_id
    good = victim.read_bytes()
    victim.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    ran = harness.cli("upgrade-store", "--json", "--path", str(indexed.root))
    assert ran.code == 4
    assert ran.json["error"]["hint"] == "gitindex repair"
    victim.write_bytes(good)
    assert manifests.read_active_id(layout) == before
    assert harness.audited(indexed.root).is_clean


@pytest.mark.parametrize("kind", sorted(versions.MATRIX))
def test_the_matrix_is_sound(kind: str):
    """ST-6: what a release writes it reads; everything outside its range is refused, whatever its type."""
    span = versions.MATRIX[kind]
    assert span.minimum <= span.current <= span.maximum
    versions.check(kind, span.current, "here")
    for wrong in (span.minimum - 1, span.maximum + 1, None, "1", True, 1.0):
        with pytest.raises(IncompatibleVersion) as caught:
            versions.check(kind, wrong, "here")
        assert kind in caught.value.message
        assert caught.value.exit_code == 8


def test_versions_of_answers_are_no_part_of_a_store(indexed: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """CF-2: another shape of an answer is no reason to index anything again."""
    before = harness.codebase(indexed.root).fingerprint
    for kind in ("query_answer", "status_answer", "health_answer"):
        monkeypatch.setitem(versions.MATRIX, kind, versions.VersionRange(1, 2, 2))
    assert harness.codebase(indexed.root).fingerprint == before


def test_the_matrix_is_documented():
    """ST-6: docs/format.md lists every kind with what this release reads and writes."""
    page = (REPOSITORY / "docs" / "format.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| (\d+) to (\d+) \| (\d+) \|$", page, re.M)
    assert {kind: tuple(map(int, numbers)) for kind, *numbers in rows} == versions.MATRIX
