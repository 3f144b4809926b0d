"""A call graph as text, Mermaid or DOT. Names from source code are data: everything is escaped."""

from __future__ import annotations

from gitindex.model.foreign import one_line
from gitindex.navigate.callgraph import CALLEES, MAX_GUESSES, Graph
from gitindex.navigate.fact_queries import Definition

FORMATS = ("text", "json", "mermaid", "dot")
FILE_LEVEL = "file level"
_GUESSES = 20


def text(graph: Graph) -> str:
    """A tree from the root; a node that was shown before is not opened again."""
    lines = [one_line(f"{graph.root.qualified_name}  {_at(graph.root)}")]
    _branch(graph, graph.root.id, 1, {graph.root.id}, lines)
    if graph.guesses:
        lines += ["", f"not decided ({len(graph.guesses)}; only the name agrees):"]
        lines += [
            one_line(f"  {item.path}:{item.line}  {item.receiver + '.' if item.receiver else ''}{item.name}")
            for item in graph.guesses[:_GUESSES]
        ]
    if len(graph.guesses) > _GUESSES:
        lines.append(
            f"  {len(graph.guesses) - _GUESSES:,} more not shown; --format json lists up to {MAX_GUESSES}"
        )
    if graph.left_out:
        lines += [
            "",
            f"{graph.left_out:,} more calls not shown: {len(graph.nodes):,} definitions at most; lower --depth",
        ]
    return "\n".join(lines)


def mermaid(graph: Graph) -> str:
    ids = _numbers(graph)
    lines = ["flowchart LR"]
    lines += [f'  {name}["{_mermaid(_label(graph, key))}"]' for key, name in ids.items()]
    for start, end in _pairs(graph):
        lines.append(f"  {ids[start]} --> {ids[end]}")
    return "\n".join(lines)


def dot(graph: Graph) -> str:
    ids = _numbers(graph)
    lines = ["digraph calls {", "  rankdir=LR;", "  node [shape=box];"]
    lines += [f'  {name} [label="{_dot(_label(graph, key))}"];' for key, name in ids.items()]
    lines += [f"  {ids[start]} -> {ids[end]};" for start, end in _pairs(graph)]
    return "\n".join([*lines, "}"])


def _branch(graph: Graph, here: str, depth: int, seen: set[str], lines: list[str]) -> None:
    forward = graph.direction == CALLEES
    for edge in graph.edges:
        start, end = (edge.caller, edge.callee) if forward else (edge.callee, edge.caller)
        if start is None or start.id != here:
            continue
        arrow = "→" if forward else "←"
        name = end.qualified_name if end else FILE_LEVEL
        known = end is not None and end.id in seen
        line = f"{arrow} {name}  {edge.path}:{edge.line}{'  (above)' if known else ''}"
        lines.append("  " * depth + one_line(line))
        if end is not None and not known:
            seen.add(end.id)
            _branch(graph, end.id, depth + 1, seen, lines)


def _pairs(graph: Graph) -> list[tuple[str, str]]:
    found = [(_key(edge.caller, edge.path), edge.callee.id) for edge in graph.edges]
    known = set(_numbers(graph))
    return sorted({pair for pair in found if pair[0] in known and pair[1] in known})


def _numbers(graph: Graph) -> dict[str, str]:
    files = {_key(None, edge.path) for edge in graph.edges if edge.caller is None}
    return {key: f"n{at}" for at, key in enumerate(sorted({*graph.nodes, *files}))}


def _key(item: Definition | None, path: str) -> str:
    return item.id if item else f"{path}#"


def _label(graph: Graph, key: str) -> str:
    item = graph.nodes.get(key)
    return f"{item.qualified_name} {_at(item)}" if item else f"{FILE_LEVEL} {key[:-1]}"


def _at(item: Definition) -> str:
    return f"{item.path}:{item.line}"


def _mermaid(label: str) -> str:
    return "".join(f"#{ord(sign)};" if sign in '"#<>&\n' else sign for sign in label)


def _dot(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
