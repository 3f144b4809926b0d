"""What a user gives to indexers, checked before a job is queued: installed packages and limits."""

from __future__ import annotations

from pathlib import Path

from gitindex.semantic import nodemodules, pythonenv
from gitindex.semantic.process import Caps

_GIB = 1024**3


def locate_python_env(directory: Path | None) -> Path | None:
    """The Python environment in `directory`. Raises UsageError for a directory that is none."""
    return pythonenv.locate(directory) if directory else None


def locate_node_modules(directory: Path | None) -> Path | None:
    """`directory` itself or the `node_modules` in it. Raises UsageError when neither holds packages."""
    return nodemodules.locate(directory) if directory else None


def make_caps(*, seconds: float, memory_gib: float) -> Caps:
    """Limits of one indexer run."""
    return Caps(seconds=seconds, memory_bytes=int(memory_gib * _GIB))


def memory_gib(caps: Caps) -> float:
    """The memory limit in the unit of `--memory`."""
    return caps.memory_bytes / _GIB
