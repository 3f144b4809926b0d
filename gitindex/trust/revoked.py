"""Which keys were revoked, read without anything heavy: every answer about a fetched snapshot asks (QU-6, RE-5). Pure.

A key that leaked is believed by nobody, so a revocation by name counts for every repository. A key that fell with the
one that introduced it fell in one pin; another may trust it by hand. `pinjson` is the strict reader of the same file;
here only names matter, and what cannot be read vouches for nobody.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any


def is_revoked(key_id: str, trust_file: bytes | None, git_dir_uri: str = "") -> bool:
    """`trust_file`: the bytes of the trust file, None when there is none; `git_dir_uri`: the clone that was asked about."""
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
    """With the key that introduced it. Version 1 did not say which: there any revocation reaches it."""
    if any(entry["id"] == key_id for entry in pin["revoked"]):
        return True
    rotated_keys = [entry["key"] for entry in pin.get("trusted", ()) if entry.get("by_rotation")]
    return bool(pin["revoked"]) and any(_key_id(line) == key_id for line in rotated_keys)


def _key_id(line: str) -> str:
    digest = hashlib.sha256(base64.b64decode(line.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
