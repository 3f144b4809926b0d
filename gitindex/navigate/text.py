"""The text of files as they were indexed, whatever the working tree holds now.

Bytes come from git by content id, or from the working tree when they still are those very bytes. Where neither has
them (a dirty file that changed again), the stored chunks are put together; blank lines and the ends of lines are
then not kept, and `exact` says so.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable
from contextlib import ExitStack
from typing import NamedTuple

from gitindex.errors import GitError
from gitindex.files.safeopen import ReadError, Root, Vanished
from gitindex.files.stableread import stable_read
from gitindex.git.objects import open_objects
from gitindex.git.repo import Repo
from gitindex.model.ids import blob_id
from gitindex.model.records import FileRecord
from gitindex.model.settings import MAX_FILE_BYTES
from gitindex.view.snapshot import SnapshotView


class IndexedText(NamedTuple):
    """One file's text as the snapshot holds it."""

    text: str
    exact: bool
    source: str  # git | worktree | chunks
    bom: bool = False  # the bytes begin with a byte order mark, which is no part of the text

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")


class Texts:
    """Reads and remembers texts for one answer."""

    def __init__(self, view: SnapshotView, repo: Repo | None, root: Root) -> None:
        self._view = view
        self._repo = repo
        self._root = root
        self._texts: dict[str, IndexedText] = {}
        self._lines: dict[str, list[str]] = {}

    def get(self, path: str) -> IndexedText | None:
        """None for a path the snapshot does not hold as text."""
        self.load([path])
        return self._texts.get(path)

    def read_blob(self, blob: str) -> str | None:
        """The text of a git object, None when it is not here."""
        if self._repo is None:
            return None
        try:
            with open_objects(self._repo) as objects:
                if not objects.has(blob):
                    return None
                data = next(iter(objects.read([blob], MAX_FILE_BYTES))).data
        except GitError:  # git cannot give it: whoever asks goes without
            return None
        return None if data is None else _decode(data)

    def load(self, paths: Iterable[str]) -> None:
        """Fetch many at once: one conversation with git."""
        records = [self._view.record(path) for path in dict.fromkeys(paths) if path not in self._texts]
        missing: dict[str, FileRecord] = {
            record.path: record for record in records if record is not None and not record.skip
        }
        for path in list(missing):
            worktree_text = self._from_worktree(missing[path])
            if worktree_text is not None:
                self._texts[path] = worktree_text
                del missing[path]
        for path, text in self._from_git(missing).items():
            self._texts[path] = text
            del missing[path]
        for path in missing:
            self._texts[path] = IndexedText(self._from_chunks(path), exact=False, source="chunks")

    def line(self, path: str, number: int) -> str:
        lines = self.get_lines(path)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def text_before(self, path: str, line: int, column: int) -> str:
        return self.line(path, line)[: column - 1]

    def text_after(self, path: str, line: int, column: int) -> str:
        return self.line(path, line)[column - 1 :].lstrip()

    def get_lines(self, path: str) -> list[str]:
        if path not in self._lines:
            text = self.get(path)
            self._lines[path] = text.lines if text else []
        return self._lines[path]

    def _from_worktree(self, record: FileRecord) -> IndexedText | None:
        """Cheaper than git and always there; its id proves that it is what was indexed."""
        try:
            data = stable_read(self._root, record.path.encode(), MAX_FILE_BYTES).data
        except (ReadError, Vanished, OSError):
            return None
        algorithm = "sha256" if len(record.content) == 64 else "sha1"
        if blob_id(data, algorithm) != record.content:
            return None
        return decode_text(data, "worktree")

    def _from_git(self, records: dict[str, FileRecord]) -> dict[str, IndexedText]:
        if self._repo is None or not records:
            return {}
        texts: dict[str, IndexedText] = {}
        with ExitStack() as stack:
            objects = stack.enter_context(open_objects(self._repo))
            for path, record in records.items():
                try:
                    if not objects.has(record.content):
                        continue
                    for blob in objects.read([record.content], MAX_FILE_BYTES):
                        if blob.data is not None:
                            texts[path] = decode_text(blob.data, "git")
                except GitError:
                    continue  # the chunks still have it
        return texts

    def _from_chunks(self, path: str) -> str:
        import tantivy

        lexical = self._view.lexical
        query = tantivy.Query.term_query(lexical.schema, "path", path)
        chunks = [document for _, document in lexical.search(query, 4000) if document.kind != "anchor"]
        lines: list[str] = []
        for document in sorted(chunks, key=lambda item: item.ordinal):
            missing = document.start_line - 1 - len(lines)
            lines.extend("" for _ in range(missing))
            first, *rest = document.text.split("\n")
            if missing < 0 and lines:  # a piece of an over-long line
                lines[-1] += first
            else:
                lines.append(first)
            lines.extend(rest)
        return "\n".join(lines)


def decode_text(data: bytes, source: str) -> IndexedText:
    return IndexedText(_decode(data), exact=True, source=source, bom=data.startswith(BOM_UTF8))


def _decode(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")
