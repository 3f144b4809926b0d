"""`Objects` over the git program: starts in milliseconds, reads every repository git can read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from types import TracebackType
from typing import Self

from gitindex.errors import GitError, MissingObjects, TransientGitError
from gitindex.git.failure import Damage, damage_error
from gitindex.git.localconfig import mentions
from gitindex.git.object_values import (
    EMPTY_TREES,
    Blob,
    TreeChange,
    TreeEntry,
    missing_blob_error,
    raw_tree_id,
)
from gitindex.git.repo import Repo
from gitindex.git.run import GitStream, missing_objects_error
from gitindex.git.tree_limits import check_file_count, check_path_length, check_tree_size
from gitindex.git.trees import TREE, Child, diff_trees, parse_tree

_WINDOW = 128  # ids per round trip: the questions and the size answers both fit into a pipe buffer


class CliObjects:
    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._local_stream: GitStream | None = None

    def list_entries(self, tree: str) -> Iterator[TreeEntry]:
        if tree in EMPTY_TREES:
            return
        # With -t git lists directories, too: they count, or a tree of directories alone would never reach the limit.
        for count, record in enumerate(
            self._read_records("ls-tree", "-r", "-t", "-z", "--full-tree", tree), 1
        ):
            check_file_count(self._repo, count)
            entry = _parse_entry(record)
            check_path_length(entry.path)
            if entry.mode != TREE:
                yield entry

    def find_entry(self, tree: str, path: bytes) -> TreeEntry | None:
        if tree in EMPTY_TREES:
            return None
        name = os.fsdecode(path)
        entries = [
            _parse_entry(record)
            for record in self._read_records(
                "--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--", name
            )
        ]
        return next((entry for entry in entries if entry.path == path and entry.mode != TREE), None)

    def diff(self, old_tree: str | None, new_tree: str) -> list[TreeChange]:
        with GitStream(self._repo, "cat-file", "--batch") as trees:

            def children(tree: bytes) -> Iterator[Child]:
                return parse_tree(tree, self._read_tree(trees, tree.hex()))

            return diff_trees(self._repo, children, raw_tree_id(old_tree), raw_tree_id(new_tree))

    def read(self, blobs: Iterable[str], max_bytes: int) -> Iterator[Blob]:
        # Processes of its own per call: a caller that stops half-way leaves no answers in a pipe for the next one.
        blob_ids = iter(blobs)
        with (
            GitStream(self._repo, "cat-file", "--batch-check=%(objecttype) %(objectsize)") as sizes,
            GitStream(self._repo, "cat-file", "--batch") as contents,
        ):
            while window := list(islice(blob_ids, _WINDOW)):
                blob_sizes = self._read_sizes(sizes, window)
                _send_ids(contents, [blob for blob, size in blob_sizes if size <= max_bytes])
                for blob, size in blob_sizes:
                    yield Blob(blob, size, self._read_content(contents, blob) if size <= max_bytes else None)

    def has(self, object_id: str) -> bool:
        if self._local_stream is None:
            self._local_stream = GitStream(self._repo, "cat-file", "--batch-check=%(objectname)", local=True)
        self._local_stream.send(object_id.encode() + b"\n")
        try:
            return not self._local_stream.read_line().endswith(b" missing")
        except MissingObjects:  # git exits at the first promised object that it may not fetch
            self.close()
            return False

    def close(self) -> None:
        if self._local_stream is not None:
            self._local_stream.close()
            self._local_stream = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read_records(self, *args: str) -> Iterator[bytes]:
        """The NUL-terminated records of a listing, as they arrive. Raises MissingObjects, GitError."""
        with GitStream(self._repo, *args) as stream:
            try:
                yield from stream.read_records()
            except (TransientGitError, MissingObjects):
                raise
            except GitError as error:
                if self._is_partial_clone:
                    raise missing_objects_error(error.message) from error
                # Git does not always say which tree is missing: the arguments do.
                message, hint = f"{error.message} ({' '.join(args)})", error.hint or "git fsck"
                raise type(error)(message, hint=hint, **error.detail) from error

    def _read_sizes(self, stream: GitStream, window: list[str]) -> list[tuple[str, int]]:
        _send_ids(stream, window)
        return [(blob, self._parse_size(blob, stream.read_line())) for blob in window]

    def _parse_size(self, blob: str, answer: bytes) -> int:
        kind, _, size = answer.partition(b" ")
        if kind != b"blob":
            raise self._missing_error(blob)
        return int(size)

    def _read_content(self, contents: GitStream, blob: str) -> bytes:
        header = contents.read_line()
        if header.endswith(b" missing"):
            raise self._missing_error(blob)
        data = contents.read(int(header.rsplit(b" ", 1)[1]))
        contents.read(1)
        return data

    def _missing_error(self, blob: str) -> GitError:
        return missing_objects_error(f"object {blob}") if self._is_partial_clone else missing_blob_error(blob)

    @property
    def _is_partial_clone(self) -> bool:
        return mentions(self._repo, b"promisor", b"partialclone")

    def _read_tree(self, stream: GitStream, tree: str) -> bytes:
        _send_ids(stream, [tree])
        _, kind, *size = stream.read_line().split(b" ")
        if kind != b"tree":
            error = damage_error(Damage.OBJECT, f"git tree {tree} is missing", object_id=tree)
            raise missing_objects_error(error.message) if self._is_partial_clone else error
        check_tree_size(self._repo, int(size[0]))
        data = stream.read(int(size[0]))
        stream.read(1)
        return data


def _parse_entry(record: bytes) -> TreeEntry:
    header, path = record.split(b"\t", 1)
    mode, _, blob = header.decode().split(" ")
    return TreeEntry(path, int(mode, 8), blob)


def _send_ids(stream: GitStream, ids: list[str]) -> None:
    stream.send(b"".join(b"%s\n" % blob.encode() for blob in ids))
