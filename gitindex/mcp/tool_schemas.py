"""The tools as agents see them: names, descriptions, typed inputs. Data only, so that listing them loads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gitindex.errors import UsageError

_PATH = {
    "type": "string",
    "description": "Any path inside the codebase; default: the codebase the server was started in. The server "
    "answers for another codebase if it has an index or the user allowed its directory.",
}
_STALE = {
    "type": "boolean",
    "description": "While a rebuild runs, answer from the last good snapshot instead of not_ready.",
}
_DEBUG = {"type": "boolean", "description": "Add the completion proof to a not_ready answer."}
_SYNC = {"type": "boolean", "description": "Sync before answering, if there is an index."}
_READ = {"path": _PATH, "allow_stale": _STALE, "sync": _SYNC, "debug": _DEBUG}
_FILE = {
    "type": "string",
    "description": "The file, absolute or relative to the root; default: `path` itself.",
}
_TEXTS = {"type": "array", "items": {"type": "string"}}


class ToolSpec(NamedTuple):
    name: str
    description: str
    properties: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...] = ()
    destructive: bool = False  # may delete an index

    @property
    def is_read_only(self) -> bool:
        """A tool with a `sync` option can write an index, so it is not read-only."""
        return not self.destructive and "sync" not in self.properties

    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: dict(value) for name, value in self.properties.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }


def _integer_schema(text: str, low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high, "description": text}


def _choice_schema(text: str, *values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values), "description": text}


TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        "search_codebase",
        "Search code and notes: hybrid (default), lexical, semantic, symbol or regex. A hit is a file with its best "
        "passage (lines, snippet, symbol, precision) and up to two further places. Whole issues and tracebacks may be "
        "pasted. Without a query, tag, date or session filters answer from front matter alone.",
        {
            "query": {
                "type": "string",
                "maxLength": 100_000,
                "description": "Words, an identifier, a pattern, or pasted text.",
            },
            "mode": _choice_schema("Retrieval mode.", "hybrid", "lexical", "semantic", "symbol", "regex"),
            "files": {
                "type": "boolean",
                "description": "Tests, pages and settings count no less than code: what a change that the query "
                "describes would touch. Modes hybrid, lexical and semantic.",
            },
            "flat": {
                "type": "boolean",
                "description": "List passages one by one instead of files with their places.",
            },
            "limit": _integer_schema("Maximum number of hits.", 1, 200),
            "globs": {**_TEXTS, "description": "Only paths that match one of these patterns."},
            "languages": {**_TEXTS, "description": "Only these languages."},
            "kinds": {**_TEXTS, "description": "Only these kinds of symbols."},
            "tags": {**_TEXTS, "description": "Only notes with all of these topics."},
            "since": {"type": "string", "description": "Only notes created on or after this ISO-8601 date."},
            "until": {"type": "string", "description": "Only notes created on or before this ISO-8601 date."},
            "session": {"type": "string", "description": "Only notes of this session id."},
            **_READ,
        },
    ),
    ToolSpec(
        "explore",
        "Answer one question in one call within a token budget: the files that matter, their best passages, the "
        "definitions in them with their callers, and what was left out. Whole issues and tracebacks may be pasted.",
        {
            "question": {
                "type": "string",
                "minLength": 1,
                "maxLength": 100_000,
                "description": "A question, an identifier, or pasted text.",
            },
            "tokens": _integer_schema("Size of the answer in tokens of four characters.", 200, 100_000),
            **_READ,
        },
        ("question",),
    ),
    ToolSpec(
        "find_symbol",
        "Definitions by name, qualified name (Outer.inner) or position (FILE:LINE:COL).",
        {
            "name": {"type": "string", "minLength": 1, "description": "A name, qualified name or position."},
            "limit": _integer_schema("Maximum number of definitions.", 1, 1000),
            **_READ,
        },
        ("name",),
    ),
    ToolSpec(
        "find_references",
        "References to a name or to the symbol at FILE:LINE:COL. Occurrences that only share the name are listed "
        "separately as candidates.",
        {
            "target": {
                "type": "string",
                "minLength": 1,
                "description": "A name, or FILE:LINE:COL (1-based).",
            },
            "limit": _integer_schema("Maximum number of references.", 1, 10_000),
            **_READ,
        },
        ("target",),
    ),
    ToolSpec("file_outline", "The definitions of one file, nested as written.", {"file": _FILE, **_READ}),
    ToolSpec(
        "call_graph",
        "Callers or callees of one definition. Edges were decided by scope, import or exact facts; calls that only "
        "share a name are listed separately as candidate_edges.",
        {
            "symbol": {
                "type": "string",
                "minLength": 1,
                "description": "A name, symbol id, FILE#NAME or FILE:LINE:COL.",
            },
            "direction": _choice_schema("Direction to follow.", "callers", "callees"),
            "depth": _integer_schema("Maximum number of steps.", 1, 8),
            "format": _choice_schema(
                "Format of the graph; all but json add a rendering.", "json", "text", "mermaid", "dot"
            ),
            "noteLimit": _integer_schema("Maximum number of remarks (`notes`).", 0, 1000),
            **_READ,
        },
        ("symbol",),
    ),
    ToolSpec(
        "import_graph",
        "Files that a file imports, or that import it.",
        {
            "file": _FILE,
            "direction": _choice_schema("Direction to follow.", "imports", "importers"),
            "depth": _integer_schema("Maximum number of steps.", 1, 8),
            **_READ,
        },
    ),
    ToolSpec(
        "repo_map",
        "The most referenced definitions of the codebase, within a token budget.",
        {
            "tokens": _integer_schema("Token budget.", 1, 100_000),
            "focus": {**_TEXTS, "description": "Files whose dependencies the map should prefer."},
            **_READ,
        },
    ),
    ToolSpec(
        "slice_variable",
        "What the value of a variable at a line depends on, or what depends on it, within one function.",
        {
            "file": _FILE,
            "line": _integer_schema("Line, 1-based.", 1, 10_000_000),
            "name": {"type": "string", "minLength": 1, "description": "The variable."},
            "direction": _choice_schema("Direction to follow.", "backward", "forward", "both"),
            **_READ,
        },
        ("line", "name"),
    ),
    ToolSpec(
        "read_file",
        "Lines of a file as indexed, and whether the working tree still holds the same text.",
        {
            "file": _FILE,
            "start_line": _integer_schema("First line, 1-based.", 1, 10_000_000),
            "end_line": _integer_schema("Last line, inclusive.", 1, 10_000_000),
            "worktree": {"type": "boolean", "description": "Read the working tree instead of the index."},
            **_READ,
        },
    ),
    ToolSpec(
        "file_state",
        "Whether the index is fresh enough to edit files safely: freshness and certainty of the exact facts about each "
        "file, and one gate for all of them (allowed, needs_decision, blocked) with the commands to run first.",
        {
            "files": {
                **_TEXTS,
                "description": "The files, absolute or relative to the root; default: `path` itself.",
            },
            **_READ,
        },
    ),
    ToolSpec(
        "manage_index",
        "Create, reindex, sync, inspect (status) or delete (clear) the index of a codebase. create and reindex run "
        "in the background unless wait is true.",
        {
            "action": _choice_schema("Action.", "create", "reindex", "sync", "status", "clear"),
            "path": _PATH,
            "wait": {"type": "boolean", "description": "Wait until create or reindex is done."},
        },
        ("action",),
        destructive=True,
    ),
    ToolSpec("list_codebases", "Codebases with an index on this machine, and their state.", {}),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
_TYPES: dict[str, Any] = {"string": str, "integer": int, "boolean": bool, "array": list}


def check_arguments(tool: ToolSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, when they fit the schema; null counts as absent.

    Raises UsageError naming the argument.
    """
    values = {name: value for name, value in arguments.items() if value is not None}
    for name in values:
        if name not in tool.properties:
            accepted = ", ".join(tool.properties) or "none"
            raise UsageError(f"{tool.name} has no argument {name!r}; it takes: {accepted}")
    for name in tool.required:
        if name not in values:
            raise UsageError(f"{tool.name} needs the argument {name!r}")
    for name, value in values.items():
        flaw = _find_flaw(tool.properties[name], value)
        if flaw:
            raise UsageError(f"{tool.name}: {name} {flaw}")
    return values


def _find_flaw(schema: Mapping[str, Any], value: Any) -> str:
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
        return f"must be of type {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"must be one of {', '.join(schema['enum'])}"
    if kind == "integer" and not schema["minimum"] <= value <= schema["maximum"]:
        return f"must be between {schema['minimum']} and {schema['maximum']}"
    if kind == "string":
        return _find_text_flaw(schema, value)
    if kind == "array":
        flaws = [_find_flaw(schema["items"], item) for item in value]
        return next((f"has an item that {flaw}" for flaw in flaws if flaw), "")
    return ""


def _find_text_flaw(schema: Mapping[str, Any], value: str) -> str:
    if "\0" in value or any(0xD800 <= ord(character) <= 0xDFFF for character in value):
        return "holds a character that is not valid text"
    if len(value) < schema.get("minLength", 0):
        return "must not be empty"
    if len(value) > schema.get("maxLength", 10_000):
        return f"is longer than {schema.get('maxLength', 10_000)} characters"
    return ""
