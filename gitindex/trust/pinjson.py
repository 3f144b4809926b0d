"""The file of pins as JSON. Pure. An entry that is not what we write is damaged for itself, not for all others.

Version 1 knew one pin per id and not who introduced a key; it is read, never written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from gitindex.errors import UsageError
from gitindex.model.versions import TRUST_FILE_VERSION
from gitindex.trust import strictjson
from gitindex.trust.claim import REPOSITORY
from gitindex.trust.keys import parse_public
from gitindex.trust.pins import (
    MAX_THRESHOLD,
    MAX_TRUSTED,
    MAX_URL,
    RepositoryTrust,
    RevokedKey,
    TrustedKey,
    settle,
)
from gitindex.trust.private_file import MAX_BYTES
from gitindex.trust.scopes import ClonePin, Damaged, Pins
from gitindex.trust.strictjson import MalformedError

MARK = re.compile(r"[0-9a-f]{32}")
_MAX_REVOKED = 4096
_MAX_INTRODUCERS = 16
_KEY_ID = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
Entry = TypeVar("Entry")


def encode(pins: Pins) -> bytes:
    """Raises MalformedError rather than write what `decode` would call damaged."""
    data = strictjson.dump(
        {
            "version": TRUST_FILE_VERSION,
            "repositories": _encoded(pins.repositories, _encode_pin),
            "clones": _encoded(pins.clones, _encode_clone),
        }
    )
    read = decode(data)
    for before, after in ((pins.repositories, read.repositories), (pins.clones, read.clones)):
        for name, entry in after.items():
            if isinstance(entry, Damaged) and not isinstance(before[name], Damaged):
                raise MalformedError(entry.why)
    return data


def decode(data: bytes) -> Pins:
    """Raises MalformedError when the file as a whole is not ours."""
    parsed = strictjson.parse(data, limit=MAX_BYTES)
    version = parsed.get("version") if isinstance(parsed, dict) else None
    if version == 1:
        fields = strictjson.record(parsed, ("version", "repositories"), "trust file")
        return Pins(_decoded(fields["repositories"], REPOSITORY, _decode_old))
    fields = strictjson.record(parsed, ("version", "repositories", "clones"), "trust file")
    if version != TRUST_FILE_VERSION:
        raise MalformedError(f"its version is {version!r}, this release reads up to {TRUST_FILE_VERSION}")
    return Pins(
        _decoded(fields["repositories"], REPOSITORY, _decode_pin),
        _decoded(fields["clones"], MARK, _decode_clone),
    )


def _encoded(
    entries: Mapping[str, Entry | Damaged], encode_one: Callable[[Entry], dict[str, object]]
) -> dict[str, object]:
    return {
        name: entry.raw if isinstance(entry, Damaged) else encode_one(entry)
        for name, entry in entries.items()
    }


def _decoded(
    value: object, names: re.Pattern[str], decode_one: Callable[[object], Entry]
) -> dict[str, Entry | Damaged]:
    if not isinstance(value, dict):
        raise MalformedError("repositories or clones is not an object")
    found: dict[str, Entry | Damaged] = {}
    for name, raw in value.items():
        try:
            strictjson.matching(name, names, "name of the entry")
            found[name] = decode_one(raw)
        except MalformedError as error:
            found[name] = Damaged(raw, str(error))
    return found


def _encode_clone(pin: ClonePin) -> dict[str, object]:
    return {"repository": pin.repository, "where": pin.where, "pin": _encode_pin(pin.trust)}


def _encode_pin(trust: RepositoryTrust) -> dict[str, object]:
    return {
        "remote": trust.remote,
        "endpoint": trust.endpoint,
        "threshold": trust.threshold,
        "trusted": [
            {
                "key": entry.key.line,
                "added": entry.added,
                "by_hand": entry.by_hand,
                "introduced_by": list(entry.introduced_by),
            }
            for entry in trust.trusted
        ],
        "revoked": [
            {"id": entry.id, "comment": entry.comment, "revoked": entry.revoked, "through": entry.through}
            for entry in trust.revoked
        ],
    }


def _decode_clone(value: object) -> ClonePin:
    fields = strictjson.record(value, ("repository", "where", "pin"), "clone")
    return ClonePin(
        strictjson.matching(fields["repository"], REPOSITORY, "repository id"),
        strictjson.text(fields["where"], "where", most=4 * MAX_URL),
        _decode_pin(fields["pin"]),
    )


def _decode_old(value: object) -> RepositoryTrust:
    return _pin(value, _old_trusted, _old_revoked)


def _decode_pin(value: object) -> RepositoryTrust:
    return _pin(value, _trusted, _revoked)


def _pin(
    value: object, trusted: Callable[[object], TrustedKey], revoked: Callable[[object], RevokedKey]
) -> RepositoryTrust:
    fields = strictjson.record(value, RepositoryTrust.__dataclass_fields__, "repository")
    threshold = strictjson.count(fields["threshold"], "threshold", most=MAX_THRESHOLD)
    if not threshold:
        raise MalformedError("a threshold of 0 would trust everybody")
    return settle(
        RepositoryTrust(
            strictjson.text(fields["remote"], "remote", most=MAX_URL),
            strictjson.text(fields["endpoint"], "endpoint", most=MAX_URL),
            threshold,
            tuple(map(trusted, strictjson.items(fields["trusted"], "trusted", most=MAX_TRUSTED))),
            tuple(map(revoked, strictjson.items(fields["revoked"], "revoked", most=_MAX_REVOKED))),
        )
    )


def _trusted(value: object) -> TrustedKey:
    fields = strictjson.record(value, ("key", "added", "by_hand", "introduced_by"), "trusted key")
    listed = strictjson.items(fields["introduced_by"], "introduced_by", most=_MAX_INTRODUCERS)
    introduced_by = tuple(strictjson.matching(one, _KEY_ID, "key id") for one in listed)
    return _trusted_key(fields, _flag(fields["by_hand"], "by_hand"), introduced_by)


def _old_trusted(value: object) -> TrustedKey:
    fields = strictjson.record(value, ("key", "added", "by_rotation"), "trusted key")
    return _trusted_key(fields, not _flag(fields["by_rotation"], "by_rotation"), ())


def _trusted_key(fields: Mapping[str, object], by_hand: bool, introduced_by: tuple[str, ...]) -> TrustedKey:
    try:
        key = parse_public(strictjson.text(fields["key"], "key", most=512))
    except UsageError as error:
        raise MalformedError(error.message) from None
    return TrustedKey(key, strictjson.matching(fields["added"], _DATE, "date"), by_hand, introduced_by)


def _revoked(value: object) -> RevokedKey:
    fields = strictjson.record(value, ("id", "comment", "revoked", "through"), "revoked key")
    through = fields["through"]
    return _revoked_key(fields, strictjson.matching(through, _KEY_ID, "key id") if through != "" else "")


def _old_revoked(value: object) -> RevokedKey:
    return _revoked_key(strictjson.record(value, ("id", "comment", "revoked"), "revoked key"), "")


def _revoked_key(fields: Mapping[str, object], through: str) -> RevokedKey:
    return RevokedKey(
        strictjson.matching(fields["id"], _KEY_ID, "key id"),
        strictjson.text(fields["comment"], "comment"),
        strictjson.matching(fields["revoked"], _DATE, "date"),
        through,
    )


def _flag(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise MalformedError(f"{what} is not true or false")
    return value
