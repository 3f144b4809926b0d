"""Encodes and decodes the trust file. Pure. A malformed entry becomes a `DamagedEntry`; the others stay readable.

Version 1 had one pin per repository id and no introducers of keys; it is read, never written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from gitindex.errors import UsageError
from gitindex.model.versions import TRUST_FILE_VERSION
from gitindex.trust import strictjson
from gitindex.trust.claim import REPOSITORY_PATTERN
from gitindex.trust.keys import parse_public
from gitindex.trust.pins import (
    MAX_THRESHOLD,
    MAX_TRUSTED,
    MAX_URL,
    RepositoryTrust,
    RevokedKey,
    TrustedKey,
    apply_revocations,
)
from gitindex.trust.private_file import MAX_BYTES
from gitindex.trust.scopes import ClonePin, DamagedEntry, Pins
from gitindex.trust.strictjson import MalformedError

MARK = re.compile(r"[0-9a-f]{32}")  # of a clone, see `scopes.Clone`
_MAX_REVOKED = 4096
_MAX_INTRODUCERS = 16
_KEY_ID = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
Entry = TypeVar("Entry")


def encode(pins: Pins) -> bytes:
    """The file's bytes. Raises MalformedError for an entry that `decode` would call damaged."""
    data = strictjson.dump(
        {
            "version": TRUST_FILE_VERSION,
            "repositories": _encode_entries(pins.repositories, _encode_pin),
            "clones": _encode_entries(pins.clones, _encode_clone),
        }
    )
    reread_pins = decode(data)
    for written_entries, reread_entries in (
        (pins.repositories, reread_pins.repositories),
        (pins.clones, reread_pins.clones),
    ):
        for name, entry in reread_entries.items():
            if isinstance(entry, DamagedEntry) and not isinstance(written_entries[name], DamagedEntry):
                raise MalformedError(entry.why)
    return data


def decode(data: bytes) -> Pins:
    """Raises MalformedError when the file as a whole is malformed."""
    parsed = strictjson.parse(data, limit=MAX_BYTES)
    version = parsed.get("version") if isinstance(parsed, dict) else None
    if version == 1:
        fields = strictjson.require_record(parsed, ("version", "repositories"), "trust file")
        return Pins(_decode_entries(fields["repositories"], REPOSITORY_PATTERN, _decode_pin_v1))
    fields = strictjson.require_record(parsed, ("version", "repositories", "clones"), "trust file")
    if version != TRUST_FILE_VERSION:
        raise MalformedError(f"its version is {version!r}, this release reads up to {TRUST_FILE_VERSION}")
    return Pins(
        _decode_entries(fields["repositories"], REPOSITORY_PATTERN, _decode_pin),
        _decode_entries(fields["clones"], MARK, _decode_clone),
    )


def _encode_entries(
    entries: Mapping[str, Entry | DamagedEntry], encode_entry: Callable[[Entry], dict[str, object]]
) -> dict[str, object]:
    return {
        name: entry.raw if isinstance(entry, DamagedEntry) else encode_entry(entry)
        for name, entry in entries.items()
    }


def _decode_entries(
    value: object, name_pattern: re.Pattern[str], decode_entry: Callable[[object], Entry]
) -> dict[str, Entry | DamagedEntry]:
    if not isinstance(value, dict):
        raise MalformedError("repositories or clones is not an object")
    entries: dict[str, Entry | DamagedEntry] = {}
    for name, raw in value.items():
        try:
            strictjson.require_match(name, name_pattern, "name of the entry")
            entries[name] = decode_entry(raw)
        except MalformedError as error:
            entries[name] = DamagedEntry(raw, str(error))
    return entries


