"""Optional C extension for the hot loops; results are the same without it."""

from __future__ import annotations

from types import ModuleType

_VERSION = 3  # of `scan/module.c`


def _load() -> ModuleType | None:
    try:
        from gitindex.extract import _scan
    except ImportError:
        return None
    return _scan if _scan.VERSION == _VERSION else None


scan = _load()
