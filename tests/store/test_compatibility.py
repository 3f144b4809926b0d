"""A store of a newer release is refused; damage and older manifests are not (ST-6)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitindex.errors import IncompatibleVersion
from gitindex.model import versions
from gitindex.store import compatibility, manifests, sealed_json
from gitindex.store.layout import Layout
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def layout(repo: GitRepo) -> Layout:
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    repo.commit("two", **{"a.py": "A = 2\n"})
    harness.index(repo.root)
    return harness.codebase(repo.root).layout


def rewrite(path: Path, version: int) -> None:
    data = json.loads(path.read_bytes())
    del data["sha256"]
    sealed_json.write(path, {**data, "schema_version": version})


def newest_version(kind: str) -> int:
    return versions.MATRIX[kind].maximum


def test_a_store_of_this_release_passes(layout: Layout) -> None:
    compatibility.read_manifests(layout)


@pytest.mark.parametrize("kind", ["index_state", "writer_lease"])
def test_newer_control_files_are_refused(layout: Layout, kind: str) -> None:
    path = layout.state if kind == "index_state" else layout.lease
    rewrite(path, newest_version(kind) + 1)
    with pytest.raises(IncompatibleVersion, match=kind):
        compatibility.check_control_files(layout)
    path.write_bytes(b"damaged")
    compatibility.check_control_files(layout)


def test_any_newer_manifest_is_refused_but_an_older_or_damaged_one_is_not(layout: Layout) -> None:
    active_id = manifests.read_active_id(layout)
    path = next(layout.manifest(name) for name in manifests.list_ids(layout) if name != active_id)
    rewrite(path, newest_version("manifest") + 1)
    with pytest.raises(IncompatibleVersion, match="manifest"):
        compatibility.read_manifests(layout)
    rewrite(path, versions.MATRIX["manifest"].minimum - 1)
    compatibility.read_manifests(layout)
    path.write_bytes(b"damaged")
    compatibility.read_manifests(layout)


def test_newer_facts_count_in_the_active_snapshot(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier_release = versions.MATRIX["facts"]._replace(maximum=newest_version("facts") - 1)
    monkeypatch.setitem(versions.MATRIX, "facts", earlier_release)
    with pytest.raises(IncompatibleVersion, match="facts"):
        compatibility.read_manifests(layout)
