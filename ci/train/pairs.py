"""Documented code as (document, code) pairs: docstrings of Python, doc comments of other languages.

The text of the documentation is always cut out of the code side. Nothing here knows about packages or training.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

MAX_CODE = 6000  # characters; far more than the first 400 sub-words the trainer keeps
LANGUAGES = {
    ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript", ".cjs": "javascript",
    ".ts": "typescript", ".mts": "typescript", ".tsx": "tsx", ".rs": "rust", ".go": "go", ".java": "java",
    ".kt": "kotlin", ".cs": "csharp", ".php": "php", ".swift": "swift",
}  # fmt: skip
_DECLARES = re.compile(
    r"function|method|class|struct|interface|trait|enum|export|lexical|expression_sta|^pair$"
)
_WRAPPED = re.compile(rf"declarat|assignment|{_DECLARES.pattern}")
_DEEPEST = 9  # declarations nested deeper are local; walking every expression would take most of the time
_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])|\n\s*[-*•:@]|:\s*\n")


@dataclass(frozen=True)
class Pair:
    """One documented definition; `doc` is the first paragraph, `code` is without documentation."""

    path: str
    name: str
    doc: str
    code: str


def sentence(doc: str) -> str:
    """The first sentence of a paragraph, on one line."""
    return " ".join(_ENDS.split(doc, maxsplit=1)[0].split())


def paragraph(doc: str) -> str:
    return re.split(r"\n\s*\n", doc.strip(), maxsplit=1)[0].strip()


def definitions(path: str, source: str) -> Iterator[tuple[Pair, ast.AST]]:
    """Every function and class of a Python file (documented or not) with its node; doctest files give none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = source.splitlines()
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        node, prefix = pending.pop()
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{prefix}.{child.name}" if prefix else child.name
                doc = ast.get_docstring(child) or ""
                yield Pair(path, inner, paragraph(doc), _without_docstring(child, lines)), child
            pending.append((child, inner))


def _without_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: list[str]) -> str:
    kept = range(node.lineno - 1, node.end_lineno or node.lineno)
    first = node.body[0]
    cut: range | tuple[()] = ()
    if ast.get_docstring(node, clean=False) is not None and first.lineno > node.lineno:
        cut = range(first.lineno - 1, first.end_lineno or first.lineno)
    return "\n".join(lines[i] for i in kept if i not in cut and i < len(lines))[:MAX_CODE]


def python_pairs(path: str, source: str) -> Iterator[Pair]:
    return (pair for pair, _ in definitions(path, source) if pair.doc)


@cache
def _parser(language: str) -> Any:
    from tree_sitter_language_pack import get_parser

    return get_parser(language)  # type: ignore[arg-type]


def comment_pairs(path: str, source: str, language: str) -> Iterator[Pair]:
    """Declarations that follow a doc comment (`/** */`, `///`, or a run of `//` in Go)."""
    text = source.encode()
    pending = [(_parser(language).parse(text).root_node, 0)]
    while pending:
        node, depth = pending.pop()
        children = node.named_children
        if depth < _DEEPEST:
            pending.extend((child, depth + 1) for child in children)
        comments: list[Any] = []
        for child in children:
            if "comment" in child.type:
                comments.append(child)
                continue
            if comments and _DECLARES.search(child.type):
                doc = _clean([text[c.start_byte : c.end_byte].decode() for c in comments], language)
                name = _name(child, text)
                if doc and name:
                    code = text[child.start_byte : child.end_byte].decode(errors="replace")
                    yield Pair(path, name, doc, _strip_comments(code)[:MAX_CODE])
            if child.type not in ("attribute_item", "decorator"):
                comments = []


def _clean(comments: list[str], language: str) -> str:
    joined = "\n".join(comments)
    marks = ("//", "/*") if language == "go" else ("/**", "///")
    if not joined.startswith(marks):
        joined = comments[-1] if comments[-1].startswith(marks) else ""
    body = re.sub(r"^\s*(/\*+!?|\*+/|///?!?|\*|#+)? ?|\s*\*+/\s*$", "", joined, flags=re.MULTILINE)
    body = re.split(r"(?m)^\s*[@\\]\w+|^#+ |```", re.sub(r"<[^>]{1,40}>|\{@\w+ ([^}]*)\}", r"\1", body))[0]
    return paragraph(body)


def _name(node: Any, text: bytes) -> str:
    """The identifier of a declaration, looking through wrappers such as `export` and `const f =`."""
    for _ in range(4):
        found = next(filter(None, map(node.child_by_field_name, ("name", "key", "left"))), None)
        if found is not None:
            return text[found.start_byte : found.end_byte].decode(errors="replace").split("(")[0][:80]
        inner = [child for child in node.named_children if _WRAPPED.search(child.type)]
        if not inner:
            return ""
        node = inner[0]
    return ""


def _strip_comments(code: str) -> str:
    return re.sub(r"/\*\*.*?\*/|^\s*///.*$", "", code, flags=re.DOTALL | re.MULTILINE)
