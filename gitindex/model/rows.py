"""Rows that extraction yields and segments store. Tuples, because a build makes a million of them.

Lines and columns are 1-based; columns count Unicode code points; byte ranges are half-open.
"""

from __future__ import annotations

from typing import NamedTuple

SYMBOL_KINDS = (
    *("function", "method", "class", "interface", "struct", "enum", "trait", "module", "type"),
    *("constant", "variable", "field", "macro", "heading", "key"),
)


class ExtractedSymbol(NamedTuple):
    name: str
    qualified_name: str  # "Outer.inner", without the file's module
    kind: str  # one of SYMBOL_KINDS
    line: int
    column: int
    end_line: int
    end_column: int
    byte_start: int
    byte_end: int
    signature: str  # first line(s) up to the body, white space folded, ≤ 240 characters
    doc: str  # doc comment or docstring, ≤ 400 characters, may be ""
    parent: int  # index into Extraction.symbols, -1 at top level


class Import(NamedTuple):
    module: str  # as written, quotes removed: "os.path", "./util", "fmt"
    name: str  # imported name, "*" for all, "" when the module itself is imported
    alias: str  # local name when it differs, else ""
    line: int


class ExtractedCall(NamedTuple):
    callee: str  # last name of what is called: "save" in self.repo.save(x)
    receiver: str  # what stands before it: "self.repo", "" for a bare call; ≤ 80 characters
    line: int
    column: int  # of the callee name
    caller: int  # index into Extraction.symbols of the innermost enclosing definition, -1 at file level


# Name and positions: pairs of line and column (model.postings) of every occurrence in the syntax tree. Plain, because
# a build makes even more of these.
Identifier = tuple[str, bytes]


class Chunk(NamedTuple):
    ordinal: int  # 0-based extraction order within the file; 0 is the anchor
    kind: str  # "anchor" | "text"
    text: str  # holds no path, so a rename keeps its hash
    chunk_hash: str
    start_line: int
    end_line: int  # inclusive
    byte_start: int
    byte_end: int
    symbol: str  # qualified name of the definition it shows (the first, if several), or ""
    symbol_kind: str
    names: str  # space-joined names of all definitions that start in it
    terms: str  # space-joined lower-case sub-words of text, in order (extract.tokens)
    idents: str  # space-joined distinct lower-case identifiers of text that are more than one term


class Entity(NamedTuple):
    """Front matter of a note (QU-5). Dates are ISO-8601 or ""."""

    topics: tuple[str, ...]
    summary: str
    created_at: str
    session_id: str


class Extraction(NamedTuple):
    """Everything that is indexed of one file's bytes. A pure function of (path suffix, bytes, settings)."""

    language: str  # "" when no grammar knows the file
    parse_error: bool
    lines: int
    interface_hash: str  # of the signatures visible to other files; "" without a grammar
    symbols: tuple[ExtractedSymbol, ...]
    imports: tuple[Import, ...]
    calls: tuple[ExtractedCall, ...]
    identifiers: tuple[Identifier, ...]
    chunks: tuple[Chunk, ...]
    entity: Entity | None
    truncated: bool = False  # the chunk cap cut the file
    text_only: str = ""  # the limit that kept its syntax out (`extract.file_limits`), "" for none
