"""Who calls whom, as far as asked (QU-3, QU-4).

Edges are calls that a rule or exact facts decided; calls that only share a name stand apart as candidate edges, are
never followed, and are explained in notes.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from gitindex.navigate.fact_queries import Definition
from gitindex.navigate.layer import Calls, Edge, Guess, Layers
from gitindex.navigate.remarks import Note, report
from gitindex.view.snapshot import SnapshotView

CALLERS = "callers"
CALLEES = "callees"
MAX_DEPTH = 8
MAX_NODES = 300
MAX_GUESSES = 100
_SHOWN = 8  # candidates of one guess, names of one note


@dataclass(slots=True)
class Graph:
    """`edges` connect nodes; `guesses` start or end at one."""

    root: Definition
    direction: str
    depth: int
    nodes: dict[str, Definition] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    guesses: list[Guess] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    left_out: int = 0  # edges beyond the node limit


def build(layers: Layers, root: Definition, direction: str, depth: int, limit: int = MAX_NODES) -> Graph:
    """Breadth first from `root`, so that what is left out is what is farthest."""
    graph = Graph(root, direction, depth, {root.id: root})
    waiting = deque([(root, 0)])
    while waiting:
        here, level = waiting.popleft()
        if level >= min(depth, MAX_DEPTH):
            continue
        calls = layers.calls_from(here) if direction == CALLEES else layers.calls_to(here)
        _note(graph, here, calls)
        graph.guesses += calls.guesses
        for edge in calls.edges:
            other = edge.callee if direction == CALLEES else edge.caller
            if other is not None and other.id not in graph.nodes:
                if len(graph.nodes) >= limit:
                    graph.left_out += 1
                    continue
                graph.nodes[other.id] = other
                waiting.append((other, level + 1))
            graph.edges.append(edge)
    graph.edges = list(dict.fromkeys(graph.edges))
    graph.guesses = list(dict.fromkeys(graph.guesses))
    return graph


def add_file_notes(graph: Graph, view: SnapshotView) -> None:
    """Say where facts may be incomplete."""
    for path in sorted(_files(graph)):
        record = view.record(path)
        if record is not None and record.text_only:
            graph.notes.append(
                Note(
                    "text_only",
                    path,
                    f"indexed as text only ({record.text_only}); its calls are not known",
                )
            )
        elif record is not None and record.parse_error:
            graph.notes.append(Note("parse_error", path, "the file has syntax errors; calls may be missing"))
        if record is not None and record.truncated:
            graph.notes.append(Note("truncated_file", path, "the file is too long to be indexed completely"))


def to_json(graph: Graph, note_limit: int) -> dict[str, Any]:
    shown = graph.guesses[:MAX_GUESSES]
    return {
        "direction": graph.direction,
        "depth": graph.depth,
        "root": graph.root.id,
        "nodes": [_node(item) for item in sorted(graph.nodes.values(), key=lambda item: item.place)],
        "edges": [_edge(item) for item in graph.edges],
        "candidateEdges": [_guess(item) for item in shown],
        "candidateEdgeCount": len(graph.guesses),
        "truncated": bool(graph.left_out) or len(shown) < len(graph.guesses),
        "leftOutEdges": graph.left_out,
        **report(graph.notes, _files(graph), set(graph.nodes), note_limit),
    }


def _files(graph: Graph) -> set[str]:
    return {item.path for item in graph.nodes.values()} | {edge.path for edge in graph.edges}


def _note(graph: Graph, here: Definition, calls: Calls) -> None:
    for guess in calls.guesses:
        subject = here if graph.direction == CALLEES else guess.caller
        names = ", ".join(item.id for item in guess.candidates[:_SHOWN])
        told = f"{guess.receiver + '.' if guess.receiver else ''}{guess.name} may mean {names}"
        more = len(guess.candidates) - _SHOWN
        symbol = subject.id if subject is not None and subject.id in graph.nodes else here.id
        path = guess.path if graph.direction == CALLEES else here.path
        graph.notes.append(
            Note("ambiguous_call", path, told + (f" and {more} more" if more > 0 else ""), symbol, guess.line)
        )
    if calls.external:
        names = ", ".join(sorted(calls.external)[:_SHOWN])
        total = sum(calls.external.values())
        detail = f"{total} calls to names not defined here: {names}" + (
            ", …" if len(calls.external) > _SHOWN else ""
        )
        graph.notes.append(Note("external_calls", here.path, detail, here.id, here.line))


def _node(item: Definition) -> dict[str, Any]:
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


def _edge(edge: Edge) -> dict[str, Any]:
    return {
        "from": edge.caller.id if edge.caller else None,
        "to": edge.callee.id,
        "path": edge.path,
        "line": edge.line,
        "column": edge.column,
        "precision": edge.precision,
        "how": edge.how,
    }


def _guess(guess: Guess) -> dict[str, Any]:
    return {
        "from": guess.caller.id if guess.caller else None,
        "name": guess.name,
        "receiver": guess.receiver,
        "path": guess.path,
        "line": guess.line,
        "column": guess.column,
        "precision": "text",
        "candidates": [item.id for item in guess.candidates[:_SHOWN]],
        "candidateCount": len(guess.candidates),
    }
