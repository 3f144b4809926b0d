"""`Objects` over the git program: starts in milliseconds, reads every repository git can read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import Self

from gitindex.errors import GitError, MissingObjects, TransientGitError
from gitindex.git.failure import Damage, damaged
from gitindex.git.localconfig import mentions
from gitindex.git.objects import EMPTY_TREES, Blob, TreeChange, TreeEntry, changes, missing, tree_id
from gitindex.git.repo import Repo
from gitindex.git.run import Stream, absent
from gitindex.git.tree_limits import few_enough, short_enough, small_enough
from gitindex.git.trees import TREE, Child, differences, parse_tree

_WINDOW = 128  # ids per round trip: the questions and the size answers both fit into a pipe buffer


class CliObjects:
    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._local: Stream | None = None

    def entries(self, tree: str) -> Iterator[TreeEntry]:
        if tree in EMPTY_TREES:
            return
        # With -t git tells of directories too: they count, and a tree of nothing else must end some time.
        for count, record in enumerate(self._records("ls-tree", "-r", "-t", "-z", "--full-tree", tree), 1):
            few_enough(self._repo, count)
            entry = _entry(record)
            short_enough(entry.path)
            if entry.mode != TREE:
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
        return next((entry for entry in found if entry.path == path and entry.mode != TREE), None)

    def diff(self, old_tree: str | None, new_tree: str) -> list[TreeChange]:
        with Stream(self._repo, "cat-file", "--batch") as trees:

            def children(tree: bytes) -> Iterator[Child]:
                return parse_tree(tree, self._tree(trees, tree.hex()))

            return changes(differences(self._repo, children, tree_id(old_tree), tree_id(new_tree)))

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
                message, hint = f"{error.message} ({' '.join(args)})", error.hint or "git fsck"
                raise type(error)(message, hint=hint, **error.detail) from error

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

    def _tree(self, stream: Stream, tree: str) -> bytes:
        _send(stream, [tree])
        _, kind, *size = stream.line().split(b" ")
        if kind != b"tree":
            error = damaged(Damage.OBJECT, f"git tree {tree} is missing", object_id=tree)
            raise absent(error.message) if self._partial else error
        small_enough(self._repo, int(size[0]))
        data = stream.read(int(size[0]))
        stream.read(1)
        return data


def _entry(record: bytes) -> TreeEntry:
    header, path = record.split(b"\t", 1)
    mode, _, blob = header.decode().split(" ")
    return TreeEntry(path, int(mode, 8), blob)


def _send(stream: Stream, ids: list[str]) -> None:
    stream.send(b"".join(b"%s\n" % blob.encode() for blob in ids))
