"""A call graph as text, Mermaid or DOT. Names from source code are data: everything is escaped."""

from __future__ import annotations

from gitindex.model.foreign import escape_line
from gitindex.navigate.callgraph import CALLEES, MAX_CANDIDATES, CallGraph
from gitindex.navigate.fact_queries import DefinitionSite

FORMATS = ("text", "json", "mermaid", "dot")
FILE_LEVEL = "file level"
_SHOWN_CANDIDATES = 20


def render_text(graph: CallGraph) -> str:
    """A tree from the root; a node that was shown before is not opened again."""
    lines = [escape_line(f"{graph.root.qualified_name}  {_location(graph.root)}")]
    _add_branch(graph, graph.root.id, 1, {graph.root.id}, lines)
    if graph.candidates:
        lines += ["", f"not decided ({len(graph.candidates)}; only the name agrees):"]
        lines += [
            escape_line(
                f"  {item.path}:{item.line}  {item.receiver + '.' if item.receiver else ''}{item.name}"
            )
            for item in graph.candidates[:_SHOWN_CANDIDATES]
        ]
    if len(graph.candidates) > _SHOWN_CANDIDATES:
        lines.append(
            f"  {len(graph.candidates) - _SHOWN_CANDIDATES:,} more not shown; "
            f"--format json lists up to {MAX_CANDIDATES}"
        )
    if graph.left_out:
        lines += [
            "",
            f"{graph.left_out:,} more calls not shown: {len(graph.nodes):,} definitions at most; lower --depth",
        ]
    return "\n".join(lines)


def render_mermaid(graph: CallGraph) -> str:
    ids = _number_nodes(graph)
    lines = ["flowchart LR"]
    lines += [f'  {name}["{_escape_mermaid(_node_label(graph, key))}"]' for key, name in ids.items()]
    for start, end in _edge_pairs(graph):
        lines.append(f"  {ids[start]} --> {ids[end]}")
    return "\n".join(lines)


def render_dot(graph: CallGraph) -> str:
    ids = _number_nodes(graph)
    lines = ["digraph calls {", "  rankdir=LR;", "  node [shape=box];"]
    lines += [f'  {name} [label="{_escape_dot(_node_label(graph, key))}"];' for key, name in ids.items()]
    lines += [f"  {ids[start]} -> {ids[end]};" for start, end in _edge_pairs(graph)]
    return "\n".join([*lines, "}"])


def _add_branch(graph: CallGraph, node_id: str, depth: int, shown_ids: set[str], lines: list[str]) -> None:
    forward = graph.direction == CALLEES
    for edge in graph.edges:
        start, end = (edge.caller, edge.callee) if forward else (edge.callee, edge.caller)
        if start is None or start.id != node_id:
            continue
        arrow = "→" if forward else "←"
        name = end.qualified_name if end else FILE_LEVEL
        is_shown = end is not None and end.id in shown_ids
        line = f"{arrow} {name}  {edge.path}:{edge.line}{'  (above)' if is_shown else ''}"
        lines.append("  " * depth + escape_line(line))
        if end is not None and not is_shown:
            shown_ids.add(end.id)
            _add_branch(graph, end.id, depth + 1, shown_ids, lines)


def _edge_pairs(graph: CallGraph) -> list[tuple[str, str]]:
    pairs = [(_node_key(edge.caller, edge.path), edge.callee.id) for edge in graph.edges]
    node_keys = set(_number_nodes(graph))
    return sorted({pair for pair in pairs if pair[0] in node_keys and pair[1] in node_keys})


def _number_nodes(graph: CallGraph) -> dict[str, str]:
    files = {_node_key(None, edge.path) for edge in graph.edges if edge.caller is None}
    return {key: f"n{number}" for number, key in enumerate(sorted({*graph.nodes, *files}))}


def _node_key(item: DefinitionSite | None, path: str) -> str:
    return item.id if item else f"{path}#"


def _node_label(graph: CallGraph, key: str) -> str:
    item = graph.nodes.get(key)
    return f"{item.qualified_name} {_location(item)}" if item else f"{FILE_LEVEL} {key[:-1]}"


def _location(item: DefinitionSite) -> str:
    return f"{item.path}:{item.line}"


def _escape_mermaid(label: str) -> str:
    return "".join(f"#{ord(char)};" if char in '"#<>&\n' else char for char in label)


def _escape_dot(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
