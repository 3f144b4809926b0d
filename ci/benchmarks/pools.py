"""Docstring → function: projects whose docstrings are taken out of the code and asked for instead.

A pool is a directory of a project's own files, without tests. `named` keeps paths and names; `anonymous` gives every
file a number and blanks each function's own name in its own code, so that only the code itself can answer.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gitindex.extract.tokens import subwords

# Ranking was tuned on these. No project of either group was used to train the static table (ci/train/packages.txt).
TUNED = {
    "networkx": ("networkx==3.7",),
    "web": ("flask==3.1.3", "click==8.5.1", "requests==2.34.2", "httpx==0.28.1", "attrs==26.1.0"),
    "pylint": ("pylint==4.1.3", "astroid==4.3.4"),
    "biopython": ("biopython==1.88",),
    "gensim": ("gensim==4.4.0", "hypothesis==6.170.15"),
}
HELD_OUT = {
    "django": ("django==6.1.3",),
    "scikit-learn": ("scikit-learn==1.9.1",),
    "sqlalchemy": ("sqlalchemy==2.1.8",),
    "sympy": ("sympy==1.14.0",),
    "celery": ("celery==5.7.0",),
    "pydantic": ("pydantic==2.14.3", "rich==15.0.0"),
}
VARIANTS = ("named", "anonymous")
SEED = 7
POOL_CHARS = 560_000  # about 1,000 chunks
SMALL_CHARS = 220_000  # about 400: a transformer embeds ten in a second on one core
QUERIES = 300
MIN_WORDS, MIN_LINES = 4, 3
_NOT_CODE = re.compile(
    r"(^|/)(tests?|testing|_?vendor(ed)?|externals?|locale|migrations)/|(^|/)(test_|conftest)"
)
_WHEEL = ["--no-deps", "--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp",
          "--platform", "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64"]  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Query(NamedTuple):
    text: str
    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True)
class Pool:
    name: str
    variant: str
    root: Path
    queries: tuple[Query, ...]


def wheel(spec: str, cache: Path) -> Path:
    """The released wheel of a pinned requirement; a source archive would run its build script."""
    folder = cache / "wheels" / spec
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        command = [sys.executable, "-m", "pip", "download", "--quiet", *_WHEEL, "--dest", str(folder), spec]
        subprocess.run(command, check=True)
    return next(folder.iterdir())


def build(name: str, specs: tuple[str, ...], variant: str, cache: Path, chars: int = POOL_CHARS) -> Pool:
    """Write the pool's files and choose its queries; the same seed gives the same pool, a smaller one is part of it."""
    root = cache / "pools" / f"{name}-{variant}-{chars}"
    chance = random.Random(SEED)
    files = [item for spec in specs for item in _files(wheel(spec, cache))]
    chance.shuffle(files)
    root.mkdir(parents=True, exist_ok=True)
    (root / ".gitindex.toml").write_text('[embedding]\nprovider = "static"\n')
    asked: list[Query] = []
    used = 0
    for number, (path, source) in enumerate(files):
        if used > chars:
            break
        where = path if variant == "named" else f"f{number:04}.py"
        stripped = strip(source, anonymous=variant == "anonymous")
        if stripped is None:
            continue
        text, functions = stripped
        used += len(text)
        target = root / where
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        asked += [Query(doc, where, start, end) for doc, start, end in functions]
    times = Counter(query.text.lower() for query in asked)
    unique = [query for query in asked if times[query.text.lower()] == 1]
    return Pool(name, variant, root, tuple(chance.sample(unique, min(QUERIES, len(unique)))))


def strip(source: str, *, anonymous: bool) -> tuple[str, list[tuple[str, int, int]]] | None:
    """The source without docstrings, and (first sentence, first line, last line) of the functions to ask for."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    docs = [_sentence(ast.get_docstring(node) or "") for node in _functions(tree)]
    edited = _edited(source, [*_docstrings(tree), *(_names(source, tree) if anonymous else ())])
    try:
        functions = list(_functions(ast.parse(edited)))
    except SyntaxError:
        return None
    wanted = []
    for doc, node in zip(docs, functions, strict=True):
        last = node.end_lineno or node.lineno
        if len(subwords(doc)) >= MIN_WORDS and last - node.lineno >= MIN_LINES:
            wanted.append((doc, node.lineno, last))
    return edited, wanted


def _files(archive: Path) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(archive) as opened:
        for path in sorted(opened.namelist()):
            if path.endswith(".py") and not _NOT_CODE.search(path):
                yield path, opened.read(path).decode("utf-8", "replace")


def _functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


Edit = tuple[int, int, int, int, str]  # first line, column, last line, column (bytes), replacement


def _docstrings(tree: ast.AST) -> Iterator[Edit]:
    for node in ast.walk(tree):
        if (
            isinstance(node, Function | ast.ClassDef | ast.Module)
            and ast.get_docstring(node, clean=False) is not None
        ):
            doc = node.body[0]
            assert doc.end_lineno is not None
            assert doc.end_col_offset is not None
            yield doc.lineno, doc.col_offset, doc.end_lineno, doc.end_col_offset, "..."


def _names(source: str, tree: ast.AST) -> Iterator[Edit]:
    """Every use of a function's own name inside it, its `def` included."""
    lines = source.split("\n")
    seen: set[tuple[int, int]] = set()
    for node in _functions(tree):
        pattern = re.compile(rf"\b{re.escape(node.name)}\b")
        inside = _docstring_lines(node)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
            for found in pattern.finditer(lines[number - 1]) if number not in inside else ():
                start = len(lines[number - 1][: found.start()].encode())
                if (number, start) not in seen:
                    seen.add((number, start))
                    yield number, start, number, start + len(node.name.encode()), "_"


def _docstring_lines(node: Function) -> set[int]:
    """Lines of docstrings in the function: they go away as a whole."""
    return {
        line
        for first, _, last, _, _ in _docstrings(node)
        for line in range(first, last + 1)
    }  # fmt: skip


def _edited(source: str, edits: list[Edit]) -> str:
    lines = [line.encode() for line in source.split("\n")]
    for first, start, last, end, text in sorted(edits, reverse=True):
        merged = lines[first - 1][:start] + text.encode() + lines[last - 1][end:]
        lines[first - 1 : last] = [merged]
    return b"\n".join(lines).decode()


def _sentence(doc: str) -> str:
    """The first sentence of the first paragraph, white space folded."""
    paragraph = " ".join(doc.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s", paragraph)[0][:300]
