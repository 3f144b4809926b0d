"""`indexers`: which exact indexers are here, and getting those that can be pinned (SE-2)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from gitindex.config import Environment
from gitindex.ops.exact.refresh import tools_folder
from gitindex.semantic import tools_directory
from gitindex.semantic.indexer_run import Bench


def listing(environment: Environment) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="gitindex-") as work:
        found = tools_directory.installed(_bench(environment), Path(work))
    return {"status": "ok", "tools_folder": str(tools_folder(environment.home)), "indexers": [
        item._asdict() for item in found
    ]}  # fmt: skip


def install(environment: Environment, names: tuple[str, ...]) -> dict[str, Any]:
    """Raises UsageError for a tool that is not ours to install, IndexerFailure when npm fails."""
    done = tools_directory.install(names, _bench(environment))
    return {**listing(environment), "installed": done}


def _bench(environment: Environment) -> Bench:
    return Bench(tools_folder(environment.home), environment.variables)
