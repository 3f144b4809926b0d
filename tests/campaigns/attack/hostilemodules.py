"""A repository with a module for every name that a process of ours could import; each leaves its name, and the environment, when it runs."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.support.gitrepo import GitRepo

OURS = (
    "gitindex",
    "sitecustomize",
    "usercustomize",
    "mcp",
    "lance",
    "lancedb",
    "numpy",
    "pip",
    "_distutils_hack",
)
# What starts an indexer, says its version, and fails: enough for a job to be tried.
STUB = '#!/bin/sh\n[ "$1" = --version ] && echo 1.0.0 && exit 0\necho broken; exit 1\n'


@dataclass(frozen=True)
class Hostile:
    repo: GitRepo
    canary: Path

    @property
    def root(self) -> Path:
        return self.repo.root

    @property
    def loot(self) -> str:
        """Every environment that its modules have seen."""
        path = self.canary.with_name("loot")
        return path.read_text() if path.exists() else ""

    def imported(self) -> list[str]:
        return sorted(set(self.canary.read_text().split())) if self.canary.exists() else []


def create(where: Path) -> Hostile:
    repo, canary = GitRepo.create(where / "repo"), where / "canary"
    line = f"import sys; open({str(canary)!r}, 'a').write(__name__ + '\\n')\n"
    line += f"open({str(where / 'loot')!r}, 'a').write(repr(sys.modules['os'].environ))\n"
    names = {*sys.stdlib_module_names, *packages_distributions(), *OURS}
    for name in sorted(name for name in names if name.isidentifier()):
        repo.write(f"{name}/__init__.py", line)
    for name in ("gitindex", "pip", "multiprocessing"):
        repo.write(f"{name}/__main__.py", line)
    repo.write("pyproject.toml", "[project]\nname = 'p'\n")
    repo.commit("hostile")
    return Hostile(repo, canary)


def console_script() -> str:
    found = shutil.which("gitindex", path=os.path.dirname(sys.executable))
    assert found, "gitindex is installed beside the interpreter of the tests"
    return found


def stub_indexer(folder: Path, text: str = STUB, name: str = "scip-python") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return folder
