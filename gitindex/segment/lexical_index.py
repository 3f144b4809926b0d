"""The lexical index: one Tantivy directory per snapshot, a hard-link clone of its parent plus one change.

Tantivy never changes a finished file, so a clone is a few hard links, term statistics cover the whole snapshot, and
deletes are Tantivy's own. Documents are chunks with their text, so a lexical answer needs no other file.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gitindex.errors import StoreCorrupt
from gitindex.extract import tokens
from gitindex.segment import lexicalparts

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    import tantivy

    from gitindex.model.rows import Chunk

# Lock files of Tantivy; never part of the index.
META_LOCK = ".tantivy-meta.lock"
LOCK_FILES = frozenset({".tantivy-writer.lock", META_LOCK})
# Rewritten by every commit, so a clone copies instead of linking them.
REWRITTEN_FILES = frozenset({"meta.json", ".managed.json"})
_SMALL_HEAP = 30_000_000
_LARGE_HEAP = 256_000_000
_NEARLY_FULL_BYTES = 1 << 20


class LexicalDocument(NamedTuple):
    """The stored fields of a chunk."""

    path: str
    ordinal: int
    kind: str
    language: str
    start_line: int
    end_line: int
    symbol: str
    symbol_kind: str
    text: str


class ScoredDocument(NamedTuple):
    """A document that a query matched."""

    score: float
    document: LexicalDocument


class LexicalWriter:
    """Writes one change: every `delete` before the first `add`, then `finish`.

    Works around a bug of Tantivy 0.27, which gives the first operation of a writer the number of the last commit: a
    merge then takes segments with deletes of that commit for up to date, and loses the first delete in them. So where
    a merge is possible, deletes are committed before anything is added, and no merge runs while deletes are pending.
    """

    def __init__(self, path: Path, *, bulk: bool) -> None:
        import tantivy

        self._tantivy = tantivy
        self._schema = _build_schema()
        self._path = path
        self._deleted_paths: list[str] = []
        self._has_added = False
        self._aside_path = lexicalparts.move_large_aside(path)
        self._may_merge = lexicalparts.may_merge(path)
        index = tantivy.Index(self._schema, path=str(path), reuse=True)
        # One thread is fast enough for the caller, and makes fewer, larger segments than two.
        self._writer = index.writer(_LARGE_HEAP if bulk else _SMALL_HEAP, 1)

    def delete(self, path: str) -> None:
        """Delete all documents of a path. Raises RuntimeError after the first `add`, which the delete could undo."""
        if self._has_added:
            raise RuntimeError(f"{path} is deleted after documents were added")
        self._writer.delete_documents_by_term("path", path)
        self._deleted_paths.append(path)

    def add(self, path: str, language: str, chunks: Sequence[Chunk]) -> None:
        path_terms = tokens.terms(path)
        with self._detect_full_disk():
            self._begin_adding()
            for chunk in chunks:
                self._writer.add_document(self._make_document(path, path_terms, language, chunk))

    def _begin_adding(self) -> None:
        """Commit pending deletes before the first added document: from then on a merge may start at any time."""
        if not self._has_added and self._deleted_paths and self._may_merge:
            self._writer.commit()
        self._has_added = True

    def _make_document(self, path: str, path_terms: str, language: str, chunk: Chunk) -> tantivy.Document:
        document = self._tantivy.Document()
        document.add_text("path", path)
        document.add_unsigned("ordinal", chunk.ordinal)
        document.add_text("kind", chunk.kind)
        document.add_text("language", language)
        document.add_unsigned("start_line", chunk.start_line)
        document.add_unsigned("end_line", chunk.end_line)
        document.add_bytes("symbol", chunk.symbol.encode())
        document.add_text("symbol_kind", chunk.symbol_kind)
        document.add_bytes("body", chunk.text.encode())
        document.add_text("terms", chunk.terms)
        document.add_text("idents", chunk.idents)
        document.add_text("names", _name_terms(chunk.names))
        document.add_text("path_terms", path_terms)
        return document

    def finish(self) -> None:
        """Commit and wait for merges, so that the directory does not change any more."""
        with self._detect_full_disk():
            self._writer.commit()
            self._writer.wait_merging_threads()
            if self._aside_path is not None:
                self._delete_from_aside(self._aside_path)
                lexicalparts.rejoin(self._path, self._aside_path)

    def _delete_from_aside(self, aside: Path) -> None:
        """Apply the deletes to the segments that were moved aside."""
        if not self._deleted_paths:
            return
        writer = self._tantivy.Index(self._schema, path=str(aside), reuse=True).writer(_SMALL_HEAP, 1)
        for path in self._deleted_paths:
            writer.delete_documents_by_term("path", path)
        writer.commit()
        writer.wait_merging_threads()

    @contextmanager
    def _detect_full_disk(self) -> Iterator[None]:
        """Tantivy reports a full disk only as a dead writer thread: check the free space and raise ENOSPC."""
        try:
            yield
        except ValueError as error:
            disk = os.statvfs(self._path)
            if disk.f_bavail * disk.f_frsize < _NEARLY_FULL_BYTES:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path)) from error
            raise


class LexicalIndex:
    """Reads one lexical index. Only `view` and the check of a publish open it (SN-6)."""

    def __init__(self, path: Path) -> None:
        try:
            self._index, self._link_dir = _open_index(path)
        except ValueError as error:
            raise StoreCorrupt(
                f"lexical index {path} cannot be opened: {error}", hint="gitindex repair"
            ) from error
        self.schema = self._index.schema
        self._searcher = self._index.searcher()

    @property
    def document_count(self) -> int:
        return int(self._searcher.num_docs)

    def search(self, query: tantivy.Query, limit: int) -> list[ScoredDocument]:
        """The best documents; equal scores are ordered by path and ordinal."""
        hits = self._searcher.search(query, limit, count=False).hits
        scored_documents = [
            ScoredDocument(float(score), _read_document(self._searcher.doc(address)))
            for score, address in hits
        ]
        scored_documents.sort(key=lambda hit: (-hit.score, hit.document.path, hit.document.ordinal))
        return scored_documents

    def count(self, query: tantivy.Query) -> int:
        return int(self._searcher.search(query, 1, count=True).count)

    def count_with(self, field: str, term: str) -> int:
        """How many documents have the term; deleted ones count until they are merged away, as in every score."""
        return int(self._searcher.doc_freq(field, term))

    def iter_documents(self) -> Iterator[LexicalDocument]:
        import tantivy

        if not self.document_count:
            return
        hits = self._searcher.search(tantivy.Query.all_query(), self.document_count, count=False).hits
        for _, address in hits:
            yield _read_document(self._searcher.doc(address))

    def terms_with_prefix(self, field: str, prefix: str, limit: int) -> list[str]:
        return [term for term, _ in self._searcher.terms_with_prefix(field, prefix, limit=limit)]


def _open_index(path: Path) -> tuple[Any, TemporaryDirectory[str] | None]:
    """Open the index. Tantivy creates a lock file in it; where we may not write, open a directory of links to it."""
    import tantivy

    try:
        return tantivy.Index.open(str(path)), None
    except ValueError as error:
        if "Lockfile" not in str(error):
            raise
    from tempfile import TemporaryDirectory  # late: few stores are read-only (UI-3)

    link_dir = TemporaryDirectory(prefix="gitindex-lexical-")
    for file in list_files(path):
        os.symlink(file.absolute(), Path(link_dir.name, file.name))
    return tantivy.Index.open(link_dir.name), link_dir


def create(path: Path) -> None:
    """Make an empty index."""
    import tantivy

    path.mkdir(parents=True, exist_ok=True)
    tantivy.Index(_build_schema(), path=str(path), reuse=False)


def list_files(path: Path) -> list[Path]:
    """The files that make up the index, sorted."""
    return sorted(entry for entry in path.iterdir() if entry.name not in LOCK_FILES)


def _build_schema() -> tantivy.Schema:
    import tantivy

    builder = tantivy.SchemaBuilder()
    for name in ("path", "kind", "language", "symbol_kind"):
        builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("ordinal", stored=True, indexed=True)  # path and ordinal identify a document
    for name in ("start_line", "end_line"):
        builder.add_unsigned_field(name, stored=True)
    for name in ("symbol", "body"):  # stored for display, not searched
        builder.add_bytes_field(name, stored=True)
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="position")
    builder.add_text_field("names", tokenizer_name="whitespace", index_option="position")
    builder.add_text_field("path_terms", tokenizer_name="whitespace", index_option="position")
    builder.add_text_field("idents", tokenizer_name="whitespace", index_option="basic")
    return builder.build()


def _name_terms(names: str) -> str:
    """Names and their sub-words: a search finds `getItem` as getitem, get and item."""
    return " ".join(map(_name_and_parts, names.split()))


@lru_cache(maxsize=65536)
def _name_and_parts(name: str) -> str:
    return " ".join(dict.fromkeys((name.lower(), *tokens.subwords(name))))


def _read_document(stored: Any) -> LexicalDocument:
    fields = stored.to_dict()

    def first_value(name: str) -> Any:
        return fields[name][0]

    return LexicalDocument(
        path=first_value("path"),
        ordinal=first_value("ordinal"),
        kind=first_value("kind"),
        language=first_value("language"),
        start_line=first_value("start_line"),
        end_line=first_value("end_line"),
        symbol=bytes(first_value("symbol")).decode("utf-8", "replace"),
        symbol_kind=first_value("symbol_kind"),
        text=bytes(first_value("body")).decode("utf-8", "replace"),
    )
