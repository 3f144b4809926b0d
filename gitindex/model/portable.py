"""The published form of a manifest: without anything local, beside the artifacts it names (RE-2, RE-3). Pure.

No root, no store, no lease, no branch, no working tree. A receiver checks that it describes exactly the signed
commit and exactly the signed files, under names that cannot be anything but artifacts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from gitindex.errors import IntegrityError
from gitindex.model import manifest as manifests
from gitindex.model.ids import sha256_hex
from gitindex.model.manifest import Artifact, GitState, Manifest, Origin

NAME = "manifest.json"  # its path inside a published snapshot
ROOT = manifests.PORTABLE_ROOT  # what a portable completion marker says instead of a machine's path
_ULID = "[0-9A-HJKMNP-TV-Z]{26}"
_SNAPSHOT = re.compile(_ULID)
_SEGMENT = re.compile(rf"seg_{_ULID}_\d{{1,4}}")
_FILE = re.compile(r"\.?[A-Za-z0-9_][A-Za-z0-9._-]*")


def strip(manifest: Manifest) -> Manifest:
    """The same manifest without the fields that describe this machine."""
    return replace(
        manifest,
        parent_snapshot_id=None,
        canonical_root=ROOT,
        store_id="",
        lease_epoch=0,
        git=GitState(manifest.git.head_sha, manifest.git.tree_sha),
        overlay=empty_overlay(manifest.snapshot_id),
        origin=Origin(),
    )


def empty_overlay(snapshot_id: str) -> Artifact:
    return Artifact(f"snapshots/{snapshot_id}/overlay.jsonl", 0, sha256_hex(b""))


def published_artifacts(manifest: Manifest) -> list[Artifact]:
    """The artifacts to publish: all but the overlay, which is empty."""
    return [artifact for artifact in manifest.artifacts() if artifact != manifest.overlay]


def encode(manifest: Manifest) -> bytes:
    return json.dumps(strip(manifest).to_json(), sort_keys=True, separators=(",", ":")).encode()


def decode(data: bytes) -> Manifest:
    """Raises IntegrityError for anything `encode` would not write, IncompatibleVersion for another release's."""
    try:
        manifest = manifests.from_json(json.loads(data), NAME)
    except ValueError as error:
        raise _manifest_error(f"is not JSON: {error}") from error
    if manifest != strip(manifest):
        raise _manifest_error("says more than a published manifest may")
    return manifest


def check(
    manifest: Manifest, git: tuple[str, str], fingerprint: str, files: Mapping[str, tuple[int, str]]
) -> None:
    """The manifest is about this commit and tree, this configuration, and these files (path → size, hash).

    Raises IntegrityError.
    """
    if (manifest.git.head_sha, manifest.git.tree_sha) != git or manifest.config_fingerprint != fingerprint:
        raise _manifest_error("describes another commit or configuration than the signed one")
    if not _SNAPSHOT.fullmatch(manifest.snapshot_id):
        raise _manifest_error("has no snapshot id")
    manifest_files = {
        artifact.path: (artifact.size_bytes, artifact.sha256) for artifact in published_artifacts(manifest)
    }
    if manifest_files != dict(files):
        first_difference = sorted(manifest_files.items() ^ files.items())[0][0]
        raise _manifest_error(f"and the table of contents disagree about {first_difference}")
    segments = {segment.id for segment in manifest.segments}
    for path in manifest_files:
        if not _is_artifact(path, segments, manifest.snapshot_id):
            raise _manifest_error(f"names a file that is no artifact: {path}")


def _is_artifact(path: str, segments: set[str], snapshot_id: str) -> bool:
    """`tables/<segment>.lance/…`, `segments/<segment>/<file>` or `lexical/<snapshot>/<file>`."""
    kind, owner, *rest = [*path.split("/"), "", ""][: max(path.count("/") + 1, 2)]
    if not rest or not all(_FILE.fullmatch(name) for name in rest):
        return False
    if kind == "lexical":
        return len(rest) == 1 and bool(_SNAPSHOT.fullmatch(owner)) and owner == snapshot_id
    segment = owner.removesuffix(".lance") if kind == "tables" else owner
    if segment not in segments or not _SEGMENT.fullmatch(segment):
        return False
    return owner == f"{segment}.lance" if kind == "tables" else kind == "segments" and len(rest) == 1


def _manifest_error(why: str) -> IntegrityError:
    return IntegrityError(f"the published manifest {why}", hint="gitindex verify")
