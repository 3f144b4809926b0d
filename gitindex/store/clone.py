"""Hard-link clones: a snapshot's lexical directory from its parent, a whole snapshot from a sibling store."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from gitindex.model.manifest import Artifact, Manifest
from gitindex.segment import lexical_index
from gitindex.store import atomic, steps
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout


def clone_lexical(parent: Manifest, verifier: Verifier, target: Path) -> dict[int, Artifact]:
    """Clone the parent's lexical index into `target`; returns the artifact of each linked file, by inode.

    Every file is verified before it is linked, so that damage in the parent does not spread.
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
    """Link every artifact of a sibling's snapshot into `target` (ST-4). Returns a parent manifest, not yet published.

    Raises ChecksumMismatch when the sibling is damaged; gc then removes the unreferenced links from `target`.
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
    origin = manifest.origin
    if origin.kind == "local":  # a fetched snapshot stays fetched: seeding does not change who signed it
        origin = replace(origin, kind="seeded")
    return replace(manifest, store_id=target.id, canonical_root=str(root), origin=origin)


def prepare_locks(layout: Layout, manifest: Manifest) -> list[Path]:
    """Create the lock files of the lexical index with the store's permissions, before Tantivy creates them with the
    umask of the first reader. Returns those that were missing."""
    folders = {(layout.base / artifact.path).parent for artifact in manifest.lexical}
    locks = [folder / lexical_index.META_LOCK for folder in folders]
    missing = [lock for lock in locks if not lock.exists()]
    for lock in missing:
        atomic.create_missing(lock)
    return missing
