"""The compatibility matrix (ST-6): for every artifact kind, what this release reads and what it writes."""

from __future__ import annotations

from typing import NamedTuple

from gitindex.errors import IncompatibleVersion


class Range(NamedTuple):
    minimum: int
    maximum: int
    current: int


MATRIX: dict[str, Range] = {
    "manifest": Range(1, 1, 1),
    "index_state": Range(1, 1, 1),
    "writer_lease": Range(1, 1, 1),
    "chunk_rows": Range(1, 1, 1),
    "facts": Range(3, 3, 3),
    "lexical": Range(1, 1, 1),
    "scip_facts": Range(2, 2, 2),
    "control": Range(1, 1, 1),
}


def check(kind: str, version: object, where: str) -> None:
    """Fail at once, naming the artifact and its version, when this release cannot read it.

    Raises IncompatibleVersion.
    """
    span = MATRIX[kind]
    if isinstance(version, int) and not isinstance(version, bool) and span.minimum <= version <= span.maximum:
        return
    newer = isinstance(version, int) and version > span.maximum
    raise IncompatibleVersion(
        f"{kind} {where} has schema version {version!r}; this release reads {span.minimum} to {span.maximum}",
        hint="update gitindex" if newer else "gitindex upgrade-store",
        artifact=kind,
        version=version,
    )


def written() -> dict[str, int]:
    """What a fingerprint covers: a new schema is a new index."""
    return {kind: span.current for kind, span in sorted(MATRIX.items())}
