"""Structural questions as whole answers: symbol, references, outline, call graph, imports, map, slice (QU-3)."""

from __future__ import annotations

from typing import Any

from gitindex.errors import UsageError
from gitindex.extract.sandbox import SandboxDied
from gitindex.model.records import FileRecord
from gitindex.navigate import callgraph as graphs
from gitindex.navigate import diagram, fact_queries, file_imports, place_syntax, remarks, repomap, symbol
from gitindex.navigate import outline as outlines
from gitindex.navigate import references as refs
from gitindex.navigate import slice as slices
from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.ops.answers.answer_budget import fit, fit_text, json_length
from gitindex.ops.answers.gated_read import Reading, ReadOptions, explain_past_end, open_reading
from gitindex.ops.codebase import Codebase

_MAX_LISTED = 20
MAX_TOKENS = 100_000


def find_symbol(codebase: Codebase, name: str, options: ReadOptions, limit: int = 100) -> dict[str, Any]:
    """Definitions by name, qualified name or PATH:LINE[:COL]."""
    _require(name, "a symbol's name")
    with open_reading(codebase, options) as read:
        definitions = _find_targets(read, name)
        results = [symbol.to_json(item) for item in definitions[:limit]]
        extra = _describe_symbol(read, name, definitions)
        answer = read.answer(
            "ok" if definitions or extra.get("hover") else "not_found",
            query=name,
            results=results,
            result_count=len(definitions),
            truncated=len(results) < len(definitions),
            **extra,
        )
        return fit(answer, read.budget, ["results"])


def find_references(
    codebase: Codebase, target: str, options: ReadOptions, limit: int = refs.LIMIT
) -> dict[str, Any]:
    """References to a name or to what stands at PATH:LINE:COL."""
    _require(target, "a name or PATH:LINE:COL")
    with open_reading(codebase, options) as read:
        definitions = _find_targets(read, target)
        answer = refs.collect_references(read.layers(), definitions, limit)
        name = definitions[0].name if definitions else target
        extra = {} if definitions else _explain_miss(read, name)
        shaped = read.answer(
            "ok" if definitions else "not_found", symbol=name, query=target, **answer, **extra
        )
        return fit(shaped, read.budget, ["definitions", "references", "candidates"])


def outline(codebase: Codebase, path: str, options: ReadOptions) -> dict[str, Any]:
    with open_reading(codebase, options) as read:
        key = read.resolve_path(path)
        record = read.view.record(key)
        if record is None or record.skip:
            return _answer_no_file(read, key)
        semantic = read.exact_layer()
        exact = semantic is not None and semantic.covers(key)
        entries = outlines.build_outline(
            read.view, key, semantic.label_exact if semantic else lambda item: item
        )
        shortened = json_length(entries) > read.budget
        if shortened:  # documentation goes before definitions do
            outlines.drop_docs(entries)
        status = "ok" if entries or record.symbols or supports_outline(record.language) else "unsupported"
        message = (
            {} if status == "ok" else {"message": f"{key}: no outline for {record.language or 'this file'}"}
        )
        answer = read.answer(
            status,
            path=key,
            language=record.language,
            lines=record.lines,
            parse_error=record.parse_error,
            text_only=record.text_only,
            symbols=entries,
            precision="semantic" if exact else "syntactic",
            docs_left_out=shortened,
            **message,
        )
        return fit(answer, read.budget, ["symbols"])


