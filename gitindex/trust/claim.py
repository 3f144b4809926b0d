"""What a publisher signs about one snapshot: an in-toto Statement v1 with our predicate (RE-4). Pure.

Each field is checked for form here and for truth in `verify`. The subject is the table of contents, which
names every object by hash and size, so one signature covers all bytes of the snapshot.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import datetime

from gitindex.errors import UsageError
from gitindex.trust import strictjson
from gitindex.trust.keys import PublicKey, parse_public
from gitindex.trust.strictjson import MalformedError

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://github.com/gitindex/gitindex/snapshot/v1"
MAX_SUCCESSORS = 8

HASH_PATTERN = re.compile(r"[0-9a-f]{64}")
COMMIT_PATTERN = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
REPOSITORY_PATTERN = re.compile(r"[0-9a-z][0-9a-z_-]{0,127}")
FINGERPRINT_PATTERN = re.compile(r"[0-9a-f]{16,64}")
_INSTANT_FORMAT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True, slots=True)
class TocReference:
    """The table of contents: hash and size of the compressed object, and of what it unpacks to."""

    sha256: str
    size: int
    raw_sha256: str
    raw_size: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the table of contents; they cap a download before its first byte."""

    artifacts: int
    size: int
    raw_size: int


@dataclass(frozen=True, slots=True)
class SnapshotClaim:
    """The predicate of the statement."""

    repository: str
    commit: str
    tree: str
    config_fingerprint: str
    format: int
    toc: TocReference
    totals: Totals
    builder: str  # for people: "gitindex 1.2 on ci"
    built_at: str  # UTC, seconds, "2026-01-02T03:04:05Z"
    build_ms: int  # measured duration of the build, which a fetch saves
    successors: tuple[PublicKey, ...] = ()  # keys that the signers introduce (RE-5)

    def __post_init__(self) -> None:
        strictjson.require_match(self.repository, REPOSITORY_PATTERN, "repository id")
        strictjson.require_match(self.commit, COMMIT_PATTERN, "commit")
        strictjson.require_match(self.tree, COMMIT_PATTERN, "tree")
        strictjson.require_match(self.config_fingerprint, FINGERPRINT_PATTERN, "config fingerprint")
        strictjson.require_count(self.format, "format")
        strictjson.require_text(self.builder, "builder")
        _check_instant(self.built_at)
        strictjson.require_count(self.build_ms, "build_ms")
        _check_numbers(self.toc, self.totals)
        if len(self.successors) > MAX_SUCCESSORS:
            raise MalformedError(f"more than {MAX_SUCCESSORS} successors")


def encode(claim: SnapshotClaim) -> bytes:
    """The statement's bytes: the payload to sign."""
    predicate = {
        "repository": claim.repository,
        "commit": claim.commit,
        "tree": claim.tree,
        "config_fingerprint": claim.config_fingerprint,
        "format": claim.format,
        "toc": asdict(claim.toc),
        "totals": asdict(claim.totals),
        "builder": claim.builder,
        "built_at": claim.built_at,
        "build_ms": claim.build_ms,
        "successors": [key.line for key in claim.successors],
    }
    subject = {"name": f"{claim.repository}/{claim.commit}", "digest": {"sha256": claim.toc.sha256}}
    return strictjson.dump(
        {
            "_type": STATEMENT_TYPE,
            "subject": [subject],
            "predicateType": PREDICATE_TYPE,
            "predicate": predicate,
        }
    )


def decode(payload: bytes, *, limit: int) -> SnapshotClaim:
    """Read a statement; raises MalformedError unless it is exactly what `encode` could have written."""
    statement = strictjson.require_record(
        strictjson.parse(payload, limit=limit),
        ("_type", "subject", "predicateType", "predicate"),
        "statement",
    )
    if statement["_type"] != STATEMENT_TYPE or statement["predicateType"] != PREDICATE_TYPE:
        raise MalformedError("not a statement about a gitindex snapshot")
    claim = _decode_predicate(statement["predicate"])
    subject = {"name": f"{claim.repository}/{claim.commit}", "digest": {"sha256": claim.toc.sha256}}
    if statement["subject"] != [subject]:
        raise MalformedError("the statement's subject is not the snapshot it describes")
    return claim


def peek_format(payload: bytes, *, limit: int) -> int | None:
    """The format number alone, so that a newer format is reported as such instead of as malformed."""
    statement = strictjson.parse(payload, limit=limit)
    predicate = statement.get("predicate") if isinstance(statement, dict) else None
    value = predicate.get("format") if isinstance(predicate, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _decode_predicate(value: object) -> SnapshotClaim:
    fields = strictjson.require_record(value, SnapshotClaim.__dataclass_fields__, "predicate")
    toc = strictjson.require_record(fields["toc"], TocReference.__dataclass_fields__, "toc")
    totals = strictjson.require_record(fields["totals"], Totals.__dataclass_fields__, "totals")
    return SnapshotClaim(
        repository=strictjson.require_match(fields["repository"], REPOSITORY_PATTERN, "repository id"),
        commit=strictjson.require_match(fields["commit"], COMMIT_PATTERN, "commit"),
        tree=strictjson.require_match(fields["tree"], COMMIT_PATTERN, "tree"),
        config_fingerprint=strictjson.require_match(
            fields["config_fingerprint"], FINGERPRINT_PATTERN, "fingerprint"
        ),
        format=strictjson.require_count(fields["format"], "format"),
        toc=TocReference(
            sha256=strictjson.require_match(toc["sha256"], HASH_PATTERN, "toc digest"),
            size=strictjson.require_count(toc["size"], "toc size"),
            raw_sha256=strictjson.require_match(toc["raw_sha256"], HASH_PATTERN, "toc raw digest"),
            raw_size=strictjson.require_count(toc["raw_size"], "toc raw size"),
        ),
        totals=Totals(
            artifacts=strictjson.require_count(totals["artifacts"], "artifacts"),
            size=strictjson.require_count(totals["size"], "size"),
            raw_size=strictjson.require_count(totals["raw_size"], "raw_size"),
        ),
        builder=strictjson.require_text(fields["builder"], "builder"),
        built_at=strictjson.require_text(fields["built_at"], "built_at"),
        build_ms=strictjson.require_count(fields["build_ms"], "build_ms"),
        successors=_decode_successors(fields["successors"]),
    )


def _decode_successors(value: object) -> tuple[PublicKey, ...]:
    lines = strictjson.require_list(value, "successors", maximum=MAX_SUCCESSORS)
    try:
        return tuple(parse_public(strictjson.require_text(line, "successor", maximum=512)) for line in lines)
    except UsageError as error:
        raise MalformedError(f"a successor is not a public key: {error.message}") from None


def _check_numbers(toc: TocReference, totals: Totals) -> None:
    strictjson.require_match(toc.sha256, HASH_PATTERN, "toc digest")
    strictjson.require_match(toc.raw_sha256, HASH_PATTERN, "toc raw digest")
    for what, value in (
        ("toc size", toc.size),
        ("toc raw size", toc.raw_size),
        ("artifacts", totals.artifacts),
        ("total size", totals.size),
        ("total raw size", totals.raw_size),
    ):
        strictjson.require_count(value, what)


def _check_instant(value: object) -> None:
    """Require a valid time in the one format that `encode` writes, so that it can be shown and compared as text."""
    text = strictjson.require_match(value, _INSTANT_FORMAT, "built_at")
    try:
        datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")
    except ValueError:
        raise MalformedError("built_at is not a date") from None
