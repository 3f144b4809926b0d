"""Installs the verified files of a published snapshot into a store (RE-3, RE-6).

Nothing becomes visible here: the result is a parent for the next publish, exactly as a sibling's snapshot is. Never
replaces a file that a snapshot of this store references by other bytes. Callers hold the lease.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from gitindex.errors import IntegrityError, StoreCorrupt
from gitindex.model import portable
from gitindex.model.manifest import Manifest
from gitindex.store import atomic, clone, manifests, steps
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout


def install(layout: Layout, manifest: Manifest, files: Mapping[str, Path], download_dir: Path) -> list[Path]:
    """Put `files` (artifact path → a file whose hash was checked) in their places; returns the paths that are new.

    Removes the files below `download_dir` once they are linked: unlinking the second name later would change the
    ctime, and with it invalidate every checksum cache entry of the file. Raises IntegrityError when this store has
    other bytes under a name, or when a file was collected meanwhile. A crash leaves unreferenced files for gc.
    """
    steps.reach("fetch.install")
    referenced_hashes = _collect_referenced_hashes(layout)
    new_paths: list[Path] = []
    folders: set[Path] = set()
    try:
        atomic.sync_all(set(files.values()))
        for artifact in portable.published_artifacts(manifest):
            target, source = layout.base / artifact.path, files[artifact.path]
            if referenced_hashes.get(artifact.path, artifact.sha256) != artifact.sha256:
                raise IntegrityError(
                    f"{artifact.path} is the name of something else in this store", hint="gitindex verify"
                )
            if target.exists() and target.samefile(source):
                continue
            new_paths.extend([] if artifact.path in referenced_hashes else [target])
            atomic.make_folder(target.parent)
            target.unlink(missing_ok=True)
            atomic.link_or_copy(source, target)
            atomic.restrict(target)
            folders.add(target.parent)
    except BaseException as error:
        uninstall(layout, new_paths)
        if isinstance(error, FileNotFoundError):
            raise IntegrityError(
                f"{error.filename} was collected meanwhile", hint="gitindex fetch"
            ) from error
        raise
    new_paths += clone.prepare_locks(layout, manifest)
    for source in set(files.values()):
        if download_dir in source.parents:
            source.unlink(missing_ok=True)
    _sync_folders(layout, folders)
    steps.reach("fetch.installed")
    return new_paths


def uninstall(layout: Layout, paths: Iterable[Path]) -> None:
    """Remove what `install` added, and the directories that this leaves empty."""
    parents: set[Path] = set()
    for path in paths:
        path.unlink(missing_ok=True)
        parents.update(parent for parent in path.parents if layout.base in parent.parents)
    permanent_folders = {layout.tables, layout.segments, layout.lexicals}
    for folder in sorted(parents - permanent_folders, key=lambda path: len(path.parts), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def register_snapshot(layout: Layout, manifest: Manifest) -> Manifest:
    """Write the manifest of an installed snapshot under its own id (build areas only: their marker names no root)."""
    local_manifest = replace(manifest, store_id=layout.id)
    snapshot_dir = layout.snapshot(manifest.snapshot_id)
    atomic.make_folder(snapshot_dir)
    atomic.write_bytes(layout.base / local_manifest.overlay.path, b"")
    manifests.write(layout, local_manifest)
    return local_manifest


def make_verifier(layout: Layout, manifest: Manifest) -> Verifier:
    """A verifier that does not hash the files of `manifest` again: this process checked each when it arrived."""
    verifier = Verifier(layout)
    for artifact in portable.published_artifacts(manifest):
        verifier.mark_verified(artifact)
    return verifier


def _collect_referenced_hashes(layout: Layout) -> dict[str, str]:
    """Artifact path → hash, of every snapshot of the store."""
    hashes: dict[str, str] = {}
    for snapshot_id in manifests.list_ids(layout):
        try:
            manifest = manifests.read(layout, snapshot_id)
        except StoreCorrupt:  # an unfinished publish references nothing
            continue
        hashes.update((artifact.path, artifact.sha256) for artifact in manifest.artifacts())
    return hashes


def _sync_folders(layout: Layout, folders: set[Path]) -> None:
    """fsync every directory that gained an entry, up to the store."""
    changed_folders = {
        parent for folder in folders for parent in (folder, *folder.parents) if layout.base in parent.parents
    }
    for folder in changed_folders:
        atomic.sync_directory(folder)
