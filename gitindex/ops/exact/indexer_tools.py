"""`indexers`: which exact indexers are here, and getting those that can be pinned (SE-2)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from gitindex.config import Environment
from gitindex.ops.exact.refresh import tools_folder
from gitindex.semantic import tools_directory
from gitindex.semantic.indexer_run import IndexerSettings


def list_indexers(environment: Environment) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="gitindex-") as work:
        installed = tools_directory.list_tools(_make_indexer_environment(environment), Path(work))
    return {"status": "ok", "tools_folder": str(tools_folder(environment.home)), "indexers": [
        item._asdict() for item in installed
    ]}  # fmt: skip


def install(environment: Environment, names: tuple[str, ...]) -> dict[str, Any]:
    """Raises UsageError for a tool that is not ours to install, IndexerFailure when npm fails."""
    installed = tools_directory.install(names, _make_indexer_environment(environment))
    return {**list_indexers(environment), "installed": installed}


def _make_indexer_environment(environment: Environment) -> IndexerSettings:
    return IndexerSettings(tools_folder(environment.home), environment.variables)
