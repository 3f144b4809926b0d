"""`path_key`: the one spelling of a path inside a codebase (EL-2). Pure."""

from __future__ import annotations

import unicodedata

from gitindex.errors import UnsafePath


def path_key(raw: bytes | str) -> str:
    """Relative, `/`, no `.` or `..`, UTF-8, NFC.

    Raises UnsafePath for anything that has no such spelling (not UTF-8, absolute, escaping, empty).
    """
    text = _decode(raw)
    if not text or text.startswith("/") or "\0" in text:
        raise UnsafePath(f"not a path inside the codebase: {text!r}")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise UnsafePath(f"path leaves the codebase: {text!r}")
    return unicodedata.normalize("NFC", "/".join(parts))


def casefold_key(key: str) -> str:
    """`path_key_ci`: equal for two paths that one case-insensitive file system cannot hold both of."""
    return unicodedata.normalize("NFC", key.casefold())


def _decode(raw: bytes | str) -> str:
    if isinstance(raw, str):
        try:
            raw.encode("utf-8")
        except UnicodeEncodeError as error:
            raise UnsafePath(f"path is not UTF-8: {raw!r}") from error
        return raw
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnsafePath(f"path is not UTF-8: {raw!r}") from error
