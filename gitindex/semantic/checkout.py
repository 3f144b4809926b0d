"""Writes a private copy of a commit's files for an indexer, from git objects alone (SE-2).

No filters, no hooks, no index, no symbolic links: every file has exactly the bytes of its blob, so positions that an
indexer reports are positions in the blob. The user's working tree and index are not touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gitindex.errors import ExactFactsError, UnsafePath
from gitindex.git.object_values import TreeEntry
from gitindex.git.objects import Objects
from gitindex.model.paths import path_key

_REGULAR, _EXECUTABLE = 0o100644, 0o100755
_BATCH = 500
MAX_FILE_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Checkout:
    root: Path  # canonical: indexers compare paths by text
    blobs: dict[str, str]  # path key → blob id of every file written
    skipped: tuple[tuple[str, str], ...]  # (path, reason)


def check_out(objects: Objects, tree: str, directory: Path, *, max_bytes: int) -> Checkout:
    """Write the tree into `directory`, which must be empty or missing.

    Raises ExactFactsError when it is not, or when its path does not suit every indexer.
    """
    directory.mkdir(parents=True, exist_ok=True)
    root = Path(os.path.realpath(directory))
    if "+" in str(root):  # scip-typescript 0.4.0 crashes on such a root
        raise ExactFactsError(
            f"a checkout path must not contain '+': {root}", hint="set TMPDIR to another directory"
        )
    if any(root.iterdir()):
        raise ExactFactsError(f"checkout directory is not empty: {root}")
    regular_files, skipped = _select_files(objects.list_entries(tree))
    blobs: dict[str, str] = {}
    for start in range(0, len(regular_files), _BATCH):
        batch = regular_files[start : start + _BATCH]
        contents = objects.read([entry.blob for _, entry in batch], max_bytes)
        for (key, entry), blob in zip(batch, contents, strict=True):
            if blob.data is None:
                skipped.append((key, "too large"))
                continue
            _write_file(root, key, blob.data, executable=entry.mode == _EXECUTABLE)
            blobs[key] = entry.blob
    return Checkout(root, blobs, tuple(sorted(skipped)))


def list_regular_blobs(objects: Objects, tree: str) -> dict[str, str]:
    """Path key → blob id of every regular file that a checkout would write."""
    regular_files, _ = _select_files(objects.list_entries(tree))
    return {key: entry.blob for key, entry in regular_files}


def _select_files(entries: Iterable[TreeEntry]) -> tuple[list[tuple[str, TreeEntry]], list[tuple[str, str]]]:
    selected: dict[str, TreeEntry] = {}
    skipped: list[tuple[str, str]] = []
    for entry in entries:
        display_path = entry.path.decode("utf-8", "replace")
        if entry.mode not in (_REGULAR, _EXECUTABLE):
            skipped.append((display_path, "not a regular file"))
            continue
        try:
            key = path_key(entry.path)
        except UnsafePath:
            skipped.append((display_path, "unsafe path"))
            continue
        # A forged tree may have a .git anywhere, and indexers run git.
        if key in selected or ".git" in key.lower().split("/"):
            skipped.append((display_path, "unsafe path"))
        else:
            selected[key] = entry
    return list(selected.items()), skipped


def _write_file(root: Path, key: str, data: bytes, *, executable: bool) -> None:
    path = root / key
    path.parent.mkdir(parents=True, exist_ok=True)
    # Exclusive and without following links: two paths that are one file on this file system must not overwrite each
    # other.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, 0o700 if executable else 0o600)
    except FileExistsError as error:
        raise ExactFactsError(f"two tracked files are one file here: {key}") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


class BlobReader:
    """Reads a regular tracked file by path key, None for every other path; a `decode.ReadBlob`."""

    def __init__(self, blobs: dict[str, str], objects: Objects, max_bytes: int) -> None:
        self._blobs, self._objects, self._max_bytes = blobs, objects, max_bytes

    def __call__(self, path: str) -> bytes | None:
        blob = self._blobs.get(path)
        if blob is None:
            return None
        return next(iter(self._objects.read([blob], self._max_bytes))).data