def _encode_clone(pin: ClonePin) -> dict[str, object]:
    return {"repository": pin.repository, "where": pin.git_dir_uri, "pin": _encode_pin(pin.trust)}


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
    fields = strictjson.require_record(value, ("repository", "where", "pin"), "clone")
    return ClonePin(
        repository=strictjson.require_match(fields["repository"], REPOSITORY_PATTERN, "repository id"),
        git_dir_uri=strictjson.require_text(fields["where"], "where", maximum=4 * MAX_URL),
        trust=_decode_pin(fields["pin"]),
    )


def _decode_pin_v1(value: object) -> RepositoryTrust:
    return _decode_trust(value, _decode_trusted_key_v1, _decode_revoked_key_v1)


def _decode_pin(value: object) -> RepositoryTrust:
    return _decode_trust(value, _decode_trusted_key, _decode_revoked_key)


def _decode_trust(
    value: object,
    decode_trusted: Callable[[object], TrustedKey],
    decode_revoked: Callable[[object], RevokedKey],
) -> RepositoryTrust:
    fields = strictjson.require_record(value, RepositoryTrust.__dataclass_fields__, "repository")
    threshold = strictjson.require_count(fields["threshold"], "threshold", maximum=MAX_THRESHOLD)
    if not threshold:
        raise MalformedError("a threshold of 0 would trust everybody")
    trusted = strictjson.require_list(fields["trusted"], "trusted", maximum=MAX_TRUSTED)
    revoked = strictjson.require_list(fields["revoked"], "revoked", maximum=_MAX_REVOKED)
    return apply_revocations(
        RepositoryTrust(
            remote=strictjson.require_text(fields["remote"], "remote", maximum=MAX_URL),
            endpoint=strictjson.require_text(fields["endpoint"], "endpoint", maximum=MAX_URL),
            threshold=threshold,
            trusted=tuple(map(decode_trusted, trusted)),
            revoked=tuple(map(decode_revoked, revoked)),
        )
    )


def _decode_trusted_key(value: object) -> TrustedKey:
    fields = strictjson.require_record(value, ("key", "added", "by_hand", "introduced_by"), "trusted key")
    introducers = strictjson.require_list(fields["introduced_by"], "introduced_by", maximum=_MAX_INTRODUCERS)
    introduced_by = tuple(strictjson.require_match(key_id, _KEY_ID, "key id") for key_id in introducers)
    return _make_trusted_key(fields, _require_flag(fields["by_hand"], "by_hand"), introduced_by)


def _decode_trusted_key_v1(value: object) -> TrustedKey:
    fields = strictjson.require_record(value, ("key", "added", "by_rotation"), "trusted key")
    return _make_trusted_key(fields, not _require_flag(fields["by_rotation"], "by_rotation"), ())


def _make_trusted_key(
    fields: Mapping[str, object], by_hand: bool, introduced_by: tuple[str, ...]
) -> TrustedKey:
    try:
        key = parse_public(strictjson.require_text(fields["key"], "key", maximum=512))
    except UsageError as error:
        raise MalformedError(error.message) from None
    return TrustedKey(key, strictjson.require_match(fields["added"], _DATE, "date"), by_hand, introduced_by)


def _decode_revoked_key(value: object) -> RevokedKey:
    fields = strictjson.require_record(value, ("id", "comment", "revoked", "through"), "revoked key")
    through = fields["through"]
    introducer = strictjson.require_match(through, _KEY_ID, "key id") if through != "" else ""
    return _make_revoked_key(fields, introducer)


def _decode_revoked_key_v1(value: object) -> RevokedKey:
    fields = strictjson.require_record(value, ("id", "comment", "revoked"), "revoked key")
    return _make_revoked_key(fields, "")


def _make_revoked_key(fields: Mapping[str, object], through: str) -> RevokedKey:
    return RevokedKey(
        id=strictjson.require_match(fields["id"], _KEY_ID, "key id"),
        comment=strictjson.require_text(fields["comment"], "comment"),
        revoked=strictjson.require_match(fields["revoked"], _DATE, "date"),
        through=through,
    )


def _require_flag(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise MalformedError(f"{what} is not true or false")
    return value
