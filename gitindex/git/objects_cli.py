"""`Objects` over the git program: starts in milliseconds, reads every repository git can read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import Self

from gitindex.errors import GitError, TransientGitError
from gitindex.git.objects import EMPTY_TREES, Blob, TreeChange, TreeEntry, missing
from gitindex.git.repo import Repo
from gitindex.git.run import Stream, run

_WINDOW = 128  # ids per round trip: the questions and the size answers both fit into a pipe buffer


class CliObjects:
    def __init__(self, repo: Repo) -> None:
        self._root = repo.root
        self._null = "0" * (64 if repo.algorithm == "sha256" else 40)
        self._local: Stream | None = None

    def entries(self, tree: str) -> Iterator[TreeEntry]:
        if tree in EMPTY_TREES:
            return
        for record in _records(self._of_trees("ls-tree", "-r", "-z", "--full-tree", tree)):
            yield _entry(record)

    def entry(self, tree: str, path: bytes) -> TreeEntry | None:
        if tree in EMPTY_TREES:
            return None
        name = os.fsdecode(path)
        out = self._of_trees("--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--", name)
        found = [_entry(record) for record in _records(out)]
        return next((entry for entry in found if entry.path == path and entry.mode != 0o040000), None)

    def diff(self, old_tree: str | None, new_tree: str) -> list[TreeChange]:
        if old_tree is None:
            return [TreeChange(entry.path, None, entry) for entry in self.entries(new_tree)]
        options = (
            "-r",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            "--no-ext-diff",
            "--ignore-submodules=none",
        )
        fields = list(_records(self._of_trees("diff-tree", *options, old_tree, new_tree)))
        changes = (self._change(fields[at], fields[at + 1]) for at in range(0, len(fields), 2))
        return sorted(changes, key=lambda change: change.path)

    def read(self, blobs: Iterable[str], max_bytes: int) -> Iterator[Blob]:
        # Own processes per call: a reader that stops half-way leaves no answers behind for the next one.
        wanted = iter(blobs)
        with (
            Stream(self._root, "cat-file", "--batch-check=%(objecttype) %(objectsize)") as sizes,
            Stream(self._root, "cat-file", "--batch") as contents,
        ):
            while window := list(islice(wanted, _WINDOW)):
                known = _sizes(sizes, window)
                _send(contents, [blob for blob, size in known if size <= max_bytes])
                for blob, size in known:
                    yield Blob(blob, size, _content(contents, blob) if size <= max_bytes else None)

    def has(self, object_id: str) -> bool:
        if self._local is None:
            self._local = Stream(self._root, "cat-file", "--batch-check=%(objectname)", lazy_fetch=False)
        self._local.send(object_id.encode() + b"\n")
        try:
            return not self._local.line().endswith(b" missing")
        except GitError as error:  # git gives up on the first promised object it may not fetch
            self.close()
            if "promisor remote" in error.message:
                return False
            raise

    def close(self) -> None:
        if self._local is not None:
            self._local.close()
            self._local = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _of_trees(self, *args: str) -> bytes:
        """Git says that a tree is missing, but not always which: the arguments do."""
        try:
            return run(self._root, *args)
        except TransientGitError:
            raise
        except GitError as error:
            raise GitError(f"{error.message} ({' '.join(args)})", hint="git fsck") from error

    def _change(self, header: bytes, path: bytes) -> TreeChange:
        old_mode, new_mode, old, new, _ = header[1:].decode().split(" ")
        return TreeChange(path, self._side(path, old_mode, old), self._side(path, new_mode, new))

    def _side(self, path: bytes, mode: str, blob: str) -> TreeEntry | None:
        return None if blob == self._null else TreeEntry(path, int(mode, 8), blob)


def _records(out: bytes) -> Iterator[bytes]:
    return iter(out.split(b"\0")[:-1])


def _entry(record: bytes) -> TreeEntry:
    header, path = record.split(b"\t", 1)
    mode, _, blob = header.decode().split(" ")
    return TreeEntry(path, int(mode, 8), blob)


def _send(stream: Stream, ids: list[str]) -> None:
    stream.send(b"".join(b"%s\n" % blob.encode() for blob in ids))


def _sizes(stream: Stream, window: list[str]) -> list[tuple[str, int]]:
    _send(stream, window)
    return [(blob, _size(blob, stream.line())) for blob in window]


def _size(blob: str, answer: bytes) -> int:
    kind, _, size = answer.partition(b" ")
    if kind != b"blob":
        raise missing(blob)
    return int(size)


def _content(contents: Stream, blob: str) -> bytes:
    header = contents.line()
    if header.endswith(b" missing"):
        raise missing(blob)
    data = contents.read(int(header.rsplit(b" ", 1)[1]))
    contents.read(1)
    return data
