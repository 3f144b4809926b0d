"""`PathKey`: the one spelling under which a path of a codebase is compared, stored and shown (EL-2). Pure.

Git and file systems spell paths as bytes, in any Unicode normalisation. Those bytes are converted here and nowhere
else; they stay beside the key wherever the file itself must be opened.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import NewType

from gitindex.errors import UnsafePath

PathKey = NewType("PathKey", str)


def path_key(raw: bytes | str) -> PathKey:
    """Relative, `/`, no `.` or `..`, UTF-8, NFC.

    Raises UnsafePath for anything that has no such spelling (not UTF-8, absolute, escaping, empty).
    """
    text = _decode(raw)
    if not text or text.startswith("/") or "\0" in text:
        raise UnsafePath(f"not a path inside the codebase: {text!r}")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise UnsafePath(f"path leaves the codebase: {text!r}")
    return PathKey(unicodedata.normalize("NFC", "/".join(parts)))


def escaped_key(raw: bytes) -> PathKey:
    """Stands for a path that `path_key` refuses, in the record of its skip and in the overlay."""
    return PathKey(raw.decode("utf-8", "backslashreplace"))


def recorded_key(raw: bytes) -> PathKey:
    """The key under which an index records this path, whether or not it can index it."""
    try:
        return path_key(raw)
    except UnsafePath:
        return escaped_key(raw)


def split_target(target: bytes) -> list[str]:
    """The components of a symlink's target, spelled as path keys spell them. Raises UnsafePath unless it is UTF-8."""
    return unicodedata.normalize("NFC", _decode(target)).split("/")


def join_key(components: Iterable[str]) -> PathKey:
    """A key from components of keys, or of `split_target`."""
    return PathKey("/".join(components))


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
