"""Tells whether a key is revoked, with few imports: every answer from a fetched snapshot asks (QU-6, RE-5). Pure.

A revocation by name counts for every repository, because the key may have leaked. A key that was revoked together with
its introducer is revoked in that pin only; another pin may trust it by hand. `pinjson` is the strict reader of the same
file; this one reads key ids only, and treats every key as revoked when it cannot.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any


def is_revoked(key_id: str, trust_file: bytes | None, git_dir_uri: str = "") -> bool:
    """`trust_file` is the content of the trust file, None when it does not exist; `git_dir_uri` names the clone."""
    if trust_file is None:
        return False
    try:
        parsed = json.loads(trust_file)
        repository_pins = list(parsed["repositories"].values())
        clones = list(parsed.get("clones", {}).values())
        clone_pins = [clone["pin"] for clone in clones if clone["where"] == git_dir_uri]
        all_pins = [*repository_pins, *(clone["pin"] for clone in clones)]
        return any(_is_revoked_by_name(key_id, pin) for pin in all_pins) or any(
            _is_revoked_in_pin(key_id, pin) for pin in clone_pins or repository_pins
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return True


def _is_revoked_by_name(key_id: str, pin: dict[str, Any]) -> bool:
    return any(entry["id"] == key_id and not entry.get("through") for entry in pin["revoked"])


def _is_revoked_in_pin(key_id: str, pin: dict[str, Any]) -> bool:
    """Whether the pin revokes the key. Version 1 recorded no introducers: any revocation revokes a rotated key."""
    if any(entry["id"] == key_id for entry in pin["revoked"]):
        return True
    rotated_keys = [entry["key"] for entry in pin.get("trusted", ()) if entry.get("by_rotation")]
    return bool(pin["revoked"]) and any(_key_id(line) == key_id for line in rotated_keys)


def _key_id(line: str) -> str:
    digest = hashlib.sha256(base64.b64decode(line.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
