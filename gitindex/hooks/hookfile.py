"""One hook file: put our block in, take it out, leave everything foreign as it was (HK-4).

Decides by looking at the file itself, so it needs no record of past installs and recognises past versions.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from gitindex.errors import HookError
from gitindex.hooks import block, managers
from gitindex.hooks.block import CHAINED_SUFFIX, Kind
from gitindex.hooks.managers import Manager
from gitindex.hooks.shim import Call
from gitindex.store import atomic

_MAX_BYTES = 16 << 20  # a hook may be a compiled program
_LEGACY = ".legacy"  # pre-commit and prek run this one before their own hooks
_DISPLACED = ("", _LEGACY, ".old")  # where pre-commit and lefthook put what they found


@dataclass(frozen=True)
class Outcome:
    """One event: created, added, chained, updated, unchanged, refused, removed or restored."""

    event: str
    action: str
    where: str
    reason: str | None = None
    snippet: str | None = None


def install(folder: Path, event: str, call: Call, top: Path) -> Outcome:
    """Make `event` call us through a file in `folder`, next to whatever is there already."""
    path = folder / event
    if path.is_dir():
        return refuse(event, path, "there is a folder of that name", None, call, top)
    text = read(path)
    if text is None and not path.is_symlink():
        return _create(folder, path, event, call)
    if text is None:
        return refuse(event, path, "the link leads nowhere", None, call, top)
    if block.find(text) is not None and not path.is_symlink():
        return _update(path, event, call, text)
    match managers.wrote(text):
        case Manager.PRE_COMMIT:  # it overwrites its own file, but runs and keeps `.legacy`
            return _beside(folder, event, call, top)
        case Manager.LEFTHOOK:
            return refuse(event, path, "lefthook rewrites this file", Manager.LEFTHOOK, call, top)
    if path.is_symlink() or not os.access(path, os.X_OK) or not block.is_shell(text):
        return _chain(path, event, call, text, top)
    replace_text(path, block.add(text, call), _mode(path))
    return Outcome(event, "added", str(path))


def uninstall(folder: Path, event: str) -> list[Outcome]:
    """Take our block out of every place it may have been moved to."""
    return [done for suffix in _DISPLACED if (done := _remove(folder / (event + suffix), event)) is not None]


def holder(folder: Path, event: str) -> Path | None:
    """The file git reaches that holds our block: the hook itself, or the one pre-commit runs first."""
    text = read(folder / event)
    if text is not None and block.find(text) is not None:
        return folder / event
    legacy = read(folder / (event + _LEGACY))
    if text is None or legacy is None or managers.wrote(text) is not Manager.PRE_COMMIT:
        return None
    return folder / (event + _LEGACY) if block.find(legacy) is not None else None


def read(path: Path) -> bytes | None:
    """The bytes of a hook or of a manager's configuration; None where there is no file.

    Raises HookError for what is no file or too large for one: a link may lead to a device that never ends.
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
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            return None
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_BYTES:
            raise HookError(
                f"{path} is no file, or larger than {_MAX_BYTES >> 20} MB",
                hint=f"ls -lL {shlex.quote(str(path))}",
            )
        with open(descriptor, "rb", closefd=False) as handle:
            return handle.read(_MAX_BYTES)
    finally:
        os.close(descriptor)


def refuse(event: str, path: Path, reason: str, manager: Manager | None, call: Call, top: Path) -> Outcome:
    return Outcome(event, "refused", str(path), reason, managers.snippet(manager, event, call.among, top))


def replace_text(path: Path, text: bytes, mode: int) -> None:
    """Replace a hook whole and executable at once: a commit at this moment sees the old or the new one."""
    fresh = path.with_name(f".{path.name}.gitindex-new")
    atomic.write_bytes(fresh, text)
    fresh.chmod(mode)
    atomic.move(fresh, path)


def _create(folder: Path, path: Path, event: str, call: Call) -> Outcome:
    kind = Kind.OWN_FILE if folder.is_dir() else Kind.OWN_FOLDER
    folder.mkdir(exist_ok=True)
    replace_text(path, block.own_file(call, kind), 0o755)
    return Outcome(event, "created", str(path))


def _update(path: Path, event: str, call: Call, text: bytes) -> Outcome:
    found = block.find(text)
    assert found is not None
    fresh = block.replace(text, found, call)
    if fresh == text:
        return Outcome(event, "unchanged", str(path))
    replace_text(path, fresh, _mode(path))
    return Outcome(event, "updated", str(path))


def _beside(folder: Path, event: str, call: Call, top: Path) -> Outcome:
    done = install(folder, event + _LEGACY, call, top)
    return Outcome(event, done.action, done.where, done.reason, done.snippet)


def _chain(path: Path, event: str, call: Call, text: bytes, top: Path) -> Outcome:
    if managers.looks_at_own_name(text):
        reason = "this hook seems to look at its own name, so it cannot be moved aside"
        return refuse(event, path, reason, None, call, top)
    aside = path.with_name(path.name + CHAINED_SUFFIX)
    if os.path.lexists(aside):
        return refuse(event, path, f"{aside.name} is in the way", None, call, top)
    if not atomic.link_or_copy(path, aside):
        shutil.copymode(path, aside)
    replace_text(path, block.chaining_file(call, aside.name), 0o755)
    return Outcome(event, "chained", str(path), f"runs {aside.name}")


def _remove(path: Path, event: str) -> Outcome | None:
    text = None if path.is_symlink() else read(path)
    found = block.find(text) if text is not None else None
    if text is None or found is None:
        return None
    aside = block.chained(text, found)
    if aside is not None and os.path.lexists(path.with_name(aside)):
        atomic.move(path.with_name(aside), path)
        return Outcome(event, "restored", str(path))
    rest = block.remove(text, found)
    if found.kind in (Kind.OWN_FILE, Kind.OWN_FOLDER) and rest == block.SHEBANG:
        path.unlink()
        _drop_folder(path.parent, found.kind)
    else:
        replace_text(path, rest, _mode(path))
    return Outcome(event, "removed", str(path))


def _drop_folder(folder: Path, kind: Kind) -> None:
    if kind is Kind.OWN_FOLDER and not any(folder.iterdir()):
        folder.rmdir()


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
