"""Indexers from npm, pinned by the lock file in this package and installed below the tools directory."""

from __future__ import annotations

import hashlib
import json
import shutil
from importlib import resources
from pathlib import Path
from typing import ClassVar

from gitindex.semantic.indexers.adapter import Indexer, IndexerRun, Program

COMPLETE_MARKER = ".complete"
_PACKAGE_FILES = ("package.json", "package-lock.json")


def read_package_files() -> dict[str, bytes]:
    """package.json and its lock file, as this package ships them."""
    folder = resources.files("gitindex.semantic.indexers") / "npm"
    return {name: (folder / name).read_bytes() for name in _PACKAGE_FILES}


def install_directory(tools: Path) -> Path:
    """The directory of the pinned tools of this release; other pins have another directory."""
    digest = hashlib.sha256(b"\0".join(read_package_files().values())).hexdigest()
    return tools / f"npm-{digest[:12]}"


class NpmIndexer(Indexer):
    package: ClassVar[str]
    entry: ClassVar[str]  # script within the package

    def find(self, tools: Path, path: str) -> Program | None:
        node = shutil.which("node", path=path)
        folder = install_directory(tools) / "node_modules" / self.package
        if node and (install_directory(tools) / COMPLETE_MARKER).exists() and (folder / self.entry).exists():
            version = str(json.loads((folder / "package.json").read_bytes())["version"])
            return Program((node, str(folder / self.entry)), "managed", version)
        return super().find(tools, path)

    def node_command(self, program: Program, run: IndexerRun) -> list[str]:
        """How a command line starts. node takes its heap size as an option, a wrapper on PATH from NODE_OPTIONS."""
        if program.source != "managed":
            return list(program.argv)
        node, *arguments = program.argv
        return [node, f"--max-old-space-size={run.heap_megabytes}", *arguments]
