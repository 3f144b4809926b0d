"""Roles and scopes of references (QU-3): what stands for an imported name, and what only looks like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.gitrepo import GitRepo
from tests.support.harness import cli, index

USE = """\
from lib import F
from lib import (
    G,  # (one bracket more
)

ROWS = [
    F(1),
    G,
]


def shadowed(F):
    return F(2)


def keyword(make):
    return make(
        F=3,
        other=F,
    )


def renamed():
    from lib import G as cls

    return cls()


class Thing:
    def make(cls):
        return cls()
"""


@pytest.fixture
def scopes(repo: GitRepo) -> Path:
    repo.commit("scopes", **{"lib.py": "class F:\n    pass\n\n\nclass G:\n    pass\n", "use.py": USE})
    index(repo.root)
    return repo.root


def _refer(root: Path, name: str) -> tuple[set[tuple[int, str]], int]:
    answer: dict[str, Any] = cli("refs", name, "--json", "--path", str(root)).json
    return {(item["line"], item["role"]) for item in answer["references"]}, answer["unresolved_count"]


def test_only_the_statement_imports_and_a_parameter_hides_the_name(scopes: Path):
    assert _refer(scopes, "F") == ({(1, "import"), (7, "call"), (19, "reference")}, 0)


def test_a_local_import_is_known_in_its_function_only(scopes: Path):
    assert _refer(scopes, "G") == ({(3, "import"), (8, "reference"), (24, "import"), (26, "call")}, 0)
