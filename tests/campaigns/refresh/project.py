"""A small Python project with a recording scip-python that answers with real SCIP bytes made from its own files."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from gitindex.config import Environment
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.exact.refresh import RefreshOptions, RefreshReport, refresh
from gitindex.ops.syncing.sync import SyncOptions, sync
from gitindex.semantic.process import Caps
from tests.scip import writer
from tests.semantic.recorder import Recorder
from tests.support.gitrepo import GitRepo

FILES = {
    "pyproject.toml": '[project]\nname = "demo"\n',
    "shapes.py": "class Shape:\n    def area(self):\n        return 0\n\n\nclass Disc(Shape):\n"
    "    def area(self):\n        return 3\n",
    "report.py": "from shapes import Disc\n\n\ndef total():\n    disc = Disc()\n    return disc.area()\n\n\n"
    "def show():\n    return total()\n",
    "other.py": "def lonely():\n    return 1\n",
    "README.md": "# Demo\n",
}
PACKAGE = "scip-python python project _ "
_TOKEN = re.compile(r"[A-Za-z_]\w*")


def symbol(module: str, tail: str) -> str:
    return f"{PACKAGE}`{module}`/{tail}"


# Name → symbol per file; a name absent here has no occurrence. `area` in report.py means Disc's.
MEANT = {
    "shapes.py": {"Shape": ("shapes", "Shape#"), "Disc": ("shapes", "Disc#")},
    "report.py": {
        "Disc": ("shapes", "Disc#"),
        "total": ("report", "total()."),
        "show": ("report", "show()."),
        "area": ("shapes", "Disc#area()."),
    },
    "other.py": {"lonely": ("other", "lonely().")},
}


def document(path: str, text: str) -> Any:
    """Occurrences of the names in MEANT, definitions where a def or class stands before them."""
    found, told = [], []
    owner = ""
    for row, line in enumerate(text.split("\n")):
        defines = re.match(r"\s*(?:def|class) (\w+)", line)
        for token in _TOKEN.finditer(line):
            name = token[0]
            meant = MEANT.get(path, {}).get(name)
            if path == "shapes.py" and name == "area":
                meant = ("shapes", f"{owner}#area().")
            if meant is None:
                continue
            text_symbol = symbol(*meant)
            here = bool(defines) and token.start() == defines.start(1)
            if here and name[0].isupper():
                owner = name
            span = (row, token.start(), token.end())
            found.append(writer.occurrence(text_symbol, span, 1 if here else 8))
            if here:
                links = []
                if (owner, name) == ("Disc", "area"):
                    links = [(symbol("shapes", "Shape#area()."), {"is_implementation": True})]
                about = f"```python\ndef {name}()\n```"
                told.append(writer.information(text_symbol, about, f"About {name}.", links=links))
    return writer.document(path, found, told)


def scip_of(files: dict[str, str]) -> bytes:
    documents = [document(path, text) for path, text in files.items() if path.endswith(".py")]
    return writer.index(*documents, tool="scip-python", version="0.6.6")


class Project:
    """A repository, its home, and the tool that indexes it."""

    def __init__(self, where: Path, files: dict[str, str] | None = None) -> None:
        self.repo = GitRepo.create(where / "repo")
        self.files = dict(files or FILES)
        self.repo.commit("first", **self.files)
        self.tool = Recorder(where / "bin", "scip-python")
        self.home = where / "index"
        self.answer()

    def answer(self, data: bytes | None = None, **step: Any) -> None:
        self.tool.plan(step, scip=scip_of(self.files) if data is None else data)

    def change(self, path: str, text: str) -> None:
        self.files[path] = text
        self.repo.commit("change", **{path: text})
        self.answer()

    @property
    def codebase(self) -> Codebase:
        variables = {**os.environ, "PATH": self.tool.path}
        return open_codebase(self.repo.root, Environment(self.home, variables=variables))

    def sync(self) -> None:
        sync(self.codebase, SyncOptions(workers=1))

    def refresh(self, **options: Any) -> RefreshReport:
        caps = options.pop("caps", Caps(seconds=30))
        return refresh(self.codebase, RefreshOptions(wait=True, caps=caps, **options))
