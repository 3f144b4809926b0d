"""Our lines inside a hook file: pure functions from bytes to bytes.

Invariant: `remove(add(text)) == text` for every sh hook; any version's block is recognised by its markers.
The block comes first, right after the `#!` line: a later `exit` or `exec` cannot cut us off, the other hook
keeps its exit code, its arguments and its stdin, and a dry run ends before anything foreign runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from gitindex.hooks.shim import Call

VERSION = 2
SHEBANG = b"#!/bin/sh\n"
CHAINED_SUFFIX = ".gitindex-chained"

_END = b"# <<< gitindex hook <<<"
_BEGIN = re.compile(rb"# >>> gitindex hook (\d{1,9})(?: ([a-z ]{1,40}))? >>>\n")
_HANDOVER = re.compile(rb'exec "\$\{0%/\*\}/([^"/]+)" "\$@"\n')
_SH = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"})


class Kind(StrEnum):
    """What the file was before us; tells uninstall what to leave behind."""

    OWN_FILE = "own file"  # there was none
    OWN_FOLDER = "own folder"  # not even the folder
    ADDED = "added"
    CHAINED = "chained"  # moved aside, and run by us


@dataclass(frozen=True)
class Found:
    kind: Kind
    version: int
    start: int
    end: int


def render(call: Call, kind: Kind) -> bytes:
    """The block, without a final newline."""
    lines = [
        f"# >>> gitindex hook {VERSION} {kind.value} >>>",
        "# Indexes in the background. Remove with: gitindex hooks uninstall",
        call.alone if kind in (Kind.OWN_FILE, Kind.OWN_FOLDER) else call.among,
        '[ -z "${GITINDEX_PROBE-}" ] || exit 0',
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n" + _END


def own_file(call: Call, kind: Kind) -> bytes:
    """A whole hook file of ours."""
    return SHEBANG + render(call, kind) + b"\n"


def chaining_file(call: Call, aside: str) -> bytes:
    """A hook file of ours that hands over to `aside`, a file next to it, by exec, so its exit code counts.

    The name is fixed, not derived from `$0`: another manager may rename this file and still run it.
    """
    return own_file(call, Kind.CHAINED) + _handover(aside)


def chained(text: bytes, found: Found) -> str | None:
    """The name a chaining file hands over to; None when somebody edited it, because then it is theirs."""
    match = _HANDOVER.search(text)
    if found.kind is not Kind.CHAINED or match is None:
        return None
    aside = match[1].decode("utf-8", "surrogateescape")
    return aside if remove(text, found) == SHEBANG + _handover(aside) else None


def add(text: bytes, call: Call) -> bytes:
    """Insert the block into a foreign sh hook."""
    line, newline, rest = text.partition(b"\n")
    return line + b"\n" + render(call, Kind.ADDED) + newline + rest


def find(text: bytes) -> Found | None:
    match = _BEGIN.search(text)
    end = text.find(b"\n" + _END, match.end()) if match is not None else -1
    if match is None or end < 0:
        return None
    named = (match[2] or b"").decode()
    kind = Kind(named) if named in set(Kind) else Kind.ADDED
    return Found(kind, int(match[1]), match.start(), end + 1 + len(_END))


def replace(text: bytes, found: Found, call: Call) -> bytes:
    """Bring the block of another version, or of another installation, up to date."""
    return text[: found.start] + render(call, found.kind) + text[found.end :]


def remove(text: bytes, found: Found) -> bytes:
    """The text without the block and without the newline that came with it."""
    if text[found.end : found.end + 1] == b"\n":
        return text[: found.start] + text[found.end + 1 :]
    return text[: found.start].removesuffix(b"\n") + text[found.end :]


def is_first(text: bytes, found: Found) -> bool:
    """Whether nothing but comments comes before the block, so that running the file can be a dry run."""
    return all(not line.strip() or line.startswith(b"#") for line in text[: found.start].split(b"\n"))


def is_shell(text: bytes) -> bool:
    """Whether the `#!` line names a shell that understands our block."""
    if not text.startswith(b"#!"):
        return False
    words = text.partition(b"\n")[0][2:].decode("utf-8", "replace").split(" ")
    names = [
        word.rpartition("/")[2] for word in words if word and "=" not in word and not word.startswith("-")
    ]
    return bool(names) and (names[1] if names[0] == "env" and len(names) > 1 else names[0]) in _SH


def _handover(aside: str) -> bytes:
    return f'[ ! -x "${{0%/*}}/{aside}" ] || exec "${{0%/*}}/{aside}" "$@"\n'.encode(
        "utf-8", "surrogateescape"
    )
