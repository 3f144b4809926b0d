"""Repositories inside the repository (EL-4): indexed only where the settings say so, with paths below their directory.

A submodule is read at the commit its parent records, a nested repository at its HEAD; always from objects. It is
opened by the raw bytes of its path, because a path key may be another directory's name, and only where a `.git` entry
stands that no link leads to (CF-5). One that is not checked out stays a skip.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from stat import S_ISDIR, S_ISREG

from gitindex.errors import GitError
from gitindex.files.safeopen import ReadError, Root
from gitindex.git.object_values import Blob
from gitindex.git.objects import Objects, open_objects
from gitindex.git.repo import Repo, discover, read_head, resolve
from gitindex.git.tree_limits import check_file_count
from gitindex.model.paths import PathKey
from gitindex.source.source_file import NESTED, SUBMODULE, SourceFile, make_source_file


class NestedRepos:
    """Opens inner repositories when the walk reaches them; knows the repository of each source file."""

    def __init__(self, outer: Repo, *, bulk: bool) -> None:
        self._outer = outer
        self._bulk = bulk
        self._objects_by_repo: dict[str, Objects] = {}

    def expand(self, files: dict[PathKey, SourceFile]) -> dict[PathKey, SourceFile]:
        """`files` with every inner repository replaced by its files."""
        expanded: dict[PathKey, SourceFile] = {}
        for key, item in files.items():
            inner = self._list_inner_files(item) if item.mode in (SUBMODULE, NESTED) else None
            expanded.update({entry.key: entry for entry in inner} if inner is not None else {key: item})
            check_file_count(self._outer, len(expanded))
        return expanded

    def read(self, items: Sequence[SourceFile], max_bytes: int) -> Iterator[Blob]:
        """Blobs of source files that all belong to one inner repository."""
        return self._objects_by_repo[items[0].inner_repo].read((item.blob for item in items), max_bytes)

    def close(self) -> None:
        for objects in self._objects_by_repo.values():
            objects.close()

    def _list_inner_files(self, item: SourceFile) -> Iterable[SourceFile] | None:
        repo = self._find_repository(item.raw)
        if repo is None:
            return None
        try:
            inner_head = resolve(repo, item.blob) if item.mode == SUBMODULE else read_head(repo)
        except GitError:
            return None
        if inner_head.tree is None:
            return None
        objects = self._objects_by_repo.setdefault(item.key, open_objects(repo, bulk=self._bulk))
        return [
            make_source_file(
                item.raw + b"/" + entry.path, entry.mode, entry.blob, from_worktree=False
            )._replace(inner_repo=item.key)
            for entry in objects.list_entries(inner_head.tree)
        ]

    def _find_repository(self, raw: bytes) -> Repo | None:
        with Root(self._outer.root) as root:
            try:
                mode = root.lstat(raw + b"/.git").st_mode
            except ReadError:
                return None
        if not (S_ISDIR(mode) or S_ISREG(mode)):
            return None
        directory = self._outer.root / os.fsdecode(raw)
        try:
            repo = discover(directory)
        except GitError:
            return None
        if repo is None or repo.root != directory:
            return None
        return replace(repo, lazy_fetch=self._outer.lazy_fetch, max_files=self._outer.max_files)
