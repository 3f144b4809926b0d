"""How a Python process of ours is started: the one place that says so (CF-5).

A repository may hold a `gitindex/`, a `json.py` or a `multiprocessing/` of its own. `-P` keeps the current directory off
the module path, the working directory is `/`, and module path entries that depend on a directory are dropped.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

DIRECTORY = "/"  # every child's working directory; what a child works on is named by an absolute path


def command(module: str, *arguments: str) -> list[str]:
    """Run `module` of this installation with this interpreter."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """`variables` for a child of ours: its own children are as safe, and no module path entry is relative."""
    found = {**variables, "PYTHONSAFEPATH": "1"}
    places = [place for place in found.pop("PYTHONPATH", "").split(os.pathsep) if os.path.isabs(place)]
    return {**found, **({"PYTHONPATH": os.pathsep.join(places)} if places else {})}