def call_graph(
    codebase: Codebase,
    target: str,
    options: ReadOptions,
    *,
    direction: str = graphs.CALLERS,
    depth: int = 2,
    shape: str = "json",
    note_limit: int = remarks.LIMIT,
    limit: int = graphs.MAX_NODES,
) -> dict[str, Any]:
    """Callers or callees of one definition; `shape` adds a drawing as `diagram`."""
    _require(target, "a symbol")
    if direction not in (graphs.CALLERS, graphs.CALLEES):
        raise UsageError(f"unknown direction {direction!r}", hint="use callers or callees")
    if not 1 <= depth <= graphs.MAX_DEPTH:
        raise UsageError(f"depth must be between 1 and {graphs.MAX_DEPTH}, found {depth}")
    if shape not in diagram.FORMATS:
        raise UsageError(f"unknown format {shape!r}", hint=f"use one of {', '.join(diagram.FORMATS)}")
    with open_reading(codebase, options) as read:
        definitions = [item for item in _find_targets(read, target) if item.kind not in ("heading", "key")]
        if len(definitions) != 1:
            return _answer_undecided(read, target, definitions)
        graph = graphs.build(read.layers(), definitions[0], direction, depth, limit)
        graphs.add_file_remarks(graph, read.view)
        drawing = {} if shape == "json" else {"diagram": _draw_graph(graph, shape), "format": shape}
        answer = read.answer("ok", target=target, **graphs.to_json(graph, note_limit), **drawing)
        return fit(answer, read.budget, ["nodes", "edges", "candidateEdges", "notes"])


def import_graph(
    codebase: Codebase,
    path: str,
    options: ReadOptions,
    *,
    direction: str = file_imports.IMPORTS,
    depth: int = 1,
) -> dict[str, Any]:
    if direction not in (file_imports.IMPORTS, file_imports.IMPORTERS):
        raise UsageError(f"unknown direction {direction!r}", hint="use imports or importers")
    if not 1 <= depth <= graphs.MAX_DEPTH:
        raise UsageError(f"depth must be between 1 and {graphs.MAX_DEPTH}, found {depth}")
    with open_reading(codebase, options) as read:
        key = read.resolve_path(path)
        record = read.view.record(key)
        if record is None or record.skip:
            return _answer_no_file(read, key)
        graph = file_imports.build_graph(read.view, key, direction, depth, graphs.MAX_NODES)
        return fit(read.answer("ok", **graph), read.budget, ["files", "edges", "external"])


