"""Structural questions as whole answers: symbol, references, outline, call graph, imports, map, slice (QU-3)."""

from __future__ import annotations

from dataclasses import replace

from gitindex.errors import UsageError
from gitindex.extract.sandbox import SandboxDied
from gitindex.navigate import callgraph as graphs
from gitindex.navigate import diagram, fact_queries, file_imports, place_syntax, remarks, repomap, symbol
from gitindex.navigate import outline as outlines
from gitindex.navigate import references as refs
from gitindex.navigate import slice as slices
from gitindex.navigate.fact_queries import DefinitionSite
from gitindex.navigate.imported_documents import Hover
from gitindex.ops.answers.answer_budget import fit, fit_text, json_length
from gitindex.ops.answers.answer_types import (
    CallGraphAnswer,
    ImportsAnswer,
    MapAnswer,
    Miss,
    NotAnswered,
    OutlineAnswer,
    ReferencesAnswer,
    SliceAnswer,
    SymbolAnswer,
)
from gitindex.ops.answers.gated_read import (
    Reading,
    ReadOptions,
    explain_absence,
    explain_past_end,
    open_reading,
)
from gitindex.ops.codebase import Codebase

_MAX_LISTED = 20
MAX_TOKENS = 100_000


def find_symbol(codebase: Codebase, name: str, options: ReadOptions, limit: int = 100) -> SymbolAnswer:
    """Definitions by name, qualified name or PATH:LINE[:COL]."""
    _require(name, "a symbol's name")
    with open_reading(codebase, options) as read:
        definitions = _find_targets(read, name)
        hover = _find_hover(read, name, definitions)
        answer = SymbolAnswer(
            status="ok" if definitions or hover else "not_found",
            basis=read.basis(truncated=limit < len(definitions)),
            query=name,
            results=tuple(symbol.make_entry(item) for item in definitions[:limit]),
            result_count=len(definitions),
            miss=None if definitions or hover else _explain_miss(read, name),
            hover=hover,
            implementations=_find_implementations(read, name, definitions),
        )
        return fit(answer, read.budget, ["results"])


def find_references(
    codebase: Codebase, target: str, options: ReadOptions, limit: int = refs.LIMIT
) -> ReferencesAnswer:
    """References to a name or to what stands at PATH:LINE:COL."""
    _require(target, "a name or PATH:LINE:COL")
    with open_reading(codebase, options) as read:
        definitions = _find_targets(read, target)
        reference_list = refs.collect_references(read.layers(), definitions, limit)
        answer = ReferencesAnswer(
            status="ok" if definitions else "not_found",
            basis=read.basis(truncated=reference_list.truncated),
            symbol=definitions[0].name if definitions else target,
            query=target,
            reference_list=reference_list,
            miss=None if definitions else _explain_miss(read, target),
        )
        return fit(answer, read.budget, ["definitions", "references", "candidates"])


def outline(codebase: Codebase, path: str, options: ReadOptions) -> OutlineAnswer | NotAnswered:
    with open_reading(codebase, options) as read:
        key = read.resolve_path(path)
        record = read.view.record(key)
        if record is None or record.skip:
            return read.answer_no_file(key)
        exact = read.exact_layer()
        entries = outlines.build_outline(read.view, key, exact.label_exact if exact else lambda item: item)
        too_long = json_length(entries) > read.budget
        supported = bool(entries) or record.symbols > 0 or supports_outline(record.language)
        answer = OutlineAnswer(
            status="ok" if supported else "unsupported",
            basis=read.basis(),
            path=key,
            language=record.language,
            lines=record.lines,
            parse_error=record.parse_error,
            text_only=record.text_only,
            symbols=outlines.drop_docs(entries)
            if too_long
            else entries,  # documentation goes before definitions do
            precision="semantic" if exact is not None and exact.covers(key) else "syntactic",
            docs_left_out=too_long,
            message="" if supported else f"{key}: no outline for {record.language or 'this file'}",
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
) -> CallGraphAnswer | NotAnswered:
    """Callers or callees of one definition; `shape` adds a drawing as `diagram`."""
    _require(target, "a symbol")
    if direction not in (graphs.CALLERS, graphs.CALLEES):
        raise UsageError(f"unknown direction {direction!r}", hint="use callers or callees")
    _check_depth(depth)
    if shape not in diagram.FORMATS:
        raise UsageError(f"unknown format {shape!r}", hint=f"use one of {', '.join(diagram.FORMATS)}")
    with open_reading(codebase, options) as read:
        definitions = [item for item in _find_targets(read, target) if item.kind not in ("heading", "key")]
        if len(definitions) != 1:
            return _answer_undecided(read, target, definitions)
        graph = graphs.build(read.layers(), definitions[0], direction, depth, limit)
        graphs.add_file_remarks(graph, read.view)
        summary = graphs.summarize(graph, note_limit)
        answer = CallGraphAnswer(
            status="ok",
            basis=read.basis(truncated=summary.truncated),
            target=target,
            graph=summary,
            diagram="" if shape == "json" else _draw_graph(graph, shape),
            format="" if shape == "json" else shape,
        )
        return fit(answer, read.budget, ["nodes", "edges", "candidate_edges", "notes"])


def import_graph(
    codebase: Codebase,
    path: str,
    options: ReadOptions,
    *,
    direction: str = file_imports.IMPORTS,
    depth: int = 1,
) -> ImportsAnswer | NotAnswered:
    if direction not in (file_imports.IMPORTS, file_imports.IMPORTERS):
        raise UsageError(f"unknown direction {direction!r}", hint="use imports or importers")
    _check_depth(depth)
    with open_reading(codebase, options) as read:
        key = read.resolve_path(path)
        record = read.view.record(key)
        if record is None or record.skip:
            return read.answer_no_file(key)
        graph = file_imports.build_graph(read.view, key, direction, depth, graphs.MAX_NODES)
        answer = ImportsAnswer("ok", read.basis(truncated=graph.truncated), graph)
        return fit(answer, read.budget, ["files", "edges", "external"])


