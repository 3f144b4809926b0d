"""Find the objects of a verified claim that have to be downloaded (RE-3).

Signed sizes limit everything that is read. Nothing here touches the store: `download` writes to a staging directory,
and the index stays as it is until the installer takes the files from there (RE-6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitindex.errors import IntegrityError, RemoteMissing
from gitindex.remote import toc
from gitindex.remote.download import PendingDownload
from gitindex.remote.remote_layout import Names
from gitindex.remote.stored_objects import PackedArtifact
from gitindex.remote.toc import Toc, TocEntry
from gitindex.remote.transport import Timeouts, Transport, get
from gitindex.trust.claim import SnapshotClaim


@dataclass(frozen=True, slots=True)
class ReusedArtifact:
    """An artifact that needs no download: `source` has its content."""

    entry: TocEntry
    source: Path


@dataclass(frozen=True, slots=True)
class FetchPlan:
    download: tuple[PendingDownload, ...]
    reuse: tuple[ReusedArtifact, ...]

    @property
    def reuse_bytes(self) -> int:
        """Stored bytes that need no download, each object counted once."""
        return sum({item.entry.packed.sha256: item.entry.packed.size for item in self.reuse}.values())


def read_toc(
    transport: Transport, names: Names, claim: SnapshotClaim, timeouts: Timeouts | None = None
) -> Toc:
    """The table of contents that a verified claim names.

    Raises IntegrityError when it is missing or differs from what was signed: try the next ancestor.
    """
    key = names.object_key(claim.toc.sha256)
    if claim.toc.size > toc.MAX_TOC_BYTES:
        raise IntegrityError(f"the table of contents {key} is too large", hint="gitindex verify")
    try:
        seconds = (timeouts or Timeouts()).for_object(claim.toc.size)
        stored = get(transport, key, max_bytes=claim.toc.size, seconds=seconds)
    except RemoteMissing as error:
        raise IntegrityError(
            f"the table of contents {key} is gone", hint="push the commit again", commit=claim.commit
        ) from error
    return toc.unpack(stored, claim)


def plan_fetch(table: Toc, local_files: Mapping[str, Path], names: Names, staging: Path) -> FetchPlan:
    """Which objects to download and where their content goes. Pure.

    `local_files` maps raw hashes of local, verified artifacts to their files.
    """
    reuse: list[ReusedArtifact] = []
    missing: dict[str, tuple[PackedArtifact, list[Path]]] = {}
    for entry in table.entries:
        source = local_files.get(entry.packed.raw_sha256)
        if source is not None:
            reuse.append(ReusedArtifact(entry, source))
        else:
            missing.setdefault(entry.packed.sha256, (entry.packed, []))[1].append(staging / entry.path)
    download = tuple(
        PendingDownload(names.object_key(sha256), packed, tuple(paths))
        for sha256, (packed, paths) in missing.items()
    )
    return FetchPlan(download, tuple(reuse))
