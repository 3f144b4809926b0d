"""Django's exact index by the real indexer, made once and timed: making it anew for every run would take hours."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import alone, child, environment, gitindex, show


@dataclass(frozen=True)
class Recording:
    path: Path
    tool: str
    seconds: float  # that making it took

    def __str__(self) -> str:
        return f"{self.tool} {show(self.seconds)} as recorded on first use, import measured"


def recorded(root: Path, cache: Path) -> Recording:
    """By the pinned scip-python, on first use."""
    target = cache / "scip" / "django-5.2.scip"
    about = target.with_suffix(".json")
    if not (target.exists() and about.exists()):
        home = cache / "homes" / "indexers"
        child(gitindex("sync", "--json"), root, environment(home))
        child(gitindex("indexers", "install", "python"), root, environment(home))
        target.parent.mkdir(parents=True, exist_ok=True)
        made = alone("semantic", root, home, "index", root, target)
        about.write_text(json.dumps({"tool": "scip-python", "seconds": made["seconds"]}))
    known = json.loads(about.read_text())
    return Recording(target, known["tool"], known["seconds"])
