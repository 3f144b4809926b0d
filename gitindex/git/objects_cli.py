"""`Objects` over the git program: starts in milliseconds, reads every repository git can read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import Self

from gitindex.errors import GitError, MissingObjects, TransientGitError
from gitindex.git.localconfig import mentions
from gitindex.git.objects import EMPTY_TREES, Blob, TreeChange, TreeEntry, few_enough, missing, short_enough
from gitindex.git.repo import Repo
from gitindex.git.run import Stream, absent

_TREE = 0o040000
_WINDOW = 128  # ids per round trip: the questions and the size answers both fit into a pipe buffer


class CliObjects:
    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._null = "0" * (64 if repo.algorithm == "sha256" else 40)
        self._local: Stream | None = None

    def entries(self, tree: str) -> Iterator[TreeEntry]:
        if tree in EMPTY_TREES:
            return
        # With -t git tells of directories too: they count, and a tree of nothing else must end some time.
        for count, record in enumerate(self._records("ls-tree", "-r", "-t", "-z", "--full-tree", tree), 1):
            few_enough(self._repo, count)
            entry = _entry(record)
            short_enough(entry.path)
            if entry.mode != _TREE:
                yield entry

    def entry(self, tree: str, path: bytes) -> TreeEntry | None:
        if tree in EMPTY_TREES:
            return None
        name = os.fsdecode(path)
        found = [
            _entry(record)
            for record in self._records(
                "--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--", name
            )
        ]
        return next((entry for entry in found if entry.path == path and entry.mode != _TREE), None)

    def diff(self, old_tree: str | None, new_tree: str) -> list[TreeChange]:
        if old_tree is None:
            return [TreeChange(entry.path, None, entry) for entry in self.entries(new_tree)]
        options = (
            "-r",
            "-t",
            "-z",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            "--no-ext-diff",
            "--ignore-submodules=none",
        )
        changes: list[TreeChange] = []
        fields = self._records("diff-tree", *options, old_tree, new_tree)
        # One iterator twice: header and path come in pairs.
        for count, (header, path) in enumerate(zip(fields, fields, strict=True), 1):
            few_enough(self._repo, count)
            short_enough(path)
            change = self._change(header, path)
            changes.extend([change] if change.old or change.new else [])
        return sorted(changes, key=lambda change: change.path)

    def read(self, blobs: Iterable[str], max_bytes: int) -> Iterator[Blob]:
        # Own processes per call: a reader that stops half-way leaves no answers behind for the next one.
        wanted = iter(blobs)
        with (
            Stream(self._repo, "cat-file", "--batch-check=%(objecttype) %(objectsize)") as sizes,
            Stream(self._repo, "cat-file", "--batch") as contents,
        ):
            while window := list(islice(wanted, _WINDOW)):
                known = self._sizes(sizes, window)
                _send(contents, [blob for blob, size in known if size <= max_bytes])
                for blob, size in known:
                    yield Blob(blob, size, self._content(contents, blob) if size <= max_bytes else None)

    def has(self, object_id: str) -> bool:
        if self._local is None:
            self._local = Stream(self._repo, "cat-file", "--batch-check=%(objectname)", local=True)
        self._local.send(object_id.encode() + b"\n")
        try:
            return not self._local.line().endswith(b" missing")
        except MissingObjects:  # git gives up on the first promised object it may not fetch
            self.close()
            return False

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

    def _records(self, *args: str) -> Iterator[bytes]:
        """What git lists, ended by NULs, as it comes. Raises MissingObjects, GitError."""
        with Stream(self._repo, *args) as stream:
            try:
                yield from stream.records()
            except (TransientGitError, MissingObjects):
                raise
            except GitError as error:
                if self._partial:
                    raise absent(error.message) from error
                # Git says that a tree is missing, but not always which: the arguments do.
                raise GitError(f"{error.message} ({' '.join(args)})", hint="git fsck") from error

    def _sizes(self, stream: Stream, window: list[str]) -> list[tuple[str, int]]:
        _send(stream, window)
        return [(blob, self._size(blob, stream.line())) for blob in window]

    def _size(self, blob: str, answer: bytes) -> int:
        kind, _, size = answer.partition(b" ")
        if kind != b"blob":
            raise self._missing(blob)
        return int(size)

    def _content(self, contents: Stream, blob: str) -> bytes:
        header = contents.line()
        if header.endswith(b" missing"):
            raise self._missing(blob)
        data = contents.read(int(header.rsplit(b" ", 1)[1]))
        contents.read(1)
        return data

    def _missing(self, blob: str) -> GitError:
        return absent(f"object {blob}") if self._partial else missing(blob)

    @property
    def _partial(self) -> bool:
        return mentions(self._repo, b"promisor", b"partialclone")

    def _change(self, header: bytes, path: bytes) -> TreeChange:
        old_mode, new_mode, old, new, _ = header[1:].decode().split(" ")
        return TreeChange(path, self._side(path, old_mode, old), self._side(path, new_mode, new))

    def _side(self, path: bytes, mode: str, blob: str) -> TreeEntry | None:
        return None if blob == self._null or int(mode, 8) == _TREE else TreeEntry(path, int(mode, 8), blob)


def _entry(record: bytes) -> TreeEntry:
    header, path = record.split(b"\t", 1)
    mode, _, blob = header.decode().split(" ")
    return TreeEntry(path, int(mode, 8), blob)


def _send(stream: Stream, ids: list[str]) -> None:
    stream.send(b"".join(b"%s\n" % blob.encode() for blob in ids))
