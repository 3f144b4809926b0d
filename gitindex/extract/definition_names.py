"""Finds the name and the body of a definition node: by its fields, else by the node types that some grammars use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

_NAME_FIELDS = ("name", "left", "pattern", "property", "declarator")
_NAME_TYPES = frozenset(
    {"simple_identifier", "type_identifier", "identifier", "name", "variable_declaration", "variable_list"}
)
# Nodes whose text holds the scope, too.
_WHOLE_NAMES = frozenset(
    {"name", "member_expression", "dot_index_expression", "method_index_expression", "scope_resolution"}
)
_BODY_TYPES = frozenset({"class_body", "enum_class_body", "function_body", "field_declaration_list", "block"})
_VALUE_FIELDS = ("value", "right", "type")
_FIXED_NAMES = {"init_declaration": "init", "secondary_constructor": "constructor"}
_DROPPED_SCOPES = frozenset({"module", "exports", "this", "self", "prototype", "window", "global"})
_SEPARATOR = re.compile(r"::|[.:\\]")
_ARGUMENTS = re.compile(r"<.*", re.S)
_RECEIVER = re.compile(r"(\w+)\s*(?:\[[^\]]*\]|<.*>)?[\s)?]*$", re.S)
_MAX_DEPTH = 32
_MAX_NAME = 200


class DefinedName(NamedTuple):
    name: str
    owner: str  # dotted scope that the name itself spells, such as a receiver type
    start: int
    callable: bool  # the declarator is a function's
    member: bool  # the spelling says it belongs to a type


def find_name(node: Node, data: bytes, receivers: bool) -> DefinedName | None:
    """None for a definition without a usable name; `receivers`: the grammar has a field for the receiver's type."""
    through_function = False
    target = node.child_by_field_name("name")
    if target is None:
        if node.type in _FIXED_NAMES:
            return DefinedName(_FIXED_NAMES[node.type], "", node.start_byte, callable=True, member=True)
        target, through_function = _descend(node)
    if target.type == "variable_name":  # PHP's `$` stands before the name; elsewhere it is part of it
        target = first_named_child(target) or target
    start = target.start_byte
    raw = data[start : min(target.end_byte, start + _MAX_NAME)].decode("utf-8", "replace")
    receiver = _read_receiver_type(node, data) if receivers else ""
    if raw.isidentifier() and not receiver:
        return DefinedName(raw, "", start, through_function, member=False)
    parts = _split_name(raw)
    if not parts[-1]:
        return None
    owner = ".".join(parts[:-1]) or receiver
    member = bool(receiver) or (len(parts) > 1 and ":" in raw)
    offset = raw.rfind(parts[-1])
    lead = len(raw[:offset].encode()) if offset > 0 else 0
    return DefinedName(parts[-1], owner, start + lead, through_function, member)


def _split_name(raw: str) -> list[str]:
    text = raw.strip()
    if text[:1] in "\"'`":
        return [text.strip("\"'`")]
    if "operator" in text:
        scope, _, rest = text.partition("operator")
        return [*filter(None, _SEPARATOR.split(scope.strip())), "operator" + rest.strip()]
    pieces = _SEPARATOR.split(_ARGUMENTS.sub("", text))
    names = [piece.strip() for piece in pieces]
    scopes = [name for name in names[:-1] if name and name not in _DROPPED_SCOPES]
    return [*scopes, names[-1]]


def _descend(node: Node) -> tuple[Node, bool]:
    """Follow name and declarator fields down to the name itself."""
    through_function = False
    for _ in range(_MAX_DEPTH):
        child = _next_child(node)
        if child is None:
            break
        node = child
        if node.type == "function_declarator":
            through_function = True
        elif node.type in _WHOLE_NAMES or node.type.endswith(("identifier", "_name")):
            break
    return node, through_function


def _next_child(node: Node) -> Node | None:
    if not node.named_child_count:
        return None
    for field in _NAME_FIELDS:
        child = node.child_by_field_name(field)
        if child is not None:
            return child
    for child in node.named_children[:8]:
        if child.type in _NAME_TYPES:
            return child
    return node.named_child(0) if node.type.endswith("declarator") else None


def _read_receiver_type(node: Node, data: bytes) -> str:
    receiver = node.child_by_field_name("receiver")
    if receiver is None:
        return ""
    match = _RECEIVER.search(data[receiver.start_byte : receiver.end_byte].decode("utf-8", "replace"))
    return match[1] if match else ""


def scope_name(node: Node, field: str, data: bytes) -> str:
    """Name of a block that scopes definitions without being one (`impl T`, `extension T`)."""
    child = node.child_by_field_name(field) if field else None
    if child is None:
        return ""
    text = _ARGUMENTS.sub(
        "",
        data[child.start_byte : min(child.end_byte, child.start_byte + _MAX_NAME)].decode("utf-8", "replace"),
    )
    return ".".join(filter(None, (part.strip(" &*'") for part in _SEPARATOR.split(text))))


def first_named_child(node: Node) -> Node | None:
    """None where there is none; the binding itself would raise."""
    return node.named_child(0) if node.named_child_count else None


def find_body(node: Node) -> Node | None:
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    for field in _VALUE_FIELDS:
        value = node.child_by_field_name(field)
        if value is not None:
            inner = value.child_by_field_name("body")
            if inner is not None:
                return inner
            node = value
            break
    return _find_child_body(node)


def _find_child_body(node: Node) -> Node | None:
    for child in node.named_children[:16]:
        if child.type in _BODY_TYPES:
            return child
    return None
