"""The import graph between files, by path (QU-3)."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import NamedTuple

from gitindex.model.frozen import field, frozen
from gitindex.model.json_answer import json_key
from gitindex.navigate import fact_queries
from gitindex.navigate.fact_queries import ImportSite
from gitindex.navigate.modules import Modules
from gitindex.view.snapshot import SnapshotView

IMPORTS = "imports"
IMPORTERS = "importers"


class FileEdge(NamedTuple):
    source: str
    target: str
    line: int
    module: str


@frozen
class ImportEdge:
    """A file that imports another one, as an answer shows it."""

    source: str = field(metadata=json_key("from"))
    target: str = field(metadata=json_key("to"))
    line: int
    module: str


@frozen
class ImportGraph:
    """Files reached from `path`; `external` are its imports that lead to no indexed file."""

    path: str
    direction: str
    depth: int
    files: tuple[str, ...]
    edges: tuple[ImportEdge, ...]
    external: tuple[str, ...]
    left_out_edges: int
    precision: str = "syntactic"

    @property
    def truncated(self) -> bool:
        return self.left_out_edges > 0


def resolve_imports(view: SnapshotView) -> tuple[list[FileEdge], list[ImportSite]]:
    """Imports that lead to files of the codebase, and those that lead outside or nowhere."""
    modules = Modules(fact_queries.read_languages(view))
    inside: list[FileEdge] = []
    outside: list[ImportSite] = []
    for site in fact_queries.all_imports(view):
        targets = [path for path in modules.find_files(site) if path != site.path]
        inside += [FileEdge(site.path, path, site.line, site.module) for path in targets]
        if not targets:
            outside.append(site)
    return inside, outside


def build_graph(view: SnapshotView, path: str, direction: str, depth: int, limit: int) -> ImportGraph:
    """Files reached from `path`, breadth first."""
    inside, outside = resolve_imports(view)
    edges_by_file: dict[str, list[FileEdge]] = defaultdict(list)
    for edge in inside:
        edges_by_file[edge.source if direction == IMPORTS else edge.target].append(edge)
    nodes = {path: 0}
    reached_edges: list[FileEdge] = []
    left_out = 0
    queue = deque([path])
    while queue:
        current = queue.popleft()
        if nodes[current] >= depth:
            continue
        for edge in edges_by_file[current]:
            neighbour = edge.target if direction == IMPORTS else edge.source
            if neighbour not in nodes:
                if len(nodes) >= limit:
                    left_out += 1
                    continue
                nodes[neighbour] = nodes[current] + 1
                queue.append(neighbour)
            reached_edges.append(edge)
    external = sorted({site.module for site in outside if site.path == path}) if direction == IMPORTS else []
    return ImportGraph(
        path=path,
        direction=direction,
        depth=depth,
        files=tuple(sorted(nodes)),
        edges=tuple(ImportEdge(*edge) for edge in dict.fromkeys(reached_edges)),
        external=tuple(external),
        left_out_edges=left_out,
    )
