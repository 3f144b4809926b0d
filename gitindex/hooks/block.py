"""Our lines inside a hook file: pure functions from bytes to bytes.

Invariant: `remove(add(text)) == text` for every sh hook; any version's block is recognised by its markers.
The block comes first, right after the `#!` line: a later `exit` or `exec` cannot skip it, the other hook
keeps its exit code, its arguments and its stdin, and a dry run ends before anything foreign runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from gitindex.hooks.shim import ShimCall

VERSION = 2
SHEBANG = b"#!/bin/sh\n"
CHAINED_SUFFIX = ".gitindex-chained"

_END = b"# <<< gitindex hook <<<"
_BEGIN = re.compile(rb"# >>> gitindex hook (\d{1,9})(?: ([a-z ]{1,40}))? >>>\n")
_HANDOVER = re.compile(rb'exec "\$\{0%/\*\}/([^"/]+)" "\$@"\n')
_SH = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"})


class BlockKind(StrEnum):
    """What the file was before install; tells uninstall what to restore."""

    OWN_FILE = "own file"  # there was no file
    OWN_FOLDER = "own folder"  # there was not even a folder
    ADDED = "added"
    CHAINED = "chained"  # renamed, and run by our file


@dataclass(frozen=True)
class HookBlock:
    kind: BlockKind
    version: int
    start: int
    end: int


def render(call: ShimCall, kind: BlockKind) -> bytes:
    """The block, without a final newline."""
    lines = [
        f"# >>> gitindex hook {VERSION} {kind.value} >>>",
        "# Indexes in the background. Remove with: gitindex hooks uninstall",
        call.standalone if kind in (BlockKind.OWN_FILE, BlockKind.OWN_FOLDER) else call.embedded,
        '[ -z "${GITINDEX_PROBE-}" ] || exit 0',
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n" + _END


def render_own_file(call: ShimCall, kind: BlockKind) -> bytes:
    """A whole hook file of ours."""
    return SHEBANG + render(call, kind) + b"\n"


def render_chaining_file(call: ShimCall, chained_name: str) -> bytes:
    """A hook file of ours that runs `chained_name`, a file next to it, by exec, so that its exit code counts.

    The name is fixed, not derived from `$0`: another manager may rename this file and still run it.
    """
    return render_own_file(call, BlockKind.CHAINED) + _render_handover(chained_name)


def find_chained_name(text: bytes, hook_block: HookBlock) -> str | None:
    """The name that a chaining file runs; None when somebody edited the file, because then it is theirs."""
    match = _HANDOVER.search(text)
    if hook_block.kind is not BlockKind.CHAINED or match is None:
        return None
    chained_name = match[1].decode("utf-8", "surrogateescape")
    return chained_name if remove(text, hook_block) == SHEBANG + _render_handover(chained_name) else None


def add(text: bytes, call: ShimCall) -> bytes:
    """Insert the block into a foreign sh hook."""
    line, newline, rest = text.partition(b"\n")
    return line + b"\n" + render(call, BlockKind.ADDED) + newline + rest


def find(text: bytes) -> HookBlock | None:
    match = _BEGIN.search(text)
    end = text.find(b"\n" + _END, match.end()) if match is not None else -1
    if match is None or end < 0:
        return None
    kind_name = (match[2] or b"").decode()
    kind = BlockKind(kind_name) if kind_name in set(BlockKind) else BlockKind.ADDED
    return HookBlock(kind, int(match[1]), match.start(), end + 1 + len(_END))


def replace(text: bytes, hook_block: HookBlock, call: ShimCall) -> bytes:
    """Replace the block of another version or of another installation with the current one."""
    return text[: hook_block.start] + render(call, hook_block.kind) + text[hook_block.end :]


def remove(text: bytes, hook_block: HookBlock) -> bytes:
    """The text without the block and without the newline that came with it."""
    if text[hook_block.end : hook_block.end + 1] == b"\n":
        return text[: hook_block.start] + text[hook_block.end + 1 :]
    return text[: hook_block.start].removesuffix(b"\n") + text[hook_block.end :]


def is_first(text: bytes, hook_block: HookBlock) -> bool:
    """Whether nothing but comments comes before the block, so that running the file can be a dry run."""
    return all(not line.strip() or line.startswith(b"#") for line in text[: hook_block.start].split(b"\n"))


def is_shell(text: bytes) -> bool:
    """Whether the `#!` line names a shell that understands our block."""
    if not text.startswith(b"#!"):
        return False
    words = text.partition(b"\n")[0][2:].decode("utf-8", "replace").split(" ")
    names = [
        word.rpartition("/")[2] for word in words if word and "=" not in word and not word.startswith("-")
    ]
    return bool(names) and (names[1] if names[0] == "env" and len(names) > 1 else names[0]) in _SH


def _render_handover(chained_name: str) -> bytes:
    return f'[ ! -x "${{0%/*}}/{chained_name}" ] || exec "${{0%/*}}/{chained_name}" "$@"\n'.encode(
        "utf-8", "surrogateescape"
    )
