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


class Indexed(NamedTuple):
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
        self._kept: dict[str, Indexed] = {}
        self._lines: dict[str, list[str]] = {}

    def get(self, path: str) -> Indexed | None:
        """None for a path the snapshot does not hold as text."""
        self.load([path])
        return self._kept.get(path)

    def blob(self, blob: str) -> str | None:
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
        records = [self._view.record(path) for path in dict.fromkeys(paths) if path not in self._kept]
        wanted = {record.path: record for record in records if record is not None and not record.skip}
        for path in list(wanted):
            found = self._from_worktree(wanted[path])
            if found is not None:
                self._kept[path] = found
                del wanted[path]
        for path, text in self._from_git(wanted).items():
            self._kept[path] = text
            del wanted[path]
        for path in wanted:
            self._kept[path] = Indexed(self._from_chunks(path), exact=False, source="chunks")

    def line(self, path: str, number: int) -> str:
        lines = self._split(path)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def before(self, path: str, line: int, column: int) -> str:
        return self.line(path, line)[: column - 1]

    def after(self, path: str, line: int, column: int) -> str:
        return self.line(path, line)[column - 1 :].lstrip()

    def _split(self, path: str) -> list[str]:
        if path not in self._lines:
            found = self.get(path)
            self._lines[path] = found.lines if found else []
        return self._lines[path]

    def _from_worktree(self, record: FileRecord) -> Indexed | None:
        """Cheaper than git and always there; its id proves that it is what was indexed."""
        try:
            data = stable_read(self._root, record.path.encode(), MAX_FILE_BYTES).data
        except (ReadError, Vanished, OSError):
            return None
        algorithm = "sha256" if len(record.content) == 64 else "sha1"
        if blob_id(data, algorithm) != record.content:
            return None
        return decoded(data, "worktree")

    def _from_git(self, wanted: dict[str, FileRecord]) -> dict[str, Indexed]:
        if self._repo is None or not wanted:
            return {}
        found: dict[str, Indexed] = {}
        with ExitStack() as stack:
            objects = stack.enter_context(open_objects(self._repo))
            for path, record in wanted.items():
                try:
                    if not objects.has(record.content):
                        continue
                    for blob in objects.read([record.content], MAX_FILE_BYTES):
                        if blob.data is not None:
                            found[path] = decoded(blob.data, "git")
                except GitError:
                    continue  # the chunks still have it
        return found

    def _from_chunks(self, path: str) -> str:
        import tantivy

        lexical = self._view.lexical
        query = tantivy.Query.term_query(lexical.schema, "path", path)
        found = [document for _, document in lexical.search(query, 4000) if document.kind != "anchor"]
        lines: list[str] = []
        for document in sorted(found, key=lambda item: item.ordinal):
            missing = document.start_line - 1 - len(lines)
            lines.extend("" for _ in range(missing))
            first, *rest = document.text.split("\n")
            if missing < 0 and lines:  # a piece of an over-long line
                lines[-1] += first
            else:
                lines.append(first)
            lines.extend(rest)
        return "\n".join(lines)


def decoded(data: bytes, source: str) -> Indexed:
    return Indexed(_decode(data), exact=True, source=source, bom=data.startswith(BOM_UTF8))


def _decode(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")
