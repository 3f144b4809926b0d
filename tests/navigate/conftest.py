"""A project in several languages with the traps that name matching falls into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.gitrepo import GitRepo
from tests.support.harness import Ran, cli, index

FILES = {
    "pkg/__init__.py": "",
    "pkg/store.py": (
        "LIMIT = 10\n\n\n"
        "class Base:\n"
        "    def close(self):\n"
        "        pass\n\n\n"
        "class Store(Base):\n"
        '    """Keeps things."""\n\n'
        "    def save(self, item):\n"
        "        self.check(item)\n"
        "        self.close()\n"
        "        return write(item)\n\n"
        "    def check(self, item):\n"
        "        return item < LIMIT\n\n\n"
        "def write(item):\n"
        "    return item\n"
    ),
    "pkg/queue.py": (
        "class Queue:\n"
        "    def save(self, item):\n"
        "        return item\n\n\n"
        "def write(item):\n"
        "    return [item]\n"
    ),
    "pkg/use.py": (
        "from pkg import queue\n"
        "from pkg.store import Store, write as put\n\n\n"
        "def run(anything):\n"
        "    store = Store()\n"
        "    anything.save(1)\n"
        "    put(2)\n"
        "    queue.write(3)\n"
        "    return store\n"
    ),
    "pkg/shadow.py": "def other():\n    write = 3\n    return write\n",
    "web/lib.ts": (
        "export function greet(name: string) {\n  return shout(name);\n}\n\n"
        "function shout(text: string) {\n  return text;\n}\n"
    ),
    "web/app.ts": (
        'import { greet as hello } from "./lib";\nimport * as lib from "./lib";\n\n'
        'export function main() {\n  hello("a");\n  lib.greet("b");\n}\n'
    ),
    "go.mod": "module example.com/shop\n",
    "cart/cart.go": "package cart\n\nfunc Total(n int) int {\n\treturn half(n)\n}\n",
    "cart/half.go": "package cart\n\nfunc half(n int) int {\n\treturn n / 2\n}\n",
    "main.go": 'package main\n\nimport "example.com/shop/cart"\n\nfunc main() {\n\tcart.Total(4)\n}\n',
    "data.bin": b"\x00\x01",
    "docs/guide.md": "# Guide\n\n## Store\n\nHow to store.\n",
}


@pytest.fixture
def project(repo: GitRepo) -> GitRepo:
    repo.commit("first", **FILES)
    index(repo.root)
    return repo


@pytest.fixture
def ask(project: GitRepo) -> Any:
    def run(*arguments: str) -> dict[str, Any]:
        ran: Ran = cli(*arguments, "--json", "--path", str(project.root))
        assert ran.err == "", ran.err
        return ran.json

    return run


def spot(text: str, needle: str, nth: int = 0) -> str:
    """LINE:COL of the nth occurrence of a text, 1-based."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(needle, at + 1)
    line = text.count("\n", 0, at) + 1
    return f"{line}:{at - text.rfind(chr(10), 0, at)}"


@pytest.fixture
def folder(project: GitRepo) -> Path:
    return project.root
