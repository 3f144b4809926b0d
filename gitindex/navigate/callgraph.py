"""Who calls whom, as far as asked (QU-3, QU-4).

Edges are calls that a rule or exact facts decided; calls that only share a name stand apart as candidate edges, are
never followed, and are explained in notes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.navigate.layer import Calls, CandidateCall, Edge, Layers
from gitindex.navigate.remarks import CallGraphRemark, render_remarks
from gitindex.view.snapshot import SnapshotView

CALLERS = "callers"
CALLEES = "callees"
MAX_DEPTH = 8
MAX_NODES = 300
MAX_CANDIDATES = 100
_MAX_SHOWN = 8  # candidates of one guess, names of one note


@dataclass(slots=True)
class CallGraph:
    """`edges` connect nodes; `candidates` start or end at one."""

    root: DefinitionSite
    direction: str
    depth: int
    nodes: dict[str, DefinitionSite] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    candidates: list[CandidateCall] = field(default_factory=list)
    remarks: list[CallGraphRemark] = field(default_factory=list)
    left_out: int = 0  # edges beyond the node limit


def build(
    layers: Layers, root: DefinitionSite, direction: str, depth: int, limit: int = MAX_NODES
) -> CallGraph:
    """Breadth first from `root`, so that what is left out is what is farthest."""
    graph = CallGraph(root, direction, depth, {root.id: root})
    queue = deque([(root, 0)])
    while queue:
        definition, level = queue.popleft()
        if level >= min(depth, MAX_DEPTH):
            continue
        calls = layers.calls_from(definition) if direction == CALLEES else layers.calls_to(definition)
        _add_call_remarks(graph, definition, calls)
        graph.candidates += calls.candidates
        for edge in calls.edges:
            other = edge.callee if direction == CALLEES else edge.caller
            if other is not None and other.id not in graph.nodes:
                if len(graph.nodes) >= limit:
                    graph.left_out += 1
                    continue
                graph.nodes[other.id] = other
                queue.append((other, level + 1))
            graph.edges.append(edge)
    graph.edges = list(dict.fromkeys(graph.edges))
    graph.candidates = list(dict.fromkeys(graph.candidates))
    return graph


def add_file_remarks(graph: CallGraph, view: SnapshotView) -> None:
    """Say where facts may be incomplete."""
    for path in sorted(_collect_files(graph)):
        record = view.record(path)
        if record is not None and record.text_only:
            graph.remarks.append(
                CallGraphRemark(
                    "text_only",
                    path,
                    f"indexed as text only ({record.text_only}); its calls are not known",
                )
            )
        elif record is not None and record.parse_error:
            graph.remarks.append(
                CallGraphRemark("parse_error", path, "the file has syntax errors; calls may be missing")
            )
        if record is not None and record.truncated:
            graph.remarks.append(
                CallGraphRemark("truncated_file", path, "the file is too long to be indexed completely")
            )


def to_json(graph: CallGraph, remark_limit: int) -> dict[str, Any]:
    shown_candidates = graph.candidates[:MAX_CANDIDATES]
    return {
        "direction": graph.direction,
        "depth": graph.depth,
        "root": graph.root.id,
        "nodes": [_node_json(item) for item in sorted(graph.nodes.values(), key=lambda item: item.place)],
        "edges": [_edge_json(item) for item in graph.edges],
        "candidateEdges": [_candidate_json(item) for item in shown_candidates],
        "candidateEdgeCount": len(graph.candidates),
        "truncated": bool(graph.left_out) or len(shown_candidates) < len(graph.candidates),
        "leftOutEdges": graph.left_out,
        **render_remarks(graph.remarks, _collect_files(graph), set(graph.nodes), remark_limit),
    }


def _collect_files(graph: CallGraph) -> set[str]:
    return {item.path for item in graph.nodes.values()} | {edge.path for edge in graph.edges}


def _add_call_remarks(graph: CallGraph, definition: DefinitionSite, calls: Calls) -> None:
    for candidate in calls.candidates:
        subject = definition if graph.direction == CALLEES else candidate.caller
        names = ", ".join(item.id for item in candidate.definitions[:_MAX_SHOWN])
        message = f"{candidate.receiver + '.' if candidate.receiver else ''}{candidate.name} may mean {names}"
        hidden_count = len(candidate.definitions) - _MAX_SHOWN
        symbol = subject.id if subject is not None and subject.id in graph.nodes else definition.id
        path = candidate.path if graph.direction == CALLEES else definition.path
        graph.remarks.append(
            CallGraphRemark(
                "ambiguous_call",
                path,
                message + (f" and {hidden_count} more" if hidden_count > 0 else ""),
                symbol,
                candidate.line,
            )
        )
    if calls.external:
        names = ", ".join(sorted(calls.external)[:_MAX_SHOWN])
        total = sum(calls.external.values())
        detail = f"{total} calls to names not defined here: {names}" + (
            ", …" if len(calls.external) > _MAX_SHOWN else ""
        )
        graph.remarks.append(
            CallGraphRemark("external_calls", definition.path, detail, definition.id, definition.line)
        )


def _node_json(item: DefinitionSite) -> dict[str, Any]:
    return {
        "symbolId": item.id,
        "name": item.name,
        "qualified_name": item.qualified_name,
        "kind": item.kind,
        "path": item.path,
        "line": item.line,
        "end_line": item.end_line,
        "precision": item.layer,
    }


def _edge_json(edge: Edge) -> dict[str, Any]:
    return {
        "from": edge.caller.id if edge.caller else None,
        "to": edge.callee.id,
        "path": edge.path,
        "line": edge.line,
        "column": edge.column,
        "precision": edge.precision,
        "how": edge.how,
    }


def _candidate_json(candidate: CandidateCall) -> dict[str, Any]:
    return {
        "from": candidate.caller.id if candidate.caller else None,
        "name": candidate.name,
        "receiver": candidate.receiver,
        "path": candidate.path,
        "line": candidate.line,
        "column": candidate.column,
        "precision": "text",
        "candidates": [item.id for item in candidate.definitions[:_MAX_SHOWN]],
        "candidateCount": len(candidate.definitions),
    }
