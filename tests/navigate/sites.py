"""Definitions made by hand, and layers that answer from tables."""

from __future__ import annotations

from collections.abc import Sequence

from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.navigate.layer import Calls, Edge, References


def site(name: str, line: int = 1, path: str = "a.py", parent: int = -1, doc: str = "") -> DefinitionSite:
    return DefinitionSite(
        path=path,
        language="python",
        ordinal=line - 1,
        name=name.rpartition(".")[2],
        qualified_name=name,
        kind="function",
        line=line,
        column=5,
        end_line=line,
        end_column=9,
        signature=f"def {name}()",
        doc=doc,
        parent=parent,
    )


def edge(caller: DefinitionSite | None, callee: DefinitionSite, line: int = 9) -> Edge:
    return Edge(caller, callee, "a.py", line, 1, "syntactic", "same_file")


class TableLayers:
    """Stands for `Layers`: what calls what, and where names are defined."""

    def __init__(
        self,
        calls: dict[str, Calls] | None = None,
        references: References | None = None,
        definitions: Sequence[DefinitionSite] = (),
    ) -> None:
        self.calls = calls or {}
        self.references = references or References()
        self.definitions = list(definitions)
        self.asked: list[object] = []

    def calls_from(self, definition: DefinitionSite) -> Calls:
        return self.calls.get(definition.name, Calls())

    calls_to = calls_from

    def find_references(self, targets: Sequence[DefinitionSite]) -> References:
        return self.references

    def find_definitions(self, name: str) -> list[DefinitionSite]:
        self.asked.append(name)
        return self.definitions

    def find_definitions_at(self, path: str, line: int, column: int) -> list[DefinitionSite]:
        self.asked.append((path, line, column))
        return self.definitions
