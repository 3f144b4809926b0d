"""Runs inside aider's own environment: makes its repo map twice and prints what that took."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

from aider.io import InputOutput
from aider.repomap import RepoMap


class Counter:
    """A stand-in for the model: the map only asks it to count tokens."""

    def token_count(self, text: str) -> float:
        return len(text) / 4


def timed(root: Path, files: list[str]) -> float:
    started = time.perf_counter()
    made = RepoMap(map_tokens=1024, root=str(root), main_model=Counter(), io=InputOutput(yes=True))
    if not made.get_repo_map([], files):
        raise SystemExit("aider made no map")
    return time.perf_counter() - started


def main(root: Path) -> dict[str, float]:
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=True
    ).stdout
    files = [str(root / name) for name in listed.decode().split("\0") if name and (root / name).is_file()]
    built = timed(root, files)
    again = timed(root, files)
    with (root / "django/views/generic/list.py").open("a") as handle:
        handle.write("\n\ndef driven():\n    return 1\n")
    return {"index": built, "query": again, "update": timed(root, files)}


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(main(Path(sys.argv[1]))) + "\n")
