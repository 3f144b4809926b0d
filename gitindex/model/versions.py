"""Every version this release writes: of what is extracted, ranked and stored (CF-2, ST-6).

A store is named after the first two groups: a new value makes a new index. `tests/versions` records what each value
stands for over fixed samples, so a change of behaviour without a new value fails there.
"""

from __future__ import annotations

from typing import NamedTuple

from gitindex.errors import IncompatibleVersion

# What extraction is a function of. Part of the config fingerprint, as plain texts.
EXTRACTOR_VERSION = "2"  # languages, symbols, imports, calls, identifiers, front matter
CHUNKER_VERSION = "1"  # where chunks begin and end, and what an anchor holds
TOKENS_VERSION = "3"  # sub-words and identifiers, for words and vectors
DOCUMENT_VERSION = (
    "2"  # the text that an embedder reads of a chunk: vectors of other texts cannot be compared
)
# The one release of tree-sitter-language-pack this works with; a test compares it with the installed one.
GRAMMAR_VERSION = "0.13.0"
# Of the bundled vectors; changes with every retraining.
STATIC_VERSION = "gitindex-static-v1@2a9eac71cf13"

# What answers are a function of besides the index. Part of the query fingerprint.
RANKING_VERSION = "4"

# Files outside a store, each with a number of its own.
PUBLISHED_FORMAT = 1  # what is published beside the artifacts; part of every signed claim
TOC_VERSION = 1  # the table of contents of a published snapshot
GC_MARK_VERSION = 1  # the mark that a collection leaves on a remote
TRUST_FILE_VERSION = 2  # trust.json


class VersionRange(NamedTuple):
    minimum: int
    maximum: int
    current: int


MATRIX: dict[str, VersionRange] = {
    "manifest": VersionRange(1, 1, 1),
    "index_state": VersionRange(1, 1, 1),
    "writer_lease": VersionRange(1, 1, 1),
    "chunk_rows": VersionRange(1, 1, 1),
    "facts": VersionRange(3, 3, 3),
    "lexical": VersionRange(1, 1, 1),
    "scip_facts": VersionRange(2, 2, 2),
    "control": VersionRange(1, 1, 1),
    "query_answer": VersionRange(2, 2, 2),
    "status_answer": VersionRange(2, 2, 2),
    "health_answer": VersionRange(1, 1, 1),
}
_ANSWERS = ("query_answer", "status_answer", "health_answer")  # JSON for programs: nothing of them is stored
_UPDATE_HINT = "update gitindex"


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
        hint=_UPDATE_HINT if newer else "gitindex upgrade-store",
        artifact=kind,
        version=version,
    )


def is_newer(error: IncompatibleVersion) -> bool:
    """Was what could not be read written by a newer release, rather than by an older one?"""
    return error.hint == _UPDATE_HINT


def answer_version(kind: str) -> dict[str, int]:
    """The field by which a JSON answer names its schema; `kind` is `query`, `status` or `health`."""
    return {"schema_version": MATRIX[f"{kind}_answer"].current}


def stored_versions() -> dict[str, int]:
    """What a fingerprint covers: a new schema of anything stored is a new index."""
    return {kind: span.current for kind, span in sorted(MATRIX.items()) if kind not in _ANSWERS}
