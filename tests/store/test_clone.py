"""Hard-link clones of a lexical index and of a sibling's snapshot (ST-4, SN-7)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.errors import ChecksumMismatch
from gitindex.model.manifest import Manifest, Origin
from gitindex.segment import lexical_index
from gitindex.store import clone, manifests
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def source(repo: GitRepo) -> Layout:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    return harness.codebase(repo.root).layout


@pytest.fixture
def manifest(source: Layout) -> Manifest:
    active = manifests.read_active(source)
    assert active is not None
    return active


def test_a_cloned_index_links_finished_files_and_copies_the_others(
    source: Layout, manifest: Manifest, tmp_path: Path
) -> None:
    target = tmp_path / "clone"
    artifacts_by_inode = clone.clone_lexical(manifest, Verifier(source), target)
    copied = {path.name for path in target.iterdir() if path.stat().st_ino not in artifacts_by_inode}
    assert copied == lexical_index.REWRITTEN_FILES
    assert len(artifacts_by_inode) == len(manifest.lexical) - len(copied) > 0
    for path in target.iterdir():
        artifact = artifacts_by_inode.get(path.stat().st_ino)
        assert artifact is None or Path(artifact.path).name == path.name
    assert lexical_index.LexicalIndex(target).document_count == manifest.counts.chunks_indexed


def test_a_damaged_parent_is_not_cloned(source: Layout, manifest: Manifest, tmp_path: Path) -> None:
    damaged = source.base / manifest.lexical[0].path
    damaged.write_bytes(damaged.read_bytes() + b"x")
    with pytest.raises(ChecksumMismatch):
        clone.clone_lexical(manifest, Verifier(source), tmp_path / "clone")


@pytest.mark.parametrize(("kind", "expected"), [("local", "seeded"), ("fetched", "fetched")])
def test_a_seeded_snapshot_is_a_parent_with_the_same_files(
    source: Layout, manifest: Manifest, tmp_path: Path, kind: str, expected: str
) -> None:
    target = Layout(tmp_path / "other")
    origin = Origin(kind, signer="somebody")
    seeded = clone.seed(target, tmp_path, source, replace(manifest, origin=origin))
    assert (seeded.origin.kind, seeded.origin.signer) == (expected, "somebody")
    assert (seeded.store_id, seeded.canonical_root) == (target.id, str(tmp_path))
    for artifact in seeded.artifacts():
        assert (target.base / artifact.path).samefile(source.base / artifact.path)
    assert not target.active_pointer.exists(), "seeding publishes nothing"


def test_lock_files_of_a_lexical_index_are_made_once(
    source: Layout, manifest: Manifest, tmp_path: Path
) -> None:
    target = Layout(tmp_path / "other")
    clone.seed(target, tmp_path, source, manifest)
    lock = target.lexical(manifest.snapshot_id) / lexical_index.META_LOCK
    assert lock.is_file()
    assert clone.prepare_locks(target, manifest) == []
    lock.unlink()
    assert clone.prepare_locks(target, manifest) == [lock]
