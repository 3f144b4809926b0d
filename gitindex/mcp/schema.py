"""The tools as agents see them: names, descriptions, typed inputs. Data only, so that listing them loads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gitindex.errors import UsageError

_PATH = {
    "type": "string",
    "description": "Any path inside the codebase; default: the codebase the server was started in. Others are answered "
    "for when they have an index or the user allowed their directory.",
}
_STALE = {
    "type": "boolean",
    "description": "While a rebuild runs, answer from the last good snapshot instead of not_ready.",
}
_DEBUG = {"type": "boolean", "description": "A not_ready answer tells of the completion proof."}
_SYNC = {"type": "boolean", "description": "Index what changed first, where there is an index."}
_READ = {"path": _PATH, "allowStale": _STALE, "sync": _SYNC, "debug": _DEBUG}
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
    def reads_only(self) -> bool:
        """A tool that can be told to sync first writes an index, however rarely it is told so."""
        return not self.destructive and "sync" not in self.properties

    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: dict(value) for name, value in self.properties.items()},
            "required": list(self.required),
            "additionalProperties": False,
        }


def _number(text: str, low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high, "description": text}


def _choice(text: str, *values: str) -> dict[str, Any]:
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
            "mode": _choice("How to search.", "hybrid", "lexical", "semantic", "symbol", "regex"),
            "files": {
                "type": "boolean",
                "description": "Tests, pages and settings count no less than code: what a change that the query "
                "describes would touch. Modes hybrid, lexical and semantic.",
            },
            "flat": {
                "type": "boolean",
                "description": "List passages one by one instead of files with their places.",
            },
            "limit": _number("Most hits.", 1, 200),
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
            "tokens": _number("The budget.", 200, 100_000),
            **_READ,
        },
        ("question",),
    ),
    ToolSpec(
        "find_symbol",
        "Definitions by name, qualified name (Outer.inner) or position (FILE:LINE:COL).",
        {
            "name": {"type": "string", "minLength": 1, "description": "What is defined."},
            "limit": _number("Most results.", 1, 1000),
            **_READ,
        },
        ("name",),
    ),
    ToolSpec(
        "find_references",
        "References to a name or to what stands at FILE:LINE:COL. Occurrences that only share the name are listed "
        "apart as candidates.",
        {
            "target": {
                "type": "string",
                "minLength": 1,
                "description": "A name, or FILE:LINE:COL (1-based).",
            },
            "limit": _number("Most references.", 1, 10_000),
            **_READ,
        },
        ("target",),
    ),
    ToolSpec("file_outline", "The definitions of one file, nested as written.", {"file": _FILE, **_READ}),
    ToolSpec(
        "call_graph",
        "Callers or callees of one definition. Edges were decided by scope, import or exact facts; calls that only "
        "share a name stand apart as candidateEdges.",
        {
            "symbol": {
                "type": "string",
                "minLength": 1,
                "description": "A name, symbol id, FILE#NAME or FILE:LINE:COL.",
            },
            "direction": _choice("Whom to follow.", "callers", "callees"),
            "depth": _number("How far.", 1, 8),
            "format": _choice("Add a drawing.", "json", "text", "mermaid", "dot"),
            "noteLimit": _number("Most notes.", 0, 1000),
            **_READ,
        },
        ("symbol",),
    ),
    ToolSpec(
        "import_graph",
        "Files that a file imports, or that import it.",
        {
            "file": _FILE,
            "direction": _choice("Which way.", "imports", "importers"),
            "depth": _number("How far.", 1, 8),
            **_READ,
        },
    ),
    ToolSpec(
        "repo_map",
        "The definitions that the codebase leans on most, within a token budget.",
        {
            "tokens": _number("The budget.", 1, 100_000),
            "focus": {**_TEXTS, "description": "Files to draw the map towards."},
            **_READ,
        },
    ),
    ToolSpec(
        "slice_variable",
        "What the value of a variable at a line depends on, or what depends on it, within one function.",
        {
            "file": _FILE,
            "line": _number("1-based.", 1, 10_000_000),
            "name": {"type": "string", "minLength": 1, "description": "The variable."},
            "direction": _choice("Which way.", "backward", "forward", "both"),
            **_READ,
        },
        ("line", "name"),
    ),
    ToolSpec(
        "read_file",
        "Lines of a file as indexed, and whether the working tree still says the same.",
        {
            "file": _FILE,
            "startLine": _number("First line, 1-based.", 1, 10_000_000),
            "endLine": _number("Last line, inclusive.", 1, 10_000_000),
            "worktree": {"type": "boolean", "description": "The text as it is now instead of as indexed."},
            **_READ,
        },
    ),
    ToolSpec(
        "file_state",
        "What may be believed of files right now: freshness and certainty of the exact facts about each, and the gate "
        "for editing all of them on the strength of it (allowed, needs_decision, blocked) with what to run first.",
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
        "Create, reindex, sync, look at (status) or delete (clear) the index of a codebase. create and reindex run "
        "in the background unless wait is true.",
        {
            "action": _choice("What to do.", "create", "reindex", "sync", "status", "clear"),
            "path": _PATH,
            "wait": {"type": "boolean", "description": "Answer only when create or reindex is done."},
        },
        ("action",),
        destructive=True,
    ),
    ToolSpec("list_codebases", "Codebases with an index on this machine, and their state.", {}),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
_TYPES: dict[str, Any] = {"string": str, "integer": int, "boolean": bool, "array": list}


def check(tool: ToolSpec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, when they fit the schema; null counts as absent.

    Raises UsageError naming the argument.
    """
    given = {name: value for name, value in arguments.items() if value is not None}
    for name in given:
        if name not in tool.properties:
            known = ", ".join(tool.properties) or "none"
            raise UsageError(f"{tool.name} has no argument {name!r}; it takes: {known}")
    for name in tool.required:
        if name not in given:
            raise UsageError(f"{tool.name} needs the argument {name!r}")
    for name, value in given.items():
        flaw = _flaw(tool.properties[name], value)
        if flaw:
            raise UsageError(f"{tool.name}: {name} {flaw}")
    return given


def _flaw(schema: Mapping[str, Any], value: Any) -> str:
    kind = schema["type"]
    if not isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, bool)):
        return f"must be of type {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"must be one of {', '.join(schema['enum'])}"
    if kind == "integer" and not schema["minimum"] <= value <= schema["maximum"]:
        return f"must be between {schema['minimum']} and {schema['maximum']}"
    if kind == "string":
        return _text_flaw(schema, value)
    if kind == "array":
        flaws = [_flaw(schema["items"], item) for item in value]
        return next((f"holds something that {flaw}" for flaw in flaws if flaw), "")
    return ""


def _text_flaw(schema: Mapping[str, Any], value: str) -> str:
    if "\0" in value or any(0xD800 <= ord(sign) <= 0xDFFF for sign in value):
        return "holds a character that no text has"
    if len(value) < schema.get("minLength", 0):
        return "must not be empty"
    if len(value) > schema.get("maxLength", 10_000):
        return f"is longer than {schema.get('maxLength', 10_000)} characters"
    return ""
