"""Tools that come from npm, pinned by the lock file in this package and installed below our tools
directory.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from importlib import resources
from pathlib import Path
from typing import ClassVar

from gitindex.semantic.indexers.adapter import Indexer, Program, Run

COMPLETE = ".complete"
_FILES = ("package.json", "package-lock.json")


def manifest() -> dict[str, bytes]:
    """package.json and its lock file, as shipped."""
    folder = resources.files("gitindex.semantic.indexers") / "npm"
    return {name: (folder / name).read_bytes() for name in _FILES}


def home(tools: Path) -> Path:
    """Where this release's pinned set lives; another set of pins is another directory."""
    digest = hashlib.sha256(b"\0".join(manifest().values())).hexdigest()
    return tools / f"npm-{digest[:12]}"


class NpmIndexer(Indexer):
    package: ClassVar[str]
    entry: ClassVar[str]  # script within the package

    def find(self, tools: Path, path: str) -> Program | None:
        node = shutil.which("node", path=path)
        folder = home(tools) / "node_modules" / self.package
        if node and (home(tools) / COMPLETE).exists() and (folder / self.entry).exists():
            version = str(json.loads((folder / "package.json").read_bytes())["version"])
            return Program((node, str(folder / self.entry)), "managed", version)
        return super().find(tools, path)

    def node_words(self, program: Program, run: Run) -> list[str]:
        """node takes its heap size before the script; a wrapper on PATH gets it from NODE_OPTIONS."""
        if program.source != "managed":
            return list(program.words)
        node, *rest = program.words
        return [node, f"--max-old-space-size={run.heap_megabytes}", *rest]
