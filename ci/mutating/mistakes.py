"""The small mistakes that tests should notice: which can be made in a function, and the file with one of them. Pure but
for reading sources."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SMALLEST = 3  # lines
FLIPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


class Mutant(NamedTuple):
    function: str  # module:qualified name
    path: str  # from the root of the repository
    line: int
    before: str
    after: str
    source: bytes  # the whole mutated file


def functions(root: Path) -> dict[str, tuple[str, ast.FunctionDef]]:
    """`module:qualified name` → file and syntax tree, of every function that has a body and three lines."""
    named = {}
    for path in sorted((root / "gitindex").rglob("*.py")):
        where = path.relative_to(root)
        module = ".".join(where.with_suffix("").parts).removesuffix(".__init__")
        for name, node in _defined(ast.parse(path.read_bytes()), ""):
            if node.end_lineno - node.lineno + 1 >= SMALLEST and _statements(node):
                named.setdefault(f"{module}:{name}", (str(where), node))
    return named


def _defined(parent: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.iter_child_nodes(parent):
        inner = prefix
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            inner = f"{prefix}{node.name}."
            if isinstance(node, ast.FunctionDef):
                yield prefix + node.name, node
        yield from _defined(node, inner)


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """Without docstring and `...`."""
    return [
        node
        for node in function.body
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]


def changes(function: ast.FunctionDef) -> dict[str, list[tuple[ast.AST, str]]]:
    """Kind of mistake → the nodes it can be made in, each with the text that replaces it."""
    possible: dict[str, list[tuple[ast.AST, str]]] = {}
    for node in _evaluated(_statements(function)):
        changed = copy.deepcopy(node)
        if isinstance(changed, ast.Compare) and type(changed.ops[0]) in FLIPPED:
            changed.ops[0] = FLIPPED[type(changed.ops[0])]()
            kind = "comparison"
        elif isinstance(changed, ast.Constant) and type(changed.value) is int:
            changed.value += 1
            kind = "bound"
        elif isinstance(changed, ast.UnaryOp) and isinstance(changed.op, ast.Not):
            kind, changed = "not", changed.operand
        elif isinstance(changed, ast.BoolOp):
            changed.op = ast.And() if isinstance(changed.op, ast.Or) else ast.Or()
            kind = "and/or"
        else:
            continue
        possible.setdefault(kind, []).append((node, f"({ast.unparse(changed)})"))
    last = _statements(function)[-1]
    if not possible and not isinstance(last, ast.Raise) and ast.unparse(last) not in ("return None", "pass"):
        possible["return"] = [(last, "return None")]
    return possible


def _evaluated(nodes: list[ast.AST]) -> Iterator[ast.AST]:
    """Every node below, but not inside texts (Python 3.11 misplaces those), annotations and patterns."""
    for node in nodes:
        if isinstance(node, (ast.JoinedStr, ast.pattern)):
            continue
        yield node
        annotation = getattr(node, "annotation", None), getattr(node, "returns", None)
        yield from _evaluated([child for child in ast.iter_child_nodes(node) if child not in annotation])


def mutate(root: Path, name: str, path: str, function: ast.FunctionDef, seed: int) -> Mutant | None:
    """One mistake; the choice depends on seed and name alone. None: nothing in it can be changed."""
    possible = changes(function)
    if not possible:
        return None
    chance = random.Random(f"{seed} {name}")
    node, after = chance.choice(possible[chance.choice(sorted(possible))])
    source = (root / path).read_bytes()
    lines = source.splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    mutated = source[:start] + after.encode() + source[end:]
    ast.parse(mutated)
    return Mutant(name, path, node.lineno, source[start:end].decode(), after, mutated)
