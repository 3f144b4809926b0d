"""Hard-link clones: a snapshot's lexical directory from its parent, a whole snapshot from a sibling store."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from gitindex.model.manifest import Artifact, Manifest, Origin
from gitindex.segment import lexical_index
from gitindex.store import atomic, steps
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout


def clone_lexical(parent: Manifest, verifier: Verifier, target: Path) -> dict[int, Artifact]:
    """Clone the parent's index into `target`; returns what is known of each linked file, by inode.

    Every file is proven before it is linked, so a damaged parent never spreads.
    """
    target.mkdir(parents=True)
    artifacts_by_inode: dict[int, Artifact] = {}
    for artifact in parent.lexical:
        source = verifier.verified_path(artifact)
        copy = target / source.name
        if source.name in lexical_index.REWRITTEN_FILES:
            shutil.copyfile(source, copy)
        else:
            atomic.link_or_copy(source, copy)
            artifacts_by_inode[copy.stat().st_ino] = artifact
    return artifacts_by_inode


def seed(target: Layout, root: Path, source: Layout, manifest: Manifest) -> Manifest:
    """Link every artifact of a sibling's snapshot into `target` (ST-4). The result is a parent, not yet published.

    Raises ChecksumMismatch when the sibling is damaged; leftovers in `target` are unreferenced and gc's to take.
    """
    verifier = Verifier(source)
    steps.reach("seed.link")
    folders: set[Path] = set()
    for artifact in manifest.artifacts():
        source_file = verifier.verified_path(artifact)
        copy = target.base / artifact.path
        atomic.make_folder(copy.parent)
        copy.unlink(missing_ok=True)
        atomic.link_or_copy(source_file, copy)
        atomic.restrict(copy)
        folders.add(copy.parent)
    for folder in folders:
        atomic.sync_directory(folder)
    prepare_locks(target, manifest)
    steps.reach("seed.linked")
    return replace(
        manifest,
        store_id=target.id,
        canonical_root=str(root),
        origin=replace(manifest.origin, kind="seeded")
        if manifest.origin.kind == "local"
        else _unchanged_origin(manifest),
    )


def prepare_locks(layout: Layout, manifest: Manifest) -> list[Path]:
    """Whoever opens a lexical index first makes its lock file, with whatever umask it has: so it is there already."""
    folders = {(layout.base / artifact.path).parent for artifact in manifest.lexical}
    locks = [folder / lexical_index.META_LOCK for folder in folders]
    missing = [lock for lock in locks if not lock.exists()]
    for lock in missing:
        atomic.create_missing(lock)
    return missing


def _unchanged_origin(manifest: Manifest) -> Origin:
    """A fetched snapshot stays fetched: seeding changes nothing about who signed it."""
    return manifest.origin
