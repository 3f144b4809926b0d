"""Extracts everything that is indexed of one file: symbols, imports, calls, identifiers, chunks, front matter.

A pure function of (language, bytes, settings); no bytes make it raise. It keeps what parses of a file that does not
parse as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from gitindex.extract import frontmatter, grammars
from gitindex.extract.anchor import compose_anchor
from gitindex.extract.calls import find_calls
from gitindex.extract.chunker import cut_chunks
from gitindex.extract.comments import LeadingBlocks
from gitindex.extract.config_keys import SCANNED_BYTES, read_keys
from gitindex.extract.definitions import DefinitionReader, read_docstring
from gitindex.extract.depth import is_too_deep
from gitindex.extract.gc_pause import pause_gc
from gitindex.extract.headings import find_headings
from gitindex.extract.identifiers import group_captured, group_unmasked
from gitindex.extract.import_statements import read_imports
from gitindex.extract.interface import interface_hash
from gitindex.extract.nesting import Outline, build_outline
from gitindex.extract.source_text import SourceText
from gitindex.extract.yamlkeys import read_yaml_keys
from gitindex.files.language import language_of
from gitindex.model.rows import Entity, ExtractedCall, Extraction, Identifier, Import
from gitindex.model.settings import IndexSettings

if TYPE_CHECKING:
    from tree_sitter import Node


class _SyntaxFacts(NamedTuple):
    """What the syntax of a file gives; empty where no grammar knows its language."""

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
    with pause_gc():
        source = SourceText(data)
        reads_matter = language in frontmatter.LANGUAGES and not text_only
        matter = frontmatter.split_matter(data) if reads_matter else None
        facts = (
            _SyntaxFacts(parse_error=True)
            if text_only
            else _read_facts(source, language, matter.lines if matter else 0)
        )
        anchor_text = compose_anchor(facts.opening, facts.outline.symbols, settings.chunk_chars)
        file_chunks, truncated = cut_chunks(
            source, facts.outline, anchor_text, settings.chunk_chars, settings.limits.chunks_per_file
        )
    entity: Entity | None = frontmatter.read_entity(matter) if matter else None
    return Extraction(
        language=language,
        parse_error=facts.parse_error,
        lines=source.lines,
        interface_hash=facts.interface_hash,
        symbols=facts.outline.symbols,
        imports=facts.imports,
        calls=facts.calls,
        identifiers=facts.identifiers,
        chunks=file_chunks,
        entity=entity,
        truncated=truncated,
        text_only=text_only,
    )


def _read_facts(source: SourceText, language: str, matter_lines: int) -> _SyntaxFacts:
    if language in (*grammars.SPECS, *grammars.DATA_LANGUAGES) and is_too_deep(source.data):
        return _SyntaxFacts(parse_error=True)
    if language in grammars.SPECS:
        return _read_code(source, language)
    if language in grammars.DATA_LANGUAGES:
        return _read_data(source, language)
    if language == "markdown":
        return _SyntaxFacts(build_outline(source, find_headings(source, matter_lines)))
    if language == "yaml":
        return _SyntaxFacts(build_outline(source, read_yaml_keys(source)))
    return _SyntaxFacts()


def _read_code(source: SourceText, language: str) -> _SyntaxFacts:
    tree = grammars.parse(language, source.data)
    captures = grammars.find_captures(language, tree.root_node)
    if captures is None:
        return _SyntaxFacts(parse_error=True)
    spec = grammars.SPECS[language]
    root = tree.root_node
    comments = captures.get("comment", [])
    lead_blocks = LeadingBlocks(source, comments, captures.get("lead", []))
    reader = DefinitionReader(source, spec, lead_blocks, comments)
    file_outline = build_outline(source, reader.read_definitions(captures, grammars.capture_order(language)))
    docstring = _read_module_docstring(source, root) if spec.docstrings else ""
    return _SyntaxFacts(
        outline=file_outline,
        imports=read_imports(
            source, captures.get("import", []), captures.get("import.call", []), spec.imports
        ),
        calls=find_calls(source, captures.get("call", []), captures.get("invoke", []), file_outline.owners),
        identifiers=_read_identifiers(source, captures, spec.keywords),
        interface_hash=interface_hash(file_outline.symbols[index] for index in file_outline.visible),
        opening=docstring or lead_blocks.read_opening(),
        parse_error=root.has_error,
    )


def _read_identifiers(
    source: SourceText, captures: Mapping[str, list[Node]], keywords: frozenset[bytes]
) -> tuple[Identifier, ...]:
    if keywords:
        return group_unmasked(source, captures.get("hide", []), captures.get("show", []), keywords)
    return group_captured(source, captures.get("id", []))


def _read_data(source: SourceText, language: str) -> _SyntaxFacts:
    tree = grammars.parse(language, source.data)
    captures = grammars.find_captures(language, tree.root_node, SCANNED_BYTES)
    if captures is None:
        return _SyntaxFacts(parse_error=True)
    file_outline = build_outline(
        source, read_keys(source, captures.get("pair", []), dotted=language == "toml")
    )
    return _SyntaxFacts(file_outline, parse_error=tree.root_node.has_error)


def _read_module_docstring(source: SourceText, root: Node) -> str:
    """The string that opens the file; at most a few comments may stand before it."""
    count = min(root.named_child_count, 20)
    nodes = (root.named_child(index) for index in range(count))
    first = next((node for node in nodes if node is not None and node.type != "comment"), None)
    return read_docstring(source, first)