def repo_map(
    codebase: Codebase,
    options: ReadOptions,
    *,
    tokens: int = repomap.DEFAULT_TOKENS,
    focus: tuple[str, ...] = (),
) -> MapAnswer | NotAnswered:
    """The most used definitions within a token budget."""
    if not 1 <= tokens <= MAX_TOKENS:
        raise UsageError(f"tokens must be between 1 and {MAX_TOKENS:,}, found {tokens}")
    with open_reading(codebase, options) as read:
        keys = [read.resolve_path(path) for path in focus]
        for key in keys:
            record = read.view.record(key)
            if record is None or record.skip:
                return read.answer_no_file(key)
        drawn = repomap.build_repo_map(read.view, tokens, keys)
        text, lines_cut = fit_text(drawn.text, read.budget // 2)
        answer = MapAnswer(
            status="ok",
            basis=read.basis(truncated=drawn.truncated or lines_cut > 0),
            map=replace(drawn, text=text),
            lines_left_out=lines_cut or None,
        )
        return fit(answer, read.budget, ["files"])


def slice_variable(
    codebase: Codebase,
    path: str,
    line: int,
    name: str,
    options: ReadOptions,
    *,
    direction: str = slices.BACKWARD,
) -> SliceAnswer | NotAnswered:
    """What a variable at a line depends on, or what depends on it, within its function."""
    _require(name, "a variable's name")
    if direction not in (slices.BACKWARD, slices.FORWARD, slices.BOTH):
        raise UsageError(f"unknown direction {direction!r}", hint="use backward, forward or both")
    with open_reading(codebase, options) as read:
        key = read.resolve_path(path)
        record = read.view.record(key)
        text = read.texts.get(key)
        if record is None or record.skip or text is None:
            return read.answer_no_file(key)
        try:
            result = slices.slice_lines(record.language, text.text, line, name, direction)
        except SandboxDied as death:
            message = f"{key}: a slice takes more than a file may ({death.reason})"
            return NotAnswered("unsupported", read.basis(), message, path=key)
        if result is None:
            message = f"no slice for {record.language or 'this file'}"
            return NotAnswered("unsupported", read.basis(), message, path=key)
        answer = SliceAnswer(
            status="ok" if result.lines else "not_found",
            basis=read.basis(),
            path=key,
            exact_text=text.exact,
            slice=result,
            message="" if result.lines else f"{name} does not occur in line {line} of {key}",
        )
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


def _find_hover(read: Reading, name: str, definitions: list[DefinitionSite]) -> Hover | None:
    """What the exact facts say about the one definition, or about the name at a position."""
    exact = read.exact_layer()
    position = place_syntax.parse_position(name)
    if exact is None:
        return None
    if position is not None and position.column is not None:
        return exact.hover(read.resolve_path(position.path), position.line, position.column)
    return exact.hover(*definitions[0].place) if len(definitions) == 1 else None


def _find_implementations(
    read: Reading, name: str, definitions: list[DefinitionSite]
) -> tuple[symbol.SymbolEntry, ...]:
    """What implements the one definition, or any of the merged declarations that a position stands for."""
    exact = read.exact_layer()
    position = place_syntax.parse_position(name)
    at_position = position is not None and position.column is not None
    if exact is None or not (len(definitions) == 1 or at_position):
        return ()
    implementations = (item for definition in definitions for item in exact.find_implementations(definition))
    return tuple(symbol.make_entry(item) for item in dict.fromkeys(implementations))


def _explain_miss(read: Reading, name: str) -> Miss:
    """Why nothing was found: names that look alike, or what is wrong with a position."""
    position = place_syntax.parse_position(name)
    if position is None:
        return Miss(f"no definition of {name}", tuple(symbol.suggest_names(read.view, name)))
    key = read.resolve_path(position.path)
    record = read.view.record(key)
    if record is None or record.skip:
        return Miss(explain_absence(key, record), path=key)
    if position.line > record.lines:
        return Miss(explain_past_end(key, record.lines, position.line), path=key)
    column = f":{position.column}" if position.column else ""
    return Miss(f"nothing with a definition at {key}:{position.line}{column}")


def _answer_undecided(read: Reading, target: str, definitions: list[DefinitionSite]) -> NotAnswered:
    """A call graph needs exactly one definition."""
    if not definitions:
        miss = _explain_miss(read, target)
        return NotAnswered(
            "not_found",
            read.basis(),
            miss.message,
            path=miss.path,
            target=target,
            suggestions=miss.suggestions,
        )
    return NotAnswered(
        "ambiguous",
        read.basis(),
        f"{target} means {len(definitions)} definitions; name one by its symbol id, PATH#NAME or PATH:LINE:COL",
        target=target,
        candidates=tuple(symbol.make_entry(item) for item in definitions[:_MAX_LISTED]),
        candidate_count=len(definitions),
    )


def _check_depth(depth: int) -> None:
    if not 1 <= depth <= graphs.MAX_DEPTH:
        raise UsageError(f"depth must be between 1 and {graphs.MAX_DEPTH}, found {depth}")


def _draw_graph(graph: graphs.CallGraph, shape: str) -> str:
    return {"text": diagram.render_text, "mermaid": diagram.render_mermaid, "dot": diagram.render_dot}[shape](
        graph
    )


def _require(text: str, what: str) -> None:
    if not text.strip():
        raise UsageError(f"nothing to look for: expected {what}")
