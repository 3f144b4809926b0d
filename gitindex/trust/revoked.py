"""Which keys were revoked, read without anything heavy: every answer about a fetched snapshot asks (QU-6, RE-5). Pure.

A key that leaked is believed by nobody, so a revocation for any repository counts. `pinfile` is the strict reader of
the same file; here only names matter, and what cannot be read vouches for nobody.
"""

from __future__ import annotations

import json


def is_revoked(key_id: str, pins: bytes | None) -> bool:
    """`pins`: the bytes of the trust file, None when there is none."""
    if pins is None:
        return False
    try:
        repositories = json.loads(pins)["repositories"].values()
        return any(entry["id"] == key_id for trust in repositories for entry in trust["revoked"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return True
