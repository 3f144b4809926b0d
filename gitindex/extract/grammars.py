"""Grammars and their queries, loaded once per process.

`languages/<name>.scm` says what to capture; this table says the little that a query cannot.
A parse that burns through its budget of processor time is given up: some grammars take quadratic time on
garbage, and the binding offers no other way to stop (its progress callback crashes in 0.25 and 0.26).
"""

from __future__ import annotations

import re
import time
from functools import cache
from importlib import metadata, resources
from typing import NamedTuple

from tree_sitter import Language, Parser, Query, QueryCursor, Tree

_INCLUDE = re.compile(r"^; include (\w+)$", re.M)
_READ = 1024
_BUDGET_BASE = 3.0
_BUDGET_PER_BYTE = 10.0 / 1_000_000
_BUDGET_MOST = 30.0
# Unfinished matches a query may hold: bounds its time on very deep trees.
_MATCH_LIMIT = 2048


class Spec(NamedTuple):
    """What differs between languages beside their queries."""

    imports: str = ""  # name of the reader in `imports`
    docstrings: bool = False  # documentation stands inside the body
    prefix: bool = True  # a signature starts with the words before the node on its line
    receivers: bool = False  # functions may name the type they belong to in a field
    hidden: str = ""  # pattern of a signature that other files cannot see


_HIDDEN = r"^[^(]*\b(?:private|fileprivate)\b(?!\()"
_STATIC = r"^static\b"

SPECS = {
    "python": Spec("python", docstrings=True, prefix=False),
    "javascript": Spec("ecma", hidden=r"^#"),
    "typescript": Spec("ecma", hidden=rf"^#|{_HIDDEN}"),
    "tsx": Spec("ecma", hidden=rf"^#|{_HIDDEN}"),
    "go": Spec("go", receivers=True),
    "java": Spec("dotted", hidden=_HIDDEN),
    "rust": Spec("rust"),
    "c": Spec("c", hidden=_STATIC),
    "cpp": Spec("c", hidden=_STATIC),
    "csharp": Spec("csharp", hidden=_HIDDEN),
    "ruby": Spec("quoted"),
    "php": Spec("php", hidden=_HIDDEN),
    "kotlin": Spec("dotted", receivers=True, hidden=_HIDDEN),
    "swift": Spec("dotted", hidden=_HIDDEN),
    "scala": Spec("dotted", hidden=_HIDDEN),
    "lua": Spec("quoted", hidden=r"^local\b"),
    "bash": Spec("bash"),
}
DATA_LANGUAGES = frozenset({"toml", "yaml", "json"})


@cache
def grammar(language: str) -> Language:
    from tree_sitter_language_pack import get_language

    return get_language(language)  # type: ignore[arg-type]


@cache
def _parser(language: str) -> Parser:
    return Parser(grammar(language))


@cache
def query(language: str) -> Query:
    return Query(grammar(language), _query_text(language))


@cache
def capture_order(language: str) -> dict[str, int]:
    """Captures in the order their query names them: of two kinds for one node the earlier holds."""
    asked = query(language)
    return {asked.capture_name(index): index for index in range(asked.capture_count)}


def _query_text(language: str) -> str:
    text = resources.files(__package__).joinpath("languages", f"{language}.scm").read_text("utf-8")
    return _INCLUDE.sub(lambda match: _query_text(match[1]), text)


def cursor(language: str) -> QueryCursor:
    return QueryCursor(query(language), match_limit=_MATCH_LIMIT)


def parse(language: str, data: bytes) -> Tree | None:
    """The syntax tree, or None when the budget ran out."""
    begun = time.thread_time()
    budget = min(_BUDGET_MOST, _BUDGET_BASE + _BUDGET_PER_BYTE * len(data))
    gave_up = False

    def read(offset: int, _point: object) -> bytes:
        nonlocal gave_up
        if gave_up or time.thread_time() - begun > budget:
            gave_up = True
            return b""  # an early end of file lets the parser finish at once
        return data[offset : offset + _READ]

    tree = _parser(language).parse(read)
    return None if gave_up else tree


@cache
def grammar_version() -> str:
    """Version of the installed grammars, without loading any."""
    return metadata.version("tree-sitter-language-pack")
