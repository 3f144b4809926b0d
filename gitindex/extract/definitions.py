"""Definitions of a syntax tree: kind, name, signature, range and documentation, each read from its own node."""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from gitindex.extract.comments import Leads, clean_string
from gitindex.extract.definition_names import Named, body_of, first_named, named, scope_name
from gitindex.extract.grammars import Spec
from gitindex.extract.source_text import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_SIGNATURE = 240
_SCANNED = 2000  # bytes of a signature looked at
_VALUES = frozenset({"variable", "field", "constant"})
_BRACED = _VALUES | {"type"}  # their braces are no body
_BREAK = re.compile(rb".*[{}();,]", re.S)
_COMMENT_SIGN = re.compile(rb"#|//|/\*|--")
_NOISE = b" \t\r\n"
_WRAPPED = re.compile(r"(?<=[(\[]) |,? (?=[)\]])")  # what only the layout over several lines adds
_LOOSE_END = " :{=;,\\"


class Definition(NamedTuple):
    """A symbol in the making; `kind` is "" for a mere scope."""

    start: int
    end: int
    kind: str
    name: str
    owner: str
    at: int  # of the name
    signature: str
    doc: str
    lead: int  # 0-based first row with its comments and decorators
    visible: bool  # no mark hides it from other files


class Reader:
    """Reads the definitions of one file."""

    def __init__(self, source: Source, spec: Spec, leads: Leads, comments: list[Node]) -> None:
        self._source = source
        self._spec = spec
        self._leads = leads
        self._hidden = re.compile(spec.hidden) if spec.hidden else None
        self._comments = {node.start_byte: node.end_byte for node in comments}

    def definitions(self, captures: Mapping[str, list[Node]], order: Mapping[str, int]) -> list[Definition]:
        """Outer before inner, one per node."""
        found = [
            (node.start_byte, -node.end_byte, order[capture], capture, node)
            for capture, nodes in captures.items()
            if capture.startswith(("def.", "scope"))
            for node in nodes
        ]
        found.sort(key=itemgetter(0, 1, 2))
        rows = self._source.rows(item[0] for item in found)
        result: list[Definition] = []
        last = (-1, -1)
        for (start, end, _, capture, node), row in zip(found, rows, strict=True):
            if (start, end) == last:
                continue
            last = (start, end)
            made = (
                self._scope(node, capture, row) if capture[0] == "s" else self._define(node, capture[4:], row)
            )
            if made is not None:
                result.append(made)
        return result

    def _scope(self, node: Node, capture: str, row: int) -> Definition:
        name = scope_name(node, capture.partition(".")[2], self._source.data)
        lead, _ = self._leads.above(row)
        start = node.start_byte
        return Definition(start, self._end(node), "", name, "", start, "", "", lead, True)

    def _define(self, node: Node, kind: str, row: int) -> Definition | None:
        called = named(node, self._source.data, self._spec.receivers)
        if called is None:
            return None
        kind = _refined(kind, called)
        body = body_of(node) if kind not in _VALUES else None
        signature = self._signature(node, body, kind)
        lead, doc = self._leads.above(row)
        if self._spec.docstrings and body is not None:
            doc = docstring(self._source, first_named(body)) or doc
        visible = self._hidden is None or self._hidden.search(signature) is None
        return Definition(
            node.start_byte,
            self._end(node),
            kind,
            called.name,
            called.owner,
            called.start,
            signature,
            doc,
            lead,
            visible,
        )

    def _end(self, node: Node) -> int:
        """Some grammars count white space after a definition as part of it."""
        data, start, end = self._source.data, node.start_byte, node.end_byte
        while end > start and data[end - 1] in _NOISE:
            end -= 1
        return end

    def _signature(self, node: Node, body: Node | None, kind: str) -> str:
        data = self._source.data
        start = node.start_byte
        end = body.start_byte if body is not None else node.end_byte
        end = min(max(end, start), start + _SCANNED)
        if kind in _VALUES:
            line = data.find(b"\n", start, end)
            end = line if line >= 0 else end
        text = self._uncommented(start, end)
        if body is None and kind not in _BRACED:
            text = text.partition(b"{")[0]
        if self._spec.prefix:
            before = data[max(data.rfind(b"\n", 0, start) + 1, start - _SIGNATURE) : start]
            text = _BREAK.sub(b"", before) + text
        folded = " ".join(text.decode("utf-8", "replace").split())
        if b"\n" in text:
            folded = _WRAPPED.sub("", folded)
        return _trimmed(folded)[:_SIGNATURE]

    def _uncommented(self, start: int, end: int) -> bytes:
        """Comments inside a signature are not part of it."""
        data = self._source.data
        text = data[start:end]
        if _COMMENT_SIGN.search(text) is None:
            return text
        parts, at = [], start
        for position in range(start, end):
            if position >= at and position in self._comments:
                parts.append(data[at:position])
                at = min(self._comments[position], end)
        parts.append(data[at:end])
        return b" ".join(parts)


def docstring(source: Source, first: Node | None) -> str:
    """The words of a string that opens a body; some grammars wrap it in a statement."""
    if first is not None and first.type == "expression_statement":
        first = first_named(first)
    if first is None or first.type != "string":
        return ""
    start = first.start_byte
    return clean_string(source.text(start, min(first.end_byte, start + _SCANNED)))


def _refined(kind: str, called: Named) -> str:
    if called.callable and kind in _VALUES:
        kind = "function"
    if kind == "function" and called.member:
        return "method"
    if kind in ("variable", "field") and len(called.name) > 1 and called.name.isupper():
        return "constant"
    return kind


def _trimmed(signature: str) -> str:
    """Without the sign that would open the body."""
    while signature.endswith("=>"):
        signature = signature[:-2].rstrip(_LOOSE_END)
    return signature.rstrip(_LOOSE_END)
