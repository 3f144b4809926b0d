"""Writing `.gitindex.toml`: what the user wrote stays, missing keys are added (CF-1)."""

from __future__ import annotations

import tomllib
from typing import Any

from gitindex import config
from gitindex.ops.codebase import Codebase, read_root_file
from gitindex.store import atomic


def write_settings(codebase: Codebase) -> bool:
    """Add the tables that the file does not name; True when it changed.

    Existing lines, comments included, are kept byte for byte; new tables go to the end. What no file set is a default:
    it is written as a comment, because a value would make another fingerprint and orphan the index (CF-2).
    """
    path = codebase.root / config.FILE_NAME
    existing = read_root_file(codebase.root, config.FILE_NAME) or b""
    existing_tables = tomllib.loads(existing.decode("utf-8-sig")) if existing else {}
    missing = {
        table: values for table, values in _current_tables(codebase).items() if table not in existing_tables
    }
    if not missing:
        return False
    gap = b"\n" if existing and not existing.endswith(b"\n\n") else b""
    atomic.write_bytes(path, existing + gap + _render_commented(missing).encode())
    return True


def _render_commented(tables: dict[str, dict[str, Any]]) -> str:
    import tomli_w

    lines = tomli_w.dumps(tables).splitlines(keepends=True)
    return "".join(line if line.startswith(("[", "\n")) else f"# {line}" for line in lines)


def _current_tables(codebase: Codebase) -> dict[str, dict[str, Any]]:
    index, query = codebase.settings.index, codebase.settings.query
    return {
        "index": {
            "include": list(index.include),
            "exclude": list(index.exclude),
            "untracked": index.untracked,
            "submodules": index.submodules,
        },
        "embedding": {"provider": codebase.settings.embedding.provider},
        "query": {"limit": query.limit, "per_file": query.per_file},
    }
