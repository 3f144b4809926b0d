"""Repositories inside the repository (EL-4): entered only when asked, each under its own directory as name space.

A submodule is read at the commit its parent records, a nested repository at its HEAD; always from objects. It is
looked for under the very bytes that git or the file system spells its path with, and only where a `.git` entry stands
that no link leads to (CF-5): a path key may be another directory's name. One that is not checked out stays a skip.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from stat import S_ISDIR, S_ISREG

from gitindex.errors import GitError
from gitindex.files.safeopen import ReadError, Root
from gitindex.git.objects import Blob, Objects, open_objects
from gitindex.git.repo import Repo, discover, head, resolve
from gitindex.git.tree_limits import few_enough
from gitindex.source.source_file import NESTED, SUBMODULE, Candidate, candidate


class Nested:
    """Opens inner repositories as they are met; remembers which candidate belongs to which."""

    def __init__(self, outer: Repo, *, bulk: bool) -> None:
        self._outer = outer
        self._bulk = bulk
        self._spaces: dict[str, Objects] = {}

    def expand(self, found: dict[str, Candidate]) -> dict[str, Candidate]:
        """`found` with every inner repository replaced by its files."""
        whole: dict[str, Candidate] = {}
        for key, item in found.items():
            inner = self._enter(item) if item.mode in (SUBMODULE, NESTED) else None
            whole.update({entry.key: entry for entry in inner} if inner is not None else {key: item})
            few_enough(self._outer, len(whole))
        return whole

    def read(self, items: Sequence[Candidate], max_bytes: int) -> Iterator[Blob]:
        """Blobs of candidates of one name space."""
        return self._spaces[items[0].space].read((item.blob for item in items), max_bytes)

    def close(self) -> None:
        for objects in self._spaces.values():
            objects.close()

    def _enter(self, item: Candidate) -> Iterable[Candidate] | None:
        repo = self._repository(item.raw)
        if repo is None:
            return None
        try:
            at = resolve(repo, item.blob) if item.mode == SUBMODULE else head(repo)
        except GitError:
            return None
        if at.tree is None:
            return None
        objects = self._spaces.setdefault(item.key, open_objects(repo, bulk=self._bulk))
        return [
            candidate(item.raw + b"/" + entry.path, entry.mode, entry.blob, work=False)._replace(
                space=item.key
            )
            for entry in objects.entries(at.tree)
        ]

    def _repository(self, raw: bytes) -> Repo | None:
        with Root(self._outer.root) as root:
            try:
                mode = root.lstat(raw + b"/.git").st_mode
            except ReadError:
                return None
        if not (S_ISDIR(mode) or S_ISREG(mode)):
            return None
        where = self._outer.root / os.fsdecode(raw)
        try:
            found = discover(where)
        except GitError:
            return None
        if found is None or found.root != where:
            return None
        return replace(found, lazy_fetch=self._outer.lazy_fetch, max_files=self._outer.max_files)
