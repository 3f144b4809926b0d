"""Installing the files of a published snapshot: other bytes are never replaced, a failure leaves nothing (RE-6)."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.errors import IntegrityError
from gitindex.model import portable
from gitindex.model.manifest import Manifest
from gitindex.store import install_snapshot, manifests
from gitindex.store.layout import Layout
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def manifest(repo: GitRepo) -> Manifest:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    active = manifests.read_active(harness.codebase(repo.root).layout)
    assert active is not None
    return portable.strip(active)


@pytest.fixture
def downloads(repo: GitRepo, manifest: Manifest, tmp_path: Path) -> dict[str, Path]:
    """Artifact path → a copy of its file below `downloads`."""
    base = harness.codebase(repo.root).layout.base
    files = {}
    for number, artifact in enumerate(portable.published_artifacts(manifest)):
        files[artifact.path] = tmp_path / "downloads" / str(number)
        files[artifact.path].parent.mkdir(exist_ok=True)
        shutil.copyfile(base / artifact.path, files[artifact.path])
    return files


def files_below(layout: Layout) -> set[str]:
    return {path.relative_to(layout.base).as_posix() for path in layout.base.rglob("*") if path.is_file()}


def test_files_are_moved_into_their_places(
    manifest: Manifest, downloads: dict[str, Path], tmp_path: Path
) -> None:
    layout = Layout(tmp_path / "store")
    new_paths = install_snapshot.install(layout, manifest, downloads, tmp_path / "downloads")
    assert {path.relative_to(layout.base).as_posix() for path in new_paths} == files_below(layout)
    assert set(downloads) < files_below(layout), "and the lock file of the lexical index"
    assert not any(path.exists() for path in downloads.values())
    install_snapshot.make_verifier(layout, manifest).verify_all(portable.published_artifacts(manifest))
    assert not layout.active_pointer.exists()
    install_snapshot.uninstall(layout, new_paths)
    assert files_below(layout) == set()


def test_files_outside_the_download_directory_stay(
    manifest: Manifest, downloads: dict[str, Path], tmp_path: Path
) -> None:
    layout = Layout(tmp_path / "store")
    install_snapshot.install(layout, manifest, downloads, tmp_path / "elsewhere")
    assert all(path.exists() for path in downloads.values())


def test_bytes_that_a_snapshot_references_are_not_replaced(
    manifest: Manifest, downloads: dict[str, Path], tmp_path: Path
) -> None:
    layout = Layout(tmp_path / "store")
    install_snapshot.install(layout, manifest, downloads, tmp_path / "elsewhere")
    registered = install_snapshot.register_snapshot(layout, manifest)
    assert registered.store_id == layout.id
    assert manifests.read(layout, manifest.snapshot_id) == registered
    before = files_below(layout)
    first, *others = manifest.lexical
    other = replace(manifest, lexical=(replace(first, sha256="0" * 64), *others))
    with pytest.raises(IntegrityError, match="is the name of something else"):
        install_snapshot.install(layout, other, downloads, tmp_path / "downloads")
    assert files_below(layout) == before


def test_a_file_that_vanished_leaves_nothing_behind(
    manifest: Manifest, downloads: dict[str, Path], tmp_path: Path
) -> None:
    layout = Layout(tmp_path / "store")
    downloads[manifest.lexical[-1].path].unlink()
    with pytest.raises(IntegrityError, match="was collected meanwhile"):
        install_snapshot.install(layout, manifest, downloads, tmp_path / "downloads")
    assert not layout.base.exists() or files_below(layout) == set()
