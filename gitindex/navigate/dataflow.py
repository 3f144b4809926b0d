"""The variables that each statement of a function writes and reads, by name: no aliases, no attributes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gitindex.extract import grammars

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_BYTES = 2_000_000
_FUNCTIONS = frozenset(
    {
        "function_definition", "function_declaration", "method_definition", "method_declaration", "function_item",
        "arrow_function", "function_expression", "generator_function_declaration", "constructor_declaration", "lambda",
        "func_literal", "method", "singleton_method", "function", "closure_expression", "anonymous_function",
        "local_function_statement", "lambda_expression",
    }
)  # fmt: skip
# Where a statement's target stands, by the field that holds it.
_TARGETS = ("left", "name", "pattern", "declarator", "alias", "target")
_WRITERS = (
    "assignment", "declarator", "declaration", "let_", "for_", "for", "range_clause", "named_expression", "with_item",
    "as_pattern", "short_var", "var_spec", "const_spec", "parameter", "update_expression", "inc_statement",
    "dec_statement", "property_declaration",
)  # fmt: skip
_HEADERS = frozenset(
    {
        "if_statement", "elif_clause", "while_statement", "for_statement", "for_in_statement", "switch_statement",
        "match_statement", "case_clause", "if_expression", "while_expression", "for_expression", "match_expression",
        "with_statement", "else_if_clause", "if", "while", "unless", "do_statement", "enhanced_for_statement",
        "expression_switch_statement", "range_for_statement", "if_let_expression", "foreach_statement",
    }
)  # fmt: skip
_LOOPS = ("for", "while", "do_", "loop")
_BODIES = frozenset({"body", "consequence", "alternative"})
_BLOCKS = frozenset(
    {
        "block", "body", "suite", "statement_list", "program", "module", "source_file", "translation_unit",
        "compound_statement", "try_statement", "synchronized_statement", "labeled_statement", "begin",
    }
)  # fmt: skip
_UPDATES = ("augmented", "compound", "update", "inc_", "dec_")
_MEMBERS = frozenset({"attribute", "field", "property", "name"})


class Statement(NamedTuple):
    """One statement, or the head of a compound one."""

    line: int
    end_line: int
    writes: frozenset[str]
    reads: frozenset[str]
    parent: int  # number of the enclosing head, -1 outside
    is_head: bool
    is_loop: bool


def find_statements(language: str, data: bytes, line: int) -> list[Statement] | None:
    """Statements of the innermost function around a line (of the file's top, outside), in source order.

    None when the language has no grammar or the file is too long to be worth it.
    """
    if language not in grammars.SPECS or len(data) > _MAX_BYTES:
        return None
    tree = grammars.parse(language, data)
    return _StatementCollector(data).collect(tree.root_node, line - 1)


class _StatementCollector:
    """Collects the statements of one scope.

    Rows are computed from byte offsets, because reading `start_point` corrupts memory in tree-sitter 0.26.
    """

    def __init__(self, data: bytes) -> None:
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", data))]
        self._statements: list[Statement] = []

    def collect(self, root: Node, row: int) -> list[Statement]:
        scope = self._find_scope(root, row)
        if scope.id != root.id:
            self._add_parameters(scope)
        self._walk(scope, -1, scope)
        return self._statements

    def _row(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def _find_scope(self, root: Node, row: int) -> Node:
        """The innermost function whose rows hold `row`."""
        start_offset = self._starts[min(row, len(self._starts) - 1)]
        end_offset = self._starts[row + 1] if row + 1 < len(self._starts) else root.end_byte + 1
        best = root
        stack = [root]
        while stack:
            for child in stack.pop().named_children:
                if child.start_byte < end_offset and child.end_byte > start_offset:
                    if child.type in _FUNCTIONS and child.start_byte >= best.start_byte:
                        best = child
                    stack.append(child)
        return best

    def _add_parameters(self, function: Node) -> None:
        parameter_list = _parameter_list(function)
        names = frozenset(_find_names(parameter_list)) if parameter_list is not None else frozenset()
        end = parameter_list.end_byte if parameter_list is not None else function.start_byte
        self._add(function.start_byte, end, names, frozenset(), -1)

    def _walk(self, node: Node, parent: int, top: Node) -> None:
        """Descend through blocks and heads; anything else is one statement with all it holds."""
        for child in map(_unwrap, node.named_children):
            if child.type in _FUNCTIONS and child.id != top.id and _is_named_function(child):
                continue  # a function of its own: another scope
            if child.type in _HEADERS:
                self._add_head(child, parent, top)
            elif _is_block(child):
                self._walk(child, parent, top)
            elif node.id != top.id or _is_block(node):
                self._add_simple(child, parent)

    def _add_head(self, node: Node, parent: int, top: Node) -> None:
        writes: set[str] = set()
        reads: set[str] = set()
        end = node.start_byte
        bodies = []
        for index, child in enumerate(node.children):
            field = node.field_name_for_child(index)
            if not child.is_named:
                continue
            if field in _BODIES or _is_block(child) or child.type in _HEADERS:
                bodies.append(child)
            else:
                end = max(end, child.end_byte)
                _collect_effects(child, writes, reads, target=field in ("left", "pattern", "name"))
        number = len(self._statements)
        loop = node.type.startswith(_LOOPS)
        self._add(node.start_byte, end, frozenset(writes), frozenset(reads), parent, head=True, loop=loop)
        for body in bodies:
            if body.type in _HEADERS:
                self._add_head(body, number, top)
            elif _is_block(body):
                self._walk(body, number, top)
            else:
                self._add_simple(body, number)

    def _add_simple(self, node: Node, parent: int) -> None:
        if node.type == "comment" or node.type.endswith("_comment"):
            return
        writes: set[str] = set()
        reads: set[str] = set()
        _collect_effects(node, writes, reads, target=False)
        self._add(node.start_byte, node.end_byte, frozenset(writes), frozenset(reads), parent)

    def _add(
        self,
        start: int,
        end: int,
        writes: frozenset[str],
        reads: frozenset[str],
        parent: int,
        *,
        head: bool = False,
        loop: bool = False,
    ) -> None:
        last = self._row(max(start, end - 1)) + 1
        self._statements.append(Statement(self._row(start) + 1, last, writes, reads, parent, head, loop))


def _parameter_list(function: Node) -> Node | None:
    """The node with the parameters; in C it is a child of the declarators."""
    node: Node | None = function
    while node is not None:
        parameters = node.child_by_field_name("parameters") or node.child_by_field_name("parameter")
        if parameters is not None:
            return parameters
        node = node.child_by_field_name("declarator")
    return None


def _collect_effects(node: Node, writes: set[str], reads: set[str], *, target: bool) -> None:
    """Collect names below `node`; `target` says that they stand where something is written."""
    stack = [(node, target)]
    while stack:
        current, is_target = stack.pop()
        if _is_name(current):
            (writes if is_target else reads).add(_node_text(current))
            continue
        is_writer = _is_writer(current)
        is_update = current.type.startswith(_UPDATES) or _is_update(current)
        for index, child in enumerate(current.children):
            if not child.is_named:
                continue
            field = current.field_name_for_child(index)
            if field in _MEMBERS and index > 0 and not is_writer:
                continue  # `x.name`: the member is not a variable
            child_is_target = field in _TARGETS if is_writer else is_target and not _is_member_access(current)
            stack.append((child, child_is_target))
            if is_update and (child_is_target or field in ("argument", None)):
                stack.append((child, not child_is_target))


def _is_writer(node: Node) -> bool:
    """Does one of its fields hold a target?"""
    may_write = node.type.startswith(_WRITERS) or "assignment" in node.type or "declarator" in node.type
    return may_write and any(node.child_by_field_name(name) is not None for name in _TARGETS)


def _is_update(node: Node) -> bool:
    """`x += 1` in grammars that call it an assignment too."""
    operator = node.child_by_field_name("operator")
    return operator is not None and "assignment" in node.type and operator.type not in ("=", ":=")


def _is_member_access(node: Node) -> bool:
    """Inside a target, `a[i]` and `a.b` read their parts: nothing but a plain name is a variable."""
    return node.type.startswith(("subscript", "attribute", "member", "field", "index", "selector"))


def _find_names(node: Node) -> Iterator[str]:
    stack = [node]
    while stack:
        current = stack.pop()
        if _is_name(current):
            yield _node_text(current)
            continue
        for index, child in enumerate(current.children):
            if child.is_named and current.field_name_for_child(index) not in ("type", "value", "return_type"):
                stack.append(child)


def _is_name(node: Node) -> bool:
    return node.type in (
        "identifier",
        "simple_identifier",
        "variable_name",
        "shorthand_property_identifier_pattern",
    )


def _is_block(node: Node) -> bool:
    return node.type in _BLOCKS or node.type.endswith(("_block", "_body")) or _is_branch(node)


def _is_branch(node: Node) -> bool:
    """`else`, `except`, `case`: parts of a compound statement. Clauses of a `for` are its head."""
    return node.type.endswith("_clause") and node.type not in ("range_clause", "for_clause")


def _unwrap(node: Node) -> Node:
    """Where statements are expressions, a wrapper stands around them."""
    only = (
        node.named_child(0) if node.type == "expression_statement" and node.named_child_count == 1 else None
    )
    return only if only is not None and only.type in _HEADERS else node


def _is_named_function(node: Node) -> bool:
    return node.child_by_field_name("name") is not None


def _node_text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
