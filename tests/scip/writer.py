"""Writes real SCIP bytes, for tests: what the indexers we cannot run here would have produced."""

from __future__ import annotations

from gitindex.scip import schema


def occurrence(
    symbol: str, span: tuple[int, ...], roles: int = 0, *, enclosing: tuple[int, ...] = (), typed=False
):
    message = schema.plain_messages().Occurrence(symbol=symbol, symbol_roles=roles)
    if not typed:
        message.range.extend(span)
        message.enclosing_range.extend(enclosing)
        return message
    _typed(message, "range", span)
    if enclosing:
        _typed(message, "enclosing_range", enclosing)
    return message


def _typed(message, name: str, span: tuple[int, ...]) -> None:
    if len(span) == 3:
        target = getattr(message, f"single_line_{name}")
        target.SetInParent()
        target.line, target.start, target.end = span
    else:
        target = getattr(message, f"multi_line_{name}")
        target.SetInParent()
        target.start_line, target.start, target.end_line, target.end = span


def information(
    symbol: str, *documentation: str, kind: int = 0, display: str = "", signature: str = "", links=()
):
    message = schema.plain_messages().SymbolInformation(symbol=symbol, kind=kind, display_name=display)
    message.documentation.extend(documentation)
    if signature:
        message.signature_documentation.text = signature
    for target, flags in links:
        message.relationships.add(symbol=target, **flags)
    return message


def document(path: str, occurrences=(), symbols=(), *, encoding: int = 0):
    message = schema.plain_messages().Document(relative_path=path, position_encoding=encoding)
    message.occurrences.extend(occurrences)
    message.symbols.extend(symbols)
    return message


def index(
    *documents, tool: str = "scip-test", version: str = "1.0", root: str = "file:///src", externals=()
) -> bytes:
    message = schema.plain_messages().Index()
    message.metadata.tool_info.name = tool
    message.metadata.tool_info.version = version
    message.metadata.project_root = root
    message.documents.extend(documents)
    message.external_symbols.extend(externals)
    return message.SerializeToString()


def simple_index(
    files: dict[str, str], *, tool: str = "scip-test", package: str = "demo", version: str = "1.0"
) -> bytes:
    """One document per file: every word is an occurrence of a global symbol, defined where it is first
    seen.
    """
    documents, defined = [], set()
    for path, text in files.items():
        occurrences, descriptions = [], []
        for row, line in enumerate(text.split("\n")):
            column = 0
            for word in line.split(" "):
                if word.isidentifier():
                    symbol = f"{tool} test {package} {version} demo/{word}#"
                    first = word not in defined
                    defined.add(word)
                    occurrences.append(
                        occurrence(symbol, (row, column, column + len(word)), 1 if first else 8)
                    )
                    if first:
                        descriptions.append(information(symbol, f"```\ntype {word}\n```", f"About {word}."))
                column += len(word) + 1
        documents.append(document(path, occurrences, descriptions))
    return index(*documents, tool=tool, version=version)
