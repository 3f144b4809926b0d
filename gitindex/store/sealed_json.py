"""Small JSON files that contain the hash of their own content (SN-7), so that readers detect a flipped bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gitindex.model.ids import sha256_hex
from gitindex.store import atomic

_SEAL = "sha256"


def write(path: Path, value: dict[str, Any]) -> None:
    atomic.write_json(path, {**value, _SEAL: _hash_content(value)})


def verify_seal(value: object) -> dict[str, Any]:
    """The content of a sealed object, without its seal.

    Raises ValueError when the seal is missing or belongs to other content.
    """
    if not isinstance(value, dict):
        raise ValueError("not an object")
    content = {name: item for name, item in value.items() if name != _SEAL}
    if value.get(_SEAL) != _hash_content(content):
        raise ValueError("does not match its own checksum")
    return content


def _hash_content(value: dict[str, Any]) -> str:
    return sha256_hex(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())
