"""Repositories inside the repository (EL-4): entered only when asked, each under its own directory as name space.

A submodule is read at the commit its parent records, a nested repository at its HEAD; always from objects. One that
is not checked out stays the skip it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gitindex.errors import GitError
from gitindex.git.objects import Blob, Objects, open_objects
from gitindex.git.repo import Repo, discover, head, resolve
from gitindex.source.candidate import NESTED, SUBMODULE, Candidate, candidate


class Nested:
    """Opens inner repositories as they are met; remembers which candidate belongs to which."""

    def __init__(self, root: Path, *, bulk: bool) -> None:
        self._root = root
        self._bulk = bulk
        self._spaces: dict[str, Objects] = {}

    def expand(self, found: dict[str, Candidate]) -> dict[str, Candidate]:
        """`found` with every inner repository replaced by its files."""
        whole: dict[str, Candidate] = {}
        for key, item in found.items():
            inner = self._enter(item) if item.mode in (SUBMODULE, NESTED) else None
            whole.update({entry.key: entry for entry in inner} if inner is not None else {key: item})
        return whole

    def read(self, items: Sequence[Candidate], max_bytes: int) -> Iterator[Blob]:
        """Blobs of candidates of one name space."""
        return self._spaces[items[0].space].read((item.blob for item in items), max_bytes)

    def close(self) -> None:
        for objects in self._spaces.values():
            objects.close()

    def _enter(self, item: Candidate) -> Iterable[Candidate] | None:
        where = self._root / item.key
        repo = _repository(where)
        if repo is None or repo.root != where.resolve():
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


def _repository(where: Path) -> Repo | None:
    try:
        return discover(where) if where.is_dir() else None
    except GitError:
        return None
