"""Reads definitions from a syntax tree: kind, name, signature, range and documentation of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from gitindex.extract.comments import LeadingBlocks, clean_docstring
from gitindex.extract.definition_names import DefinedName, find_body, find_name, first_named_child, scope_name
from gitindex.extract.grammars import LanguageSpec
from gitindex.extract.source_text import SourceText

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_SIGNATURE = 240
_MAX_SCANNED = 2000  # bytes of a signature that are read
_VALUES = frozenset({"variable", "field", "constant"})
_BRACED = _VALUES | {"type"}  # their braces are no body
_BREAK = re.compile(rb".*[{}();,]", re.S)  # up to the last sign that cannot belong to a modifier
_COMMENT_SIGN = re.compile(rb"#|//|/\*|--")
_WHITESPACE = b" \t\r\n"
_WRAPPED = re.compile(r"(?<=[(\[]) |,? (?=[)\]])")  # what only the layout over several lines adds
_LOOSE_END = " :{=;,\\"  # left over where the body was cut off


class ParsedDefinition(NamedTuple):
    """A definition before `nesting` gives it a qualified name and a parent; `kind` is "" for a mere scope."""

    start: int  # in bytes, as `end` and `name_start`
    end: int
    kind: str
    name: str
    name_start: int
    lead_row: int  # 0-based first row with its comments and decorators
    owner: str = ""  # the scope that the name itself spells
    signature: str = ""
    doc: str = ""
    visible: bool = True  # no modifier hides it from other files


class DefinitionReader:
    """Reads the definitions of one file."""

    def __init__(
        self, source: SourceText, spec: LanguageSpec, leads: LeadingBlocks, comments: list[Node]
    ) -> None:
        self._source = source
        self._spec = spec
        self._leads = leads
        self._hidden = re.compile(spec.hidden) if spec.hidden else None
        self._comments = {node.start_byte: node.end_byte for node in comments}

    def read_definitions(
        self, captures: Mapping[str, list[Node]], order: Mapping[str, int]
    ) -> list[ParsedDefinition]:
        """Outer before inner, one per range: of several captures of one range the first in `order` counts."""
        captured = [
            (node.start_byte, -node.end_byte, order[capture], capture, node)
            for capture, nodes in captures.items()
            if capture.startswith(("def.", "scope"))
            for node in nodes
        ]
        captured.sort(key=itemgetter(0, 1, 2))
        rows = self._source.rows(item[0] for item in captured)
        result: list[ParsedDefinition] = []
        last = (-1, -1)
        for (start, end, _, capture, node), row in zip(captured, rows, strict=True):
            if (start, end) == last:
                continue
            last = (start, end)
            definition = (
                self._read_scope(node, capture, row)
                if capture.startswith("scope")
                else self._read_definition(node, capture.removeprefix("def."), row)
            )
            if definition is not None:
                result.append(definition)
        return result

    def _read_scope(self, node: Node, capture: str, row: int) -> ParsedDefinition:
        name = scope_name(node, capture.partition(".")[2], self._source.data)
        lead_row, _ = self._leads.find_above(row)
        start = node.start_byte
        return ParsedDefinition(start, self._trim_end(node), "", name, name_start=start, lead_row=lead_row)

    def _read_definition(self, node: Node, kind: str, row: int) -> ParsedDefinition | None:
        defined_name = find_name(node, self._source.data, self._spec.receivers)
        if defined_name is None:
            return None
        kind = _refine_kind(kind, defined_name)
        body = find_body(node) if kind not in _VALUES else None
        signature = self._read_signature(node, body, kind)
        lead_row, doc = self._leads.find_above(row)
        if self._spec.docstrings and body is not None:
            doc = read_docstring(self._source, first_named_child(body)) or doc
        visible = self._hidden is None or self._hidden.search(signature) is None
        return ParsedDefinition(
            start=node.start_byte,
            end=self._trim_end(node),
            kind=kind,
            name=defined_name.name,
            name_start=defined_name.start,
            lead_row=lead_row,
            owner=defined_name.owner,
            signature=signature,
            doc=doc,
            visible=visible,
        )

    def _trim_end(self, node: Node) -> int:
        """Some grammars count white space after a definition as part of it."""
        data, start, end = self._source.data, node.start_byte, node.end_byte
        while end > start and data[end - 1] in _WHITESPACE:
            end -= 1
        return end

    def _read_signature(self, node: Node, body: Node | None, kind: str) -> str:
        data = self._source.data
        start = node.start_byte
        end = body.start_byte if body is not None else node.end_byte
        end = min(max(end, start), start + _MAX_SCANNED)
        if kind in _VALUES:
            line = data.find(b"\n", start, end)
            end = line if line >= 0 else end
        text = self._strip_comments(start, end)
        if body is None and kind not in _BRACED:
            text = text.partition(b"{")[0]
        if self._spec.prefix:
            before = data[max(data.rfind(b"\n", 0, start) + 1, start - _MAX_SIGNATURE) : start]
            text = _BREAK.sub(b"", before) + text
        folded = " ".join(text.decode("utf-8", "replace").split())
        if b"\n" in text:
            folded = _WRAPPED.sub("", folded)
        return _trim_signature(folded)[:_MAX_SIGNATURE]

    def _strip_comments(self, start: int, end: int) -> bytes:
        """The bytes of a signature without the comments in it."""
        data = self._source.data
        text = data[start:end]
        if _COMMENT_SIGN.search(text) is None:
            return text
        parts, offset = [], start
        for position in range(start, end):
            if position >= offset and position in self._comments:
                parts.append(data[offset:position])
                offset = min(self._comments[position], end)
        parts.append(data[offset:end])
        return b" ".join(parts)


def read_docstring(source: SourceText, first: Node | None) -> str:
    """The text of a string that opens a body; some grammars wrap it in a statement."""
    if first is not None and first.type == "expression_statement":
        first = first_named_child(first)
    if first is None or first.type != "string":
        return ""
    start = first.start_byte
    return clean_docstring(source.text(start, min(first.end_byte, start + _MAX_SCANNED)))


def _refine_kind(kind: str, defined_name: DefinedName) -> str:
    if defined_name.callable and kind in _VALUES:
        kind = "function"
    if kind == "function" and defined_name.member:
        return "method"
    if kind in ("variable", "field") and len(defined_name.name) > 1 and defined_name.name.isupper():
        return "constant"
    return kind


def _trim_signature(signature: str) -> str:
    """The signature without the signs that would open the body."""
    while signature.endswith("=>"):
        signature = signature[:-2].rstrip(_LOOSE_END)
    return signature.rstrip(_LOOSE_END)
