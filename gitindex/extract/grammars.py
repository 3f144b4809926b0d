"""Grammars and their queries, loaded once per process.

`languages/<name>.scm` says what to capture; `SPECS` holds what a query cannot express.
Parsing has no limit of its own: some grammars take quadratic time and memory on malformed text, and the binding cannot
stop them. So only worker processes that may be killed call `parse` (`extract.parser_process`).
"""

from __future__ import annotations

import re
import threading
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from tree_sitter import Language, Parser, Query, QueryCursor, Tree

if TYPE_CHECKING:
    from tree_sitter import Node

_INCLUDE = re.compile(r"^; include (\w+)$", re.M)
# Unfinished matches a query may hold: bounds its time on very deep trees.
_MATCH_LIMIT = 2048
_MAX_WIDTH = 10_000  # children of an error node
# Queries count levels in 16 bits and take minutes beyond that; long chains of calls or operators nest so deeply.
_SAMPLED_SIZE = 1 << 16  # nodes: a smaller tree is not that deep
_MAX_DEPTH = 30_000
_SAMPLES = 512
_threads = threading.local()


class LanguageSpec(NamedTuple):
    """What differs between languages beside their queries."""

    imports: str = ""  # name of the reader in `import_statements`
    docstrings: bool = False  # documentation stands inside the body
    prefix: bool = True  # modifiers of a definition stand before its node, on the same line
    keywords: frozenset[bytes] = frozenset()  # with these, identifiers are read from the text
    receivers: bool = False  # functions may name the type they belong to in a field
    hidden: str = ""  # pattern of the signature of a definition that other files cannot see


_HIDDEN = r"^[^(]*\b(?:private|fileprivate)\b(?!\()"
_STATIC = r"^static\b"

# Not `keyword.kwlist`: the index would depend on the version of the running interpreter.
_PYTHON_KEYWORDS = frozenset(
    b"False None True and as assert async await break class continue def del elif else except finally for from global"
    b" if import in is lambda nonlocal not or pass raise return try while with yield __future__".split()
)

SPECS = {
    "python": LanguageSpec("python", docstrings=True, prefix=False, keywords=_PYTHON_KEYWORDS),
    "javascript": LanguageSpec("ecma", hidden=r"^#"),
    "typescript": LanguageSpec("ecma", hidden=rf"^#|{_HIDDEN}"),
    "tsx": LanguageSpec("ecma", hidden=rf"^#|{_HIDDEN}"),
    "go": LanguageSpec("go", receivers=True),
    "java": LanguageSpec("dotted", hidden=_HIDDEN),
    "rust": LanguageSpec("rust"),
    "c": LanguageSpec("c", hidden=_STATIC),
    "cpp": LanguageSpec("c", hidden=_STATIC),
    "csharp": LanguageSpec("csharp", hidden=_HIDDEN),
    "ruby": LanguageSpec("quoted"),
    "php": LanguageSpec("php", hidden=_HIDDEN),
    "kotlin": LanguageSpec("dotted", receivers=True, hidden=_HIDDEN),
    "swift": LanguageSpec("dotted", hidden=_HIDDEN),
    "scala": LanguageSpec("dotted", hidden=_HIDDEN),
    "lua": LanguageSpec("quoted", hidden=r"^local\b"),
    "bash": LanguageSpec("bash"),
}
DATA_LANGUAGES = frozenset({"toml", "json"})


@cache
def load_grammar(language: str) -> Language:
    from tree_sitter_language_pack import get_language

    return get_language(language)  # type: ignore[arg-type]


def _thread_parser(language: str) -> Parser:
    """One per thread: a parser keeps its state between calls."""
    parsers: dict[str, Parser] = _threads.__dict__
    if language not in parsers:
        parsers[language] = Parser(load_grammar(language))
    return parsers[language]


@cache
def load_query(language: str) -> Query:
    return Query(load_grammar(language), _query_text(language))


@cache
def capture_order(language: str) -> dict[str, int]:
    """Captures in the order in which their query names them: of two for one node the earlier counts."""
    language_query = load_query(language)
    return {language_query.capture_name(index): index for index in range(language_query.capture_count)}


def _query_text(language: str) -> str:
    text = resources.files(__package__).joinpath("languages", f"{language}.scm").read_text("utf-8")
    return _INCLUDE.sub(lambda match: _query_text(match[1]), text)


def find_captures(language: str, root: Node, last_byte: int = 0) -> dict[str, list[Node]] | None:
    """Captured nodes by name, up to `last_byte` if given; None when the tree is too broken to walk."""
    if (root.has_error and _has_wide_error(root)) or _is_deep(root):
        return None
    cursor = QueryCursor(load_query(language), match_limit=_MATCH_LIMIT)
    if last_byte:
        cursor.set_byte_range(0, last_byte)
    return cursor.captures(root)


def _is_deep(root: Node) -> bool:
    """Looks at a sample of the nodes: a chain that deep makes up a large part of its tree."""
    nodes = root.descendant_count
    if nodes < _SAMPLED_SIZE:
        return False
    cursor = root.walk()
    for index in range(0, nodes, nodes // _SAMPLES):
        cursor.goto_descendant(index)
        if cursor.depth > _MAX_DEPTH:
            return True
    return False


def _has_wide_error(root: Node) -> bool:
    """Does one node have a long run of punctuation as children? A query reads all of them for each of them."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.child_count - node.named_child_count > _MAX_WIDTH:
            return True
        if node.end_byte - node.start_byte > _MAX_WIDTH:
            stack.extend(
                child
                for child in node.children
                if child.end_byte - child.start_byte > _MAX_WIDTH and child.has_error
            )
    return False


def parse(language: str, data: bytes) -> Tree:
    # The whole buffer: with a callback the binding (0.25, 0.26) never frees the pieces that it was given.
    return _thread_parser(language).parse(data)
