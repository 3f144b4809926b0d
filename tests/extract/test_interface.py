"""The syntactic interface hash: changes with what other files can see, and with nothing else (SE-5, SE-8)."""

from __future__ import annotations

import pytest

from gitindex.extract.extractor import extract
from gitindex.model.settings import IndexSettings

BASE = {
    "a.py": "import os\n\nLIMIT = 3\n\nclass A:\n    def f(self, x=1):\n        return x\n\ndef g(a, b):\n    return a\n",
    "A.java": "class A {\n  public int f(int x) { return x; }\n  private int h() { return 1; }\n}\n",
    "a.c": "int f(int x) { return x; }\nstatic int h(void) { return 1; }\n",
}


def _hash(path: str, text: str) -> str:
    return extract(path, text.encode(), IndexSettings()).interface_hash


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", "return x", "y = x + 1\n        return y"),
        ("a.py", "LIMIT = 3", "LIMIT = 4"),
        ("a.py", "import os\n", "# a comment\nimport os\n\n\n"),
        ("a.py", "(self, x=1)", "(\n        self,  # me\n        x=1)"),
        ("A.java", "return x", "return x + 1"),
        ("A.java", "private int h()", "private long h(int z)"),
        ("A.java", "public int f", "/** Documented. */\n  public int f"),
        ("a.c", "static int h(void)", "static long h(int z)"),
    ],
)
def test_hidden_changes_keep_it(path: str, old: str, new: str) -> None:
    assert old in BASE[path]
    assert _hash(path, BASE[path].replace(old, new)) == _hash(path, BASE[path])


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", "def g(a, b)", "def g(a, b, c)"),
        ("a.py", "def g", "def gg"),
        ("a.py", "class A:", "class A(B):"),
        ("a.py", "LIMIT = 3", "LIMIT: int = 3"),
        ("A.java", "public int f(int x)", "public long f(int x)"),
        ("A.java", "private int h", "public int h"),
        ("a.c", "int f(int x)", "int f(long x)"),
    ],
)
def test_visible_changes_change_it(path: str, old: str, new: str) -> None:
    assert _hash(path, BASE[path].replace(old, new)) != _hash(path, BASE[path])


def test_order_does_not_matter() -> None:
    assert _hash("a.py", "def f(): pass\ndef g(): pass\n") == _hash("a.py", "def g(): pass\ndef f(): pass\n")


def test_without_a_grammar_there_is_none() -> None:
    assert _hash("a.txt", "def f(): pass\n") == ""
