"""Callers or callees of a definition, up to a depth (QU-3, QU-4).

Edges are calls that a rule or exact facts decided. Calls that only share a name are listed apart as candidate edges,
are never followed, and a remark explains each.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from dataclasses import field as mutable_field

from gitindex.model.frozen import field, frozen
from gitindex.model.json_answer import EMBEDDED, json_key
from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.navigate.layer import Calls, CandidateCall, Edge, Layers
from gitindex.navigate.remarks import CallGraphRemark, RemarkList, select_remarks
from gitindex.view.snapshot import SnapshotView

CALLERS = "callers"
CALLEES = "callees"
MAX_DEPTH = 8
MAX_NODES = 300
MAX_CANDIDATES = 100
_MAX_SHOWN = 8  # candidates of one edge, names in one remark


@dataclass(slots=True)
class CallGraph:
    """`edges` connect nodes; `candidates` start or end at one."""

    root: DefinitionSite
    direction: str
    depth: int
    nodes: dict[str, DefinitionSite] = mutable_field(default_factory=dict)
    edges: list[Edge] = mutable_field(default_factory=list)
    candidates: list[CandidateCall] = mutable_field(default_factory=list)
    remarks: list[CallGraphRemark] = mutable_field(default_factory=list)
    left_out: int = 0  # edges beyond the node limit


@frozen
class GraphNode:
    symbol_id: str
    name: str
    qualified_name: str
    kind: str
    path: str
    line: int
    end_line: int
    precision: str


@frozen
class GraphEdge:
    """A call between two nodes, by symbol id; `caller` is None for code at file level."""

    caller: str | None = field(metadata=json_key("from"))
    callee: str = field(metadata=json_key("to"))
    path: str
    line: int
    column: int
    precision: str
    how: str


@frozen
class CandidateEdge:
    """A call that only shares its name with the `candidates`, by symbol id."""

    caller: str | None = field(metadata=json_key("from"))
    name: str
    receiver: str
    path: str
    line: int
    column: int
    candidates: tuple[str, ...]
    candidate_count: int
    precision: str = "text"


@frozen
class CallGraphSummary:
    """A call graph as an answer shows it."""

    direction: str
    depth: int
    root: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    candidate_edges: tuple[CandidateEdge, ...]
    candidate_edge_count: int
    left_out_edges: int
    note_list: RemarkList = field(metadata=EMBEDDED)

    @property
    def truncated(self) -> bool:
        return self.left_out_edges > 0 or len(self.candidate_edges) < self.candidate_edge_count


def build(
    layers: Layers, root: DefinitionSite, direction: str, depth: int, limit: int = MAX_NODES
) -> CallGraph:
    """Breadth first from `root`, so that the node limit leaves out the farthest definitions."""
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
    """Add remarks about files whose facts may be incomplete."""
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


def summarize(graph: CallGraph, note_limit: int) -> CallGraphSummary:
    """The graph as an answer shows it: nodes by place, at most `MAX_CANDIDATES` candidate edges."""
    nodes = sorted(graph.nodes.values(), key=lambda item: item.place)
    return CallGraphSummary(
        direction=graph.direction,
        depth=graph.depth,
        root=graph.root.id,
        nodes=tuple(_make_node(item) for item in nodes),
        edges=tuple(_make_edge(item) for item in graph.edges),
        candidate_edges=tuple(_make_candidate_edge(item) for item in graph.candidates[:MAX_CANDIDATES]),
        candidate_edge_count=len(graph.candidates),
        left_out_edges=graph.left_out,
        note_list=select_remarks(graph.remarks, _collect_files(graph), set(graph.nodes), note_limit),
    )


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


def _make_node(item: DefinitionSite) -> GraphNode:
    return GraphNode(
        symbol_id=item.id,
        name=item.name,
        qualified_name=item.qualified_name,
        kind=item.kind,
        path=item.path,
        line=item.line,
        end_line=item.end_line,
        precision=item.layer,
    )


def _make_edge(edge: Edge) -> GraphEdge:
    return GraphEdge(
        caller=edge.caller.id if edge.caller else None,
        callee=edge.callee.id,
        path=edge.path,
        line=edge.line,
        column=edge.column,
        precision=edge.precision,
        how=edge.how,
    )


def _make_candidate_edge(call: CandidateCall) -> CandidateEdge:
    return CandidateEdge(
        caller=call.caller.id if call.caller else None,
        name=call.name,
        receiver=call.receiver,
        path=call.path,
        line=call.line,
        column=call.column,
        candidates=tuple(item.id for item in call.definitions[:_MAX_SHOWN]),
        candidate_count=len(call.definitions),
    )
