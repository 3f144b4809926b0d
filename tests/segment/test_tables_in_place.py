"""SN-6: what docs/format.md says of reading tables without gitindex: dead rows are there, and can be left out."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import lancedb

from tests.house.graph import REPOSITORY
from tests.support import harness
from tests.support.gitrepo import GitRepo


def documented_reader():
    page = (REPOSITORY / "docs" / "format.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.S)
    names: dict[str, object] = {}
    exec(compile(code, "docs/format.md", "exec"), names)
    return names["live_rows"]


def test_the_documented_reader_sees_what_is_live(repo: GitRepo):
    repo.commit("one", **{"a.py": "def gone():\n    return 1\n", "b.py": "def old():\n    return 1\n"})
    harness.index(repo.root)
    repo.git("rm", "-q", "a.py")
    repo.commit("two", **{"b.py": "def new():\n    return 2\n", "c.md": "# Words\n\nabout c\n"})
    harness.index(repo.root)
    store = harness.codebase(repo.root).layout.base
    live = Counter(row["path_key"] for row in documented_reader()(store))
    with harness.view(repo.root) as view:
        assert live == Counter({r.path: r.chunks for r in view.records() if not r.skip})
    assert set(live) == {"b.py", "c.md"}
    assert {"a.py", "b.py"} <= every_path(store), "the tables themselves show deleted rows too"


def every_path(store: Path) -> set[str]:
    tables = lancedb.connect(str(store / "tables"))
    return {
        row["path_key"]
        for name in table_names(store)
        for row in tables.open_table(name).to_arrow().to_pylist()
    }


def table_names(store: Path) -> list[str]:
    return [path.stem for path in (store / "tables").glob("*.lance")]
