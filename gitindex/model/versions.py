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
    "query_answer": Range(1, 1, 1),
    "status_answer": Range(1, 1, 1),
    "health_answer": Range(1, 1, 1),
}
_ANSWERS = ("query_answer", "status_answer", "health_answer")  # JSON for programs: nothing of them is stored
_UPDATE = "update gitindex"


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
        hint=_UPDATE if newer else "gitindex upgrade-store",
        artifact=kind,
        version=version,
    )


def is_newer(error: IncompatibleVersion) -> bool:
    """Was what could not be read written by a newer release, rather than by an older one?"""
    return error.hint == _UPDATE


def answer_version(kind: str) -> dict[str, int]:
    """The field by which a JSON answer names its schema; `kind` is `query`, `status` or `health`."""
    return {"schema_version": MATRIX[f"{kind}_answer"].current}


def written() -> dict[str, int]:
    """What a fingerprint covers: a new schema of anything stored is a new index."""
    return {kind: span.current for kind, span in sorted(MATRIX.items()) if kind not in _ANSWERS}
