"""`Objects` over libgit2, for bulk work. Imported only when asked for; declines what it cannot read whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self

import pygit2
from pygit2.enums import ObjectType, Option

from gitindex.git.failure import Damage, damaged
from gitindex.git.loose import LooseObjects
from gitindex.git.objects import EMPTY_TREES, Blob, TreeChange, TreeEntry, changes, missing, tree_id
from gitindex.git.repo import Repo
from gitindex.git.tree_limits import few_enough, short_enough, small_enough, tree_bytes
from gitindex.git.trees import TREE, Child, differences, parse_tree

_KINDS = {ObjectType.BLOB: b"blob", ObjectType.TREE: b"tree"}
# libgit2 hashes what it reads by code that looks for collisions, as long as inflating takes. We hash it ourselves.
pygit2.option(Option.ENABLE_STRICT_HASH_VERIFICATION, False)


def open_pygit2(repo: Repo) -> Pygit2Objects | None:
    """None when libgit2 cannot open the repository, or objects may be absent (partial clone)."""
    try:
        opened = pygit2.Repository(str(repo.git_dir))
    except (pygit2.GitError, KeyError, ValueError):
        return None
    if _partial(opened.config):
        opened.free()
        return None
    return Pygit2Objects(repo, opened)


class Pygit2Objects:
    def __init__(self, repo: Repo, opened: Any) -> None:
        self._where = repo
        self._repo = opened
        self._odb = opened.odb
        self._loose = LooseObjects(repo.common_dir)

    def entries(self, tree: str) -> Iterator[TreeEntry]:
        if tree not in EMPTY_TREES:
            yield from self._walk(bytes.fromhex(tree))

    def entry(self, tree: str, path: bytes) -> TreeEntry | None:
        at = TreeEntry(b"", TREE, tree)
        for name in path.split(b"/"):
            if at.mode != TREE or at.blob in EMPTY_TREES:
                return None
            found = next((item for item in self._children(bytes.fromhex(at.blob)) if item[1] == name), None)
            if found is None:
                return None
            at = TreeEntry(path, found[0], found[2].hex())
        return None if at.mode == TREE else at

    def diff(self, old_tree: str | None, new_tree: str) -> list[TreeChange]:
        found = differences(self._where, self._children, tree_id(old_tree), tree_id(new_tree))
        return changes(found)

    def read(self, blobs: Iterable[str], max_bytes: int) -> Iterator[Blob]:
        for blob in blobs:
            yield self._blob(blob, max_bytes)

    def has(self, object_id: str) -> bool:
        return object_id in EMPTY_TREES or self._odb.exists(object_id)

    def close(self) -> None:
        self._repo.free()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _walk(self, tree: bytes) -> Iterator[TreeEntry]:
        """Depth first, with a stack of our own: a tree may be deeper than Python calls."""
        count = 0
        stack = [(b"", self._children(tree))]
        while stack:
            prefix, children = stack[-1]
            for mode, name, child in children:
                count += 1
                few_enough(self._where, count)
                path = prefix + name
                short_enough(path)
                if mode == TREE:
                    stack.append((path + b"/", self._children(child)))
                    break
                yield TreeEntry(path, mode, child.hex())
            else:
                stack.pop()

    def _children(self, tree: bytes) -> Iterator[Child]:
        """The raw tree object, parsed here: a Python object per entry of libgit2's costs twice as much."""
        return parse_tree(tree, self._raw_tree(tree.hex()))

    def _raw_tree(self, tree: str) -> bytes:
        try:
            most = tree_bytes(self._where)
            kind, size, data = self._loose.read(tree, most) or self._packed(tree, most)
        except (KeyError, pygit2.GitError) as error:
            raise damaged(Damage.OBJECT, f"git tree {tree} is missing", object_id=tree) from error
        small_enough(self._where, size)
        return _verified(tree, kind, data or b"")

    def _packed(self, object_id: str, max_bytes: int) -> tuple[bytes, int, bytes | None]:
        """Raises KeyError, pygit2.GitError."""
        kind, size = self._odb.read_header(object_id)
        data = self._odb.read(object_id)[1] if size <= max_bytes else None
        return _KINDS.get(ObjectType(kind), b"?"), size, data

    def _blob(self, blob: str, max_bytes: int) -> Blob:
        try:
            kind, size, data = self._loose.read(blob, max_bytes) or self._packed(blob, max_bytes)
            if kind != b"blob":
                raise missing(blob)
            return Blob(blob, size, None if data is None else _verified(blob, kind, data))
        except (KeyError, pygit2.GitError) as error:
            raise missing(blob) from error


def _verified(object_id: str, kind: bytes, data: bytes) -> bytes:
    digest = hashlib.sha1(b"%s %d\0" % (kind, len(data)), usedforsecurity=False)
    digest.update(data)
    if digest.hexdigest() != object_id:
        raise damaged(Damage.OBJECT, f"git object {object_id} is damaged", object_id=object_id)
    return data


def _partial(config: Any) -> bool:
    names = [entry.name.lower() for entry in config]
    return any(name == "extensions.partialclone" or name.endswith(".promisor") for name in names)