def repo_map(
    codebase: Codebase,
    options: ReadOptions,
    *,
    tokens: int = repomap.DEFAULT_TOKENS,
    focus: tuple[str, ...] = (),
) -> dict[str, Any]:
    """The most leaned-on definitions within a token budget."""
    if not 1 <= tokens <= MAX_TOKENS:
        raise UsageError(f"tokens must be between 1 and {MAX_TOKENS:,}, found {tokens}")
    with open_reading(codebase, options) as read:
        keys = [read.resolve_path(path) for path in focus]
        for key in keys:
            record = read.view.record(key)
            if record is None or record.skip:
                return _answer_no_file(read, key)
        answer = read.answer("ok", **repomap.build_repo_map(read.view, tokens, keys))
        answer["map"], lines_cut = fit_text(answer["map"], read.budget // 2)
        shortened = {**answer, "map_lines_left_out": lines_cut, "truncated": True} if lines_cut else answer
        return fit(shortened, read.budget, ["files"])


def slice_variable(
    codebase: Codebase,
    path: str,
    line: int,
    name: str,
    options: ReadOptions,
    *,
    direction: str = slices.BACKWARD,
) -> dict[str, Any]:
    """What a variable at a line depends on, or what depends on it, within its function."""
    _require(name, "a variable's name")
    if direction not in (slices.BACKWARD, slices.FORWARD, slices.BOTH):
        raise UsageError(f"unknown direction {direction!r}", hint="use backward, forward or both")
    with open_reading(codebase, options) as read:
        key = read.resolve_path(path)
        record = read.view.record(key)
        text = read.texts.get(key)
        if record is None or record.skip or text is None:
            return _answer_no_file(read, key)
        try:
            result = slices.slice_lines(record.language, text.text, line, name, direction)
        except SandboxDied as death:
            message_text = f"{key}: a slice takes more than a file may ({death.reason})"
            return read.answer("unsupported", path=key, message=message_text)
        if result is None:
            return read.answer(
                "unsupported", path=key, message=f"no slice for {record.language or 'this file'}"
            )
        status = "ok" if result["lines"] else "not_found"
        message = {} if result["lines"] else {"message": f"{name} does not occur in line {line} of {key}"}
        answer = read.answer(status, path=key, exact_text=text.exact, **result, **message)
        return fit(answer, read.budget, ["lines"])


def supports_outline(language: str) -> bool:
    """Would a file of this language have an outline, had it definitions?"""
    from gitindex.extract.grammars import DATA_LANGUAGES, SPECS

    return language in SPECS or language in DATA_LANGUAGES or language == "markdown"


def _find_targets(read: Reading, text: str) -> list[DefinitionSite]:
    """Definitions meant by a name or a position; the path of a position may be relative to where one stands."""
    position = place_syntax.parse_position(text)
    if position is None:
        return symbol.find(read.layers(), text)
    key = read.resolve_path(position.path)
    if position.column is not None:
        return symbol.find(read.layers(), f"{key}:{position.line}:{position.column}")
    starting = [item for item in fact_queries.definitions_in(read.view, key) if item.line == position.line]
    enclosing = symbol.find_enclosing(read.view, key, position.line)
    return starting or ([enclosing] if enclosing else [])


def _describe_symbol(read: Reading, name: str, definitions: list[DefinitionSite]) -> dict[str, Any]:
    """Hover text and implementations where exact facts have them; names that look alike where nothing was found."""
    extra = {} if definitions else _explain_miss(read, name)
    exact = read.exact_layer()
    if exact is None:
        return extra
    position = place_syntax.parse_position(name)
    if position is not None and position.column is not None:
        extra["hover"] = exact.hover(read.resolve_path(position.path), position.line, position.column)
    elif len(definitions) == 1:
        extra["hover"] = exact.hover(*definitions[0].place)
    if extra.get("hover"):
        extra.pop("message", None)  # known, though defined elsewhere
    # A position may mean merged declarations: all of them are meant.
    if len(definitions) == 1 or (definitions and position is not None and position.column is not None):
        implementations = (
            item for definition in definitions for item in exact.find_implementations(definition)
        )
        extra["implementations"] = [symbol.to_json(item) for item in dict.fromkeys(implementations)]
    return extra


def _explain_miss(read: Reading, name: str) -> dict[str, Any]:
    """Why nothing was found: names that look alike, or what is wrong with a position; `path` when it is no place."""
    position = place_syntax.parse_position(name)
    if position is None:
        message = f"no definition of {name}"
        return {"message": message, "suggestions": symbol.suggest_names(read.view, name)}
    key = read.resolve_path(position.path)
    record = read.view.record(key)
    if record is None or record.skip:
        return {"message": _explain_absence(key, record), "suggestions": [], "path": key}
    if position.line > record.lines:
        return {"message": explain_past_end(key, record.lines, position.line), "suggestions": [], "path": key}
    message = f"nothing with a definition at {key}:{position.line}" + (
        f":{position.column}" if position.column else ""
    )
    return {"message": message, "suggestions": []}


def _answer_undecided(read: Reading, target: str, definitions: list[DefinitionSite]) -> dict[str, Any]:
    if not definitions:
        return read.answer("not_found", target=target, **_explain_miss(read, target))
    return read.answer(
        "ambiguous",
        target=target,
        message=f"{target} means {len(definitions)} definitions; name one by its symbol id, PATH#NAME or PATH:LINE:COL",
        candidates=[symbol.to_json(item) for item in definitions[:_MAX_LISTED]],
        candidateCount=len(definitions),
    )


def _answer_no_file(read: Reading, key: str) -> dict[str, Any]:
    record = read.view.record(key)
    return read.answer(
        "not_found", path=key, message=_explain_absence(key, record), skip=record.skip if record else None
    )


def _explain_absence(key: str, record: FileRecord | None) -> str:
    return f"{key} is not indexed: {record.skip}" if record else f"{key} is not in the index"


def _draw_graph(graph: graphs.CallGraph, shape: str) -> str:
    return {"text": diagram.render_text, "mermaid": diagram.render_mermaid, "dot": diagram.render_dot}[shape](
        graph
    )


def _require(text: str, what: str) -> None:
    if not text.strip():
        raise UsageError(f"nothing to look for: expected {what}")
