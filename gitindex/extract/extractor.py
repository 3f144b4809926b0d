"""Everything one file's bytes say: symbols, imports, calls, identifiers, chunks, front matter.

A pure function of (language, bytes, settings); it raises for no bytes whatever. What parses is kept even when the
file as a whole does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from gitindex.extract import frontmatter, grammars
from gitindex.extract.anchor import anchor
from gitindex.extract.calls import calls
from gitindex.extract.chunker import chunks
from gitindex.extract.comments import Leads
from gitindex.extract.config_keys import SCANNED_BYTES, keys
from gitindex.extract.definitions import Reader, docstring
from gitindex.extract.depth import too_deep
from gitindex.extract.gc_pause import no_collection
from gitindex.extract.headings import headings
from gitindex.extract.identifiers import captured_identifiers, masked_identifiers
from gitindex.extract.import_statements import imports
from gitindex.extract.interface import interface_hash
from gitindex.extract.nesting import Outline, outline
from gitindex.extract.source_text import Source
from gitindex.extract.yamlkeys import yaml_keys
from gitindex.files.language import language_of
from gitindex.model.rows import Entity, ExtractedCall, Extraction, Identifier, Import
from gitindex.model.settings import IndexSettings

if TYPE_CHECKING:
    from tree_sitter import Node


class _Facts(NamedTuple):
    """What a language's reader found."""

    outline: Outline = Outline()
    imports: tuple[Import, ...] = ()
    calls: tuple[ExtractedCall, ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    interface_hash: str = ""
    opening: str = ""
    parse_error: bool = False


def extract(path_key: str, data: bytes, settings: IndexSettings, *, text_only: str = "") -> Extraction:
    """`path_key` matters only for the language it names. `text_only`: why no parser may see these bytes (EL-8)."""
    language = language_of(path_key, data[:256])
    with no_collection():
        source = Source(data)
        noted = language in frontmatter.LANGUAGES and not text_only
        matter = frontmatter.split(data) if noted else None
        facts = (
            _Facts(parse_error=True) if text_only else _facts(source, language, matter.lines if matter else 0)
        )
        opening = anchor(facts.opening, facts.outline.symbols, settings.chunk_chars)
        pieces, truncated = chunks(
            source, facts.outline, opening, settings.chunk_chars, settings.limits.chunks_per_file
        )
    entity: Entity | None = frontmatter.entity(matter) if matter else None
    return Extraction(
        language,
        facts.parse_error,
        source.lines,
        facts.interface_hash,
        facts.outline.symbols,
        facts.imports,
        facts.calls,
        facts.identifiers,
        pieces,
        entity,
        truncated,
        text_only,
    )


def _facts(source: Source, language: str, matter_lines: int) -> _Facts:
    if language in (*grammars.SPECS, *grammars.DATA_LANGUAGES) and too_deep(source.data):
        return _Facts(parse_error=True)
    if language in grammars.SPECS:
        return _code(source, language)
    if language in grammars.DATA_LANGUAGES:
        return _data(source, language)
    if language == "markdown":
        return _Facts(outline(source, headings(source, matter_lines)))
    if language == "yaml":
        return _Facts(outline(source, yaml_keys(source)))
    return _Facts()


def _code(source: Source, language: str) -> _Facts:
    tree = grammars.parse(language, source.data)
    found = grammars.captures(language, tree.root_node)
    if found is None:
        return _Facts(parse_error=True)
    spec = grammars.SPECS[language]
    root = tree.root_node
    comments = found.get("comment", [])
    leads = Leads(source, comments, found.get("lead", []))
    reader = Reader(source, spec, leads, comments)
    shape = outline(source, reader.definitions(found, grammars.capture_order(language)))
    return _Facts(
        shape,
        imports(source, found.get("import", []), found.get("import.call", []), spec.imports),
        calls(source, found.get("call", []), found.get("invoke", []), shape.owners),
        _identifiers(source, found, spec.keywords),
        interface_hash(shape.symbols[index] for index in shape.visible),
        (_module_docstring(source, root) if spec.docstrings else "") or leads.opening(),
        root.has_error,
    )


def _identifiers(
    source: Source, found: Mapping[str, list[Node]], keywords: frozenset[bytes]
) -> tuple[Identifier, ...]:
    if keywords:
        return masked_identifiers(source, found.get("hide", []), found.get("show", []), keywords)
    return captured_identifiers(source, found.get("id", []))


def _data(source: Source, language: str) -> _Facts:
    tree = grammars.parse(language, source.data)
    found = grammars.captures(language, tree.root_node, SCANNED_BYTES)
    if found is None:
        return _Facts(parse_error=True)
    shape = outline(source, keys(source, found.get("pair", []), dotted=language == "toml"))
    return _Facts(shape, parse_error=tree.root_node.has_error)


def _module_docstring(source: Source, root: Node) -> str:
    count = min(root.named_child_count, 20)
    nodes = (root.named_child(index) for index in range(count))
    first = next((node for node in nodes if node is not None and node.type != "comment"), None)
    return docstring(source, first)
