"""Adds our block to one hook file and removes it; everything foreign stays as it was (HK-4).

Decides by the content of the file, so it needs no record of past installs and recognises past versions.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gitindex.errors import HookError
from gitindex.hooks import block, managers
from gitindex.hooks.block import CHAINED_SUFFIX, BlockKind
from gitindex.hooks.managers import Manager
from gitindex.hooks.shim import ShimCall
from gitindex.store import atomic

_MAX_BYTES = 16 << 20  # a hook may be a compiled program
_LEGACY_SUFFIX = ".legacy"  # pre-commit and prek run this one before their own hooks
_DISPLACED_SUFFIXES = ("", _LEGACY_SUFFIX, ".old")  # what pre-commit and lefthook rename existing hooks to


@dataclass(frozen=True)
class HookOutcome:
    """One event: created, added, chained, updated, unchanged, refused, removed or restored."""

    event: str
    action: str
    where: str
    reason: str | None = None
    snippet: str | None = None


class HookTarget(NamedTuple):
    """A hook file to install into: its event, the call of the shim, and the top level of the work tree."""

    event: str
    path: Path
    call: ShimCall
    top: Path


def install(folder: Path, event: str, call: ShimCall, top: Path) -> HookOutcome:
    """Make `event` call the shim through a file in `folder`, next to the lines that are already there."""
    path = folder / event
    target = HookTarget(event, path, call, top)
    if path.is_dir():
        return refuse(target, "there is a folder of that name")
    text = read(path)
    if text is None and not path.is_symlink():
        return _create(folder, path, event, call)
    if text is None:
        return refuse(target, "the target of the link does not exist")
    if block.find(text) is not None and not path.is_symlink():
        return _update(path, event, call, text)
    match managers.detect_manager(text):
        case Manager.PRE_COMMIT:  # it overwrites its own file, but runs and keeps `.legacy`
            return _install_legacy(folder, event, call, top)
        case Manager.LEFTHOOK:
            return refuse(target, "lefthook rewrites this file", Manager.LEFTHOOK)
    if path.is_symlink() or not os.access(path, os.X_OK) or not block.is_shell(text):
        return _chain_hook(target, text)
    replace_text(path, block.add(text, call), _file_mode(path))
    return HookOutcome(event, "added", str(path))


def uninstall(folder: Path, event: str) -> list[HookOutcome]:
    """Remove our block from the hook file and from the files that managers rename it to."""
    return [
        outcome
        for suffix in _DISPLACED_SUFFIXES
        if (outcome := _remove_block(folder / (event + suffix), event)) is not None
    ]


def find_block_file(folder: Path, event: str) -> Path | None:
    """The file with our block that git runs: the hook itself, or the `.legacy` file that pre-commit runs first."""
    text = read(folder / event)
    if text is not None and block.find(text) is not None:
        return folder / event
    legacy = read(folder / (event + _LEGACY_SUFFIX))
    if text is None or legacy is None or managers.detect_manager(text) is not Manager.PRE_COMMIT:
        return None
    return folder / (event + _LEGACY_SUFFIX) if block.find(legacy) is not None else None


def read(path: Path) -> bytes | None:
    """The bytes of a hook or of a manager's configuration; None where there is no file.

    Raises HookError unless it is a regular file of a sensible size: a link may lead to a device that never ends.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError:
        raise
    except OSError as error:
        raise HookError(
            f"cannot read {path}: {error.strerror}", hint=f"ls -l {shlex.quote(str(path))}"
        ) from error
    try:
        file_stat = os.fstat(descriptor)
        if stat.S_ISDIR(file_stat.st_mode):
            return None
        if not stat.S_ISREG(file_stat.st_mode) or file_stat.st_size > _MAX_BYTES:
            raise HookError(
                f"{path} is not a regular file, or is larger than {_MAX_BYTES >> 20} MB",
                hint=f"ls -lL {shlex.quote(str(path))}",
            )
        with open(descriptor, "rb", closefd=False) as handle:
            return handle.read(_MAX_BYTES)
    finally:
        os.close(descriptor)


def refuse(target: HookTarget, reason: str, manager: Manager | None = None) -> HookOutcome:
    """The outcome for a file that we must not write, with the lines to add by hand."""
    snippet = managers.render_snippet(manager, target.event, target.call.embedded, target.top)
    return HookOutcome(target.event, "refused", str(target.path), reason, snippet)


def replace_text(path: Path, text: bytes, mode: int) -> None:
    """Replace a hook in one step, executable from the start: a commit at this moment runs the old or the new one."""
    temporary = path.with_name(f".{path.name}.gitindex-new")
    atomic.write_bytes(temporary, text)
    temporary.chmod(mode)
    atomic.move(temporary, path)


def _create(folder: Path, path: Path, event: str, call: ShimCall) -> HookOutcome:
    kind = BlockKind.OWN_FILE if folder.is_dir() else BlockKind.OWN_FOLDER
    folder.mkdir(exist_ok=True)
    replace_text(path, block.render_own_file(call, kind), 0o755)
    return HookOutcome(event, "created", str(path))


def _update(path: Path, event: str, call: ShimCall, text: bytes) -> HookOutcome:
    hook_block = block.find(text)
    assert hook_block is not None
    new_text = block.replace(text, hook_block, call)
    if new_text == text:
        return HookOutcome(event, "unchanged", str(path))
    replace_text(path, new_text, _file_mode(path))
    return HookOutcome(event, "updated", str(path))


def _install_legacy(folder: Path, event: str, call: ShimCall, top: Path) -> HookOutcome:
    outcome = install(folder, event + _LEGACY_SUFFIX, call, top)
    return HookOutcome(event, outcome.action, outcome.where, outcome.reason, outcome.snippet)


def _chain_hook(target: HookTarget, text: bytes) -> HookOutcome:
    """Rename the hook and put a file of ours in its place that runs it."""
    path = target.path
    if managers.looks_at_own_name(text):
        return refuse(target, "this hook seems to depend on its own file name, so it cannot be renamed")
    chained_path = path.with_name(path.name + CHAINED_SUFFIX)
    if os.path.lexists(chained_path):
        return refuse(target, f"{chained_path.name} already exists")
    if not atomic.link_or_copy(path, chained_path):
        shutil.copymode(path, chained_path)
    replace_text(path, block.render_chaining_file(target.call, chained_path.name), 0o755)
    return HookOutcome(target.event, "chained", str(path), f"runs {chained_path.name}")


def _remove_block(path: Path, event: str) -> HookOutcome | None:
    text = None if path.is_symlink() else read(path)
    hook_block = block.find(text) if text is not None else None
    if text is None or hook_block is None:
        return None
    chained_name = block.find_chained_name(text, hook_block)
    if chained_name is not None and os.path.lexists(path.with_name(chained_name)):
        atomic.move(path.with_name(chained_name), path)
        return HookOutcome(event, "restored", str(path))
    rest = block.remove(text, hook_block)
    if hook_block.kind in (BlockKind.OWN_FILE, BlockKind.OWN_FOLDER) and rest == block.SHEBANG:
        path.unlink()
        _drop_folder(path.parent, hook_block.kind)
    else:
        replace_text(path, rest, _file_mode(path))
    return HookOutcome(event, "removed", str(path))


def _drop_folder(folder: Path, kind: BlockKind) -> None:
    if kind is BlockKind.OWN_FOLDER and not any(folder.iterdir()):
        folder.rmdir()


def _file_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
