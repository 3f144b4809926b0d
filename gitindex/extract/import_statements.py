"""Import statements, read from their text: the forms of a family of languages share one reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitindex.extract.source_text import SourceText
from gitindex.model.rows import Import

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_BYTES = 20_000  # bytes of one statement

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_QUOTED = re.compile(r"[\"'`]([^\"'`\n]*)[\"'`]")
_PYTHON_FROM = re.compile(r"from\s+([.\w\s]+?)\s+import\s+(.*)", re.S)
_ASSIGNED = re.compile(r"([\w$]+)\s*(?::[^=]*)?=\s*$")
_ECMA_EQUALS = re.compile(r"import\s+([\w$]+)\s*=")
_ECMA_STAR = re.compile(r"\*(?:\s*as\s+([\w$]+))?")
_ECMA_NAMES = re.compile(r"\{([^}]*)\}")
_ECMA_DEFAULT = re.compile(r"import\s+(?:type\s+)?([\w$]+)\s*(?:,|from)")
# Not by predicates of a query: those read text through the tree, which crashes on some malformed sources.
_IMPORTING = re.compile(rb"(?:require|require_relative|load|autoload|source|\.)[\s('\"]")
_GROUP_TOKEN = re.compile(r"[{},]|=>|[^\s{},]+")
_KEYWORDS = re.compile(
    r"^(?:(?:pub(?:\([^)]*\))?|use|import|static|extern|crate|function|const|struct|class|enum|protocol|func|var|let"
    r"|typealias|namespace|using|global|typename|given)\s+)+"
)


class _ImportedName(NamedTuple):
    """One name of a statement: an `Import` without its line."""

    module: str
    name: str = ""
    alias: str = ""


def read_imports(
    source: SourceText, statements: Sequence[Node], calls: Sequence[Node], reader: str
) -> tuple[Import, ...]:
    """In order of appearance; of `calls` only those of functions that import, such as `require`."""
    read = _READERS[reader]
    rows: list[Import] = []
    data = source.data
    spans = [(node.start_byte, node.end_byte) for node in statements]
    call_spans = ((node.start_byte, node.end_byte) for node in calls)
    spans.extend((start, end) for start, end in call_spans if _IMPORTING.match(data, start, end))
    spans.sort()
    lines, _ = source.locate([start for start, _ in spans])
    for (start, end), line in zip(spans, lines, strict=True):
        text = source.text(start, min(end, start + _MAX_BYTES))
        before = source.text(max(source.starts[line - 1], start - 200), start)
        rows.extend(Import(*imported, line) for imported in read(text, before) if imported.module)
    return tuple(rows)


def _split_alias(item: str, word: str = "as") -> tuple[str, str]:
    parts = item.split()
    if len(parts) >= 3 and parts[-2] == word:
        return " ".join(parts[:-2]), parts[-1] if parts[-1] != parts[-3] else ""
    return " ".join(parts), ""


def _parse_python(text: str, _before: str) -> Iterator[_ImportedName]:
    text = re.sub(r"#[^\n]*|\\\r?\n|[()]", " ", text).strip().rstrip(";")
    match = _PYTHON_FROM.fullmatch(text)
    items = match[2] if match else text.removeprefix("import")
    for item in items.split(","):
        name, alias = _split_alias(item)
        if name and match:
            yield _ImportedName("".join(match[1].split()), name, alias)
        elif name:
            yield _ImportedName(name, alias=alias)


def _parse_ecma(text: str, before: str) -> Iterator[_ImportedName]:
    text = _COMMENT.sub(" ", text)
    quoted = _QUOTED.findall(text)
    if not quoted:
        return
    module = quoted[-1]
    head = text[: text.rfind(module)]
    if head.startswith("require") or (equals := _ECMA_EQUALS.match(head)):
        local = _ASSIGNED.search(before) if head.startswith("require") else equals
        yield _ImportedName(module, alias=_distinct_alias(local[1] if local else "", module))
        return
    names = list(_parse_ecma_names(head))
    yield from (_ImportedName(module, name, alias) for name, alias in names or [("", "")])


def _parse_ecma_names(head: str) -> Iterator[tuple[str, str]]:
    if default := _ECMA_DEFAULT.match(head):
        yield "default", default[1]
    group = _ECMA_NAMES.search(head)
    if group is None and (star := _ECMA_STAR.search(head)):
        yield "*", star[1] or ""
    for item in group[1].split(",") if group else ():
        name, alias = _split_alias(item.strip().removeprefix("type "))
        if name:
            yield name, alias


def _parse_go(text: str, _before: str) -> Iterator[_ImportedName]:
    for module in _QUOTED.findall(text)[:1]:
        alias = text.split()[0] if text.split()[0][0] not in '"`' else ""
        if alias == ".":
            yield _ImportedName(module, "*")
        else:
            yield _ImportedName(module, alias=_distinct_alias(alias, module.rpartition("/")[2]))


def _parse_grouped(text: str, separator: str) -> Iterator[_ImportedName]:
    """`a.b.{c, d as e}` and the like; braces may nest."""
    text = _KEYWORDS.sub("", _COMMENT.sub(" ", text).strip().rstrip(";").strip())
    prefixes = [""]
    path: list[str] = []
    for lexeme in [*_GROUP_TOKEN.findall(text), ","]:
        if lexeme == "{":
            prefixes.append(prefixes[-1] + "".join(path))
        elif lexeme in ("}", ","):
            if path:
                yield _make_leaf(prefixes[-1], path, separator)
            if lexeme == "}" and len(prefixes) > 1:
                prefixes.pop()
        else:
            path.append(lexeme)
            continue
        path = []


def _make_leaf(prefix: str, path: list[str], separator: str) -> _ImportedName:
    alias = ""
    for word in ("as", "=>"):
        if word in path[1:]:
            alias = "".join(path[path.index(word) + 1 :])
            path = path[: path.index(word)]
    full_path = (prefix + "".join(path)).strip(separator)
    module, _, name = full_path.rpartition(separator)
    if not module:
        return _ImportedName(full_path, alias=_distinct_alias(alias, full_path))
    if name == "self":
        return _ImportedName(module, alias=alias)
    return _ImportedName(module, "*" if name in ("_", "*") else name, _distinct_alias(alias, name))


def _distinct_alias(alias: str, name: str) -> str:
    return alias if alias != name else ""


def _parse_dotted(text: str, _before: str) -> Iterator[_ImportedName]:
    return _parse_grouped(text, ".")


def _parse_rust(text: str, _before: str) -> Iterator[_ImportedName]:
    return _parse_grouped(text, "::")


def _parse_php(text: str, before: str) -> Iterator[_ImportedName]:
    return _parse_grouped(text, "\\") if text.startswith("use") else _parse_quoted(text, before)


def _parse_c(text: str, _before: str) -> Iterator[_ImportedName]:
    if text.startswith("using"):
        namespace = re.match(r"using\s+namespace\s+([\w:]+)", text)
        yield from [_ImportedName(namespace[1], "*")] if namespace else _parse_grouped(text, "::")
        return
    if match := re.search(r"[<\"]([^>\"\n]+)[>\"]", text):
        yield _ImportedName(match[1])


def _parse_csharp(text: str, _before: str) -> Iterator[_ImportedName]:
    body = _KEYWORDS.sub("", text.strip().rstrip(";").strip())
    alias, equals, module = body.rpartition("=")
    star = "*" if re.search(r"\bstatic\b", text) else ""
    yield _ImportedName(module.strip(), star, alias.strip() if equals else "")


def _parse_quoted(text: str, before: str) -> Iterator[_ImportedName]:
    local = _ASSIGNED.search(before)
    for module in _QUOTED.findall(text)[:1]:
        yield _ImportedName(module, alias=_distinct_alias(local[1] if local else "", module))


def _parse_bash(text: str, _before: str) -> Iterator[_ImportedName]:
    words = text.split(None, 1)
    if len(words) == 2:
        yield _ImportedName(words[1].split("\n")[0].strip().strip("\"'"))


_READERS: dict[str, Callable[[str, str], Iterator[_ImportedName]]] = {
    "python": _parse_python,
    "ecma": _parse_ecma,
    "go": _parse_go,
    "dotted": _parse_dotted,
    "rust": _parse_rust,
    "php": _parse_php,
    "c": _parse_c,
    "csharp": _parse_csharp,
    "quoted": _parse_quoted,
    "bash": _parse_bash,
}
