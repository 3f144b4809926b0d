"""`Objects` over libgit2, for bulk work. Imported only for bulk work; declines repositories that it cannot read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self

import pygit2
from pygit2.enums import ObjectType, Option

from gitindex.git.failure import Damage, damage_error
from gitindex.git.loose import LooseObjects
from gitindex.git.object_values import (
    EMPTY_TREES,
    Blob,
    TreeChange,
    TreeEntry,
    missing_blob_error,
    raw_tree_id,
)
from gitindex.git.repo import Repo
from gitindex.git.tree_limits import check_file_count, check_path_length, check_tree_size, max_tree_bytes
from gitindex.git.trees import TREE, Child, diff_trees, parse_tree

_KINDS = {ObjectType.BLOB: b"blob", ObjectType.TREE: b"tree"}
# libgit2 verifies hashes with collision detection, which takes as long as inflating. `_verify_hash` does it here.
pygit2.option(Option.ENABLE_STRICT_HASH_VERIFICATION, False)


def open_pygit2(repo: Repo) -> Pygit2Objects | None:
    """None when libgit2 cannot open the repository, or objects may be absent (partial clone)."""
    try:
        repository = pygit2.Repository(str(repo.git_dir))
    except (pygit2.GitError, KeyError, ValueError):
        return None
    if _is_partial_clone(repository.config):
        repository.free()
        return None
    return Pygit2Objects(repo, repository)


class Pygit2Objects:
    def __init__(self, repo: Repo, repository: Any) -> None:
        self._git_repo = repo
        self._repository = repository
        self._odb = repository.odb
        self._loose = LooseObjects(repo.common_dir)

    def list_entries(self, tree: str) -> Iterator[TreeEntry]:
        if tree not in EMPTY_TREES:
            yield from self._walk(bytes.fromhex(tree))

    def find_entry(self, tree: str, path: bytes) -> TreeEntry | None:
        current = TreeEntry(b"", TREE, tree)
        for name in path.split(b"/"):
            if current.mode != TREE or current.blob in EMPTY_TREES:
                return None
            children = self._read_children(bytes.fromhex(current.blob))
            match = next(((mode, raw_id) for mode, child, raw_id in children if child == name), None)
            if match is None:
                return None
            mode, raw_id = match
            current = TreeEntry(path, mode, raw_id.hex())
        return None if current.mode == TREE else current

    def diff(self, old_tree: str | None, new_tree: str) -> list[TreeChange]:
        trees = raw_tree_id(old_tree), raw_tree_id(new_tree)
        return diff_trees(self._git_repo, self._read_children, *trees)

    def read(self, blobs: Iterable[str], max_bytes: int) -> Iterator[Blob]:
        for blob in blobs:
            yield self._read_blob(blob, max_bytes)

    def has(self, object_id: str) -> bool:
        return object_id in EMPTY_TREES or self._odb.exists(object_id)

    def close(self) -> None:
        self._repository.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _walk(self, tree: bytes) -> Iterator[TreeEntry]:
        """Depth first, with an explicit stack: a tree may be deeper than Python's recursion limit."""
        count = 0
        stack = [(b"", self._read_children(tree))]
        while stack:
            prefix, children = stack[-1]
            for mode, name, child in children:
                count += 1
                check_file_count(self._git_repo, count)
                path = prefix + name
                check_path_length(path)
                if mode == TREE:
                    stack.append((path + b"/", self._read_children(child)))
                    break
                yield TreeEntry(path, mode, child.hex())
            else:
                stack.pop()

    def _read_children(self, tree: bytes) -> Iterator[Child]:
        """Parses the raw tree object: the objects that libgit2 makes per entry cost twice as much."""
        return parse_tree(tree, self._read_tree(tree.hex()))

    def _read_tree(self, tree: str) -> bytes:
        try:
            max_bytes = max_tree_bytes(self._git_repo)
            kind, size, data = self._loose.read(tree, max_bytes) or self._read_packed(tree, max_bytes)
        except (KeyError, pygit2.GitError) as error:
            raise damage_error(Damage.OBJECT, f"git tree {tree} is missing", object_id=tree) from error
        check_tree_size(self._git_repo, size)
        return _verify_hash(tree, kind, data or b"")

    def _read_packed(self, object_id: str, max_bytes: int) -> tuple[bytes, int, bytes | None]:
        """Raises KeyError, pygit2.GitError."""
        kind, size = self._odb.read_header(object_id)
        data = self._odb.read(object_id)[1] if size <= max_bytes else None
        return _KINDS.get(ObjectType(kind), b"?"), size, data

    def _read_blob(self, blob: str, max_bytes: int) -> Blob:
        try:
            kind, size, data = self._loose.read(blob, max_bytes) or self._read_packed(blob, max_bytes)
            if kind != b"blob":
                raise missing_blob_error(blob)
            return Blob(blob, size, None if data is None else _verify_hash(blob, kind, data))
        except (KeyError, pygit2.GitError) as error:
            raise missing_blob_error(blob) from error


def _verify_hash(object_id: str, kind: bytes, data: bytes) -> bytes:
    digest = hashlib.sha1(b"%s %d\0" % (kind, len(data)), usedforsecurity=False)
    digest.update(data)
    if digest.hexdigest() != object_id:
        raise damage_error(Damage.OBJECT, f"git object {object_id} is damaged", object_id=object_id)
    return data


def _is_partial_clone(config: Any) -> bool:
    names = [entry.name.lower() for entry in config]
    return any(name == "extensions.partialclone" or name.endswith(".promisor") for name in names)
