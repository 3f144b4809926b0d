"""A commit, with or without the working tree over it (CS-2, CS-3).

Committed content is read by blob id. Paths that git reports as dirty or untracked come from the working tree by
stable reads; they form the overlay. Without an overlay (`commit_only`) nothing outside the object store is read. With
one, a blob that git has lost is read from its file, where that holds the very bytes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from stat import S_ISLNK
from typing import NamedTuple, Self

from gitindex.errors import GitDamaged, TransientGitError
from gitindex.files.safeopen import Root
from gitindex.git.objects import Blob, Objects, TreeEntry, open_objects
from gitindex.git.repo import Head, Repo, head, resolve
from gitindex.git.status import CLOSED, Looking, Seen
from gitindex.model.manifest import GitState
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import SkipReason
from gitindex.source.nested import Nested
from gitindex.source.source_file import LINK, NESTED, Candidate, Content, by_key, candidate
from gitindex.source.worktree_files import identify, lstat, read_work

EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_HEAD_READS = 5
_GLANCE = 32  # files


class Dirt(NamedTuple):
    """What the working tree says about a path: a candidate, or that the path is gone."""

    key: str
    raw: bytes
    item: Candidate | None


class GitSource:
    def __init__(
        self,
        repo: Repo,
        at: Head,
        objects: Objects,
        dirt: tuple[Dirt, ...],
        *,
        untracked: bool,
        max_bytes: int,
        nested: Nested | None = None,
        has_files: bool = False,
    ) -> None:
        """`has_files`: the working tree belongs to it, and may give bytes that git has lost."""
        self._nested = nested
        self._has_files = has_files
        self.damage: GitDamaged | None = None  # an object that git cannot read and a file made good
        self.repo = repo
        self.head = at
        self.algorithm = repo.algorithm
        self._objects = objects
        self._dirt = {entry.key: entry for entry in dirt}
        self._untracked = untracked
        self._max = max_bytes
        self._root: Root | None = None
        self.twins: tuple[tuple[str, str], ...] = ()
        self._every: dict[str, Candidate] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._objects.close()
        if self._nested is not None:
            self._nested.close()
        if self._root is not None:
            self._root.close()

    @property
    def tree(self) -> str:
        return self.head.tree or EMPTY_TREE[self.algorithm]

    @property
    def state(self) -> GitState:
        return GitState(
            head_sha=self.head.commit,
            tree_sha=self.tree,
            branch=self.head.branch,
            dirty=any(
                entry.item is None or entry.item.skip is not SkipReason.UNREADABLE
                for entry in self._dirt.values()
            ),
            untracked_included=self._untracked,
        )

    @property
    def dirty_paths(self) -> tuple[str, ...]:
        return tuple(sorted(self._dirt))

    def changed(
        self, base_tree: str | None, overlay: dict[str, OverlayEntry]
    ) -> dict[str, Candidate | None] | None:
        if self._nested is not None:  # an inner HEAD may move without any change out here
            return None
        if base_tree is None or not (base_tree == self.tree or self._objects.has(base_tree)):
            return None
        found: dict[str, Candidate | None] = {}
        if base_tree != self.tree:
            try:
                changes = self._objects.diff(base_tree, self.tree)
            except GitDamaged:  # perhaps only the old tree is: the whole new one tells (CS-2)
                return None
            for change in changes:
                self._put(found, change.path, change.new)
        for key in overlay.keys() - self._dirt.keys() - found.keys():
            self._put(found, key.encode(), self._objects.entry(self.tree, key.encode()))
        found.update((key, entry.item) for key, entry in self._dirt.items())
        # Two spellings of one key need the whole tree to tell which one counts (EL-2).
        return found if all(key.isascii() for key in found) else None

    def all(self) -> Mapping[str, Candidate]:
        """Walked once: the tree and what is on top of it stay as they were seen."""
        if self._every is None:
            self._every = self._walked()
        return self._every

    def _walked(self) -> dict[str, Candidate]:
        raw = {
            e.path: candidate(e.path, e.mode, e.blob, work=False) for e in self._objects.entries(self.tree)
        }
        for entry in self._dirt.values():
            if entry.item is None:
                raw.pop(entry.raw, None)
            else:
                raw[entry.raw] = entry.item
        found, self.twins = by_key(raw.values())
        return self._nested.expand(found) if self._nested is not None else found

    def identify(self, item: Candidate, known: OverlayEntry | None) -> Content:
        return identify(self._opened(), item, known, self._max, self.algorithm)

    def read(self, items: Sequence[Candidate]) -> Iterator[tuple[Candidate, Content]]:
        for (work, space), run in itertools.groupby(items, key=lambda item: (item.work, item.space)):
            batch = list(run)
            if work:
                yield from (
                    (item, read_work(self._opened(), item, self._max, self.algorithm)) for item in batch
                )
            else:
                yield from self._committed(space, batch)

    def _committed(self, space: str, items: list[Candidate]) -> Iterator[tuple[Candidate, Content]]:
        """From objects; once git cannot read one, from files that hold the very bytes, where there are such."""
        done = 0
        try:
            for item, blob in zip(items, self._blobs(space, items), strict=True):
                yield item, _content(blob.id, blob.size, blob.data)
                done += 1
        except GitDamaged as error:
            if space or not self._has_files:
                raise
            self.damage = self.damage or error
        if done < len(items):
            yield from self._rescued(items[done:])

    def _rescued(self, items: list[Candidate]) -> Iterator[tuple[Candidate, Content]]:
        """Each file whose bytes have the id that the tree names is the blob itself: no other bytes have it."""
        lost = {item.key for item in items if not self._is_copy(item)}
        others = self._blobs("", [item for item in items if item.key in lost])
        for item in items:
            if item.key in lost:
                blob = next(others)
                yield item, _content(blob.id, blob.size, blob.data)
                continue
            content = self._from_file(item)
            if content.blob != item.blob:
                raise TransientGitError(f"{item.key} changed while it was read", hint="gitindex sync")
            yield item, content

    def _is_copy(self, item: Candidate) -> bool:
        return self._from_file(item).blob == item.blob

    def _from_file(self, item: Candidate) -> Content:
        """As if it came from git: a clean file is no part of the overlay."""
        return read_work(self._opened(), item, self._max, self.algorithm)._replace(stat=None)

    def _blobs(self, space: str, items: list[Candidate]) -> Iterator[Blob]:
        if space and self._nested is not None:
            return self._nested.read(items, self._max)
        return self._objects.read((item.blob for item in items), self._max)

    def entry(self, raw: bytes) -> TreeEntry | None:
        return self._objects.entry(self.tree, raw)

    def blob(self, blob: str) -> bytes | None:
        """One object's bytes, None when larger than a file may be."""
        return next(iter(self._objects.read([blob], self._max))).data

    def _put(self, found: dict[str, Candidate | None], raw: bytes, entry: TreeEntry | None) -> None:
        if entry is None:
            found[candidate(raw, 0, "", work=False).key] = None
        else:
            item = candidate(entry.path, entry.mode, entry.blob, work=False)
            found[item.key] = item

    def _opened(self) -> Root:
        if self._root is None:
            self._root = Root(self.repo.root)
        return self._root


def open_worktree(
    repo: Repo,
    *,
    untracked: bool,
    max_bytes: int,
    nested: bool = False,
    bulk: bool = False,
    look: Looking | None = None,
) -> GitSource:
    """HEAD with the working tree over it, both as they are now, or as `look` sees them."""
    with Root(repo.root) as root:
        at, dirt = _consistent(repo, root, untracked, look)
    objects = open_objects(repo, bulk=bulk)
    inner = Nested(repo, bulk=bulk) if nested else None
    return GitSource(
        repo, at, objects, dirt, untracked=untracked, max_bytes=max_bytes, nested=inner, has_files=True
    )


def differs(repo: Repo, seen: Seen, overlay: Mapping[str, OverlayEntry], max_bytes: int) -> bool:
    """Does one of the first dirty files hold other bytes than a snapshot with this overlay? A hint, quickly given:
    what the overlay knows no blob of is not judged."""
    with Root(repo.root) as root:
        for path, kind in seen.dirty[:_GLANCE]:
            key, _, item = _dirt(root, path, kind)
            known = overlay.get(key)
            if known is None:
                return True
            now = identify(root, item, known, max_bytes, repo.algorithm).blob if item else ""
            if known.blob and known.blob != now:
                return True
    return False


def _consistent(
    repo: Repo, root: Root, untracked: bool, begun: Looking | None
) -> tuple[Head, tuple[Dirt, ...]]:
    """HEAD and the dirt against it: read again when HEAD is not what it was when git began to look."""
    for again in range(_HEAD_READS):
        look = begun if begun is not None and not again else Looking(repo, untracked=untracked)
        with look:
            seen = look.seen
        dirt = tuple(_dirt(root, entry.path, entry.kind) for entry in seen.dirty)
        at = head(repo)
        if at.commit == seen.commit:
            return at, dirt
    raise TransientGitError("HEAD keeps moving; nothing was indexed", hint="gitindex sync")


def open_commit(repo: Repo, rev: str, *, max_bytes: int, bulk: bool = False) -> GitSource:
    """One commit and nothing else."""
    at = head(repo) if rev == "HEAD" else resolve(repo, rev)
    return GitSource(repo, at, open_objects(repo, bulk=bulk), (), untracked=False, max_bytes=max_bytes)


def _dirt(root: Root, raw: bytes, kind: str) -> Dirt:
    if kind == "nested":
        item = candidate(raw, NESTED, "", work=True)
        return Dirt(item.key, raw, item)
    if kind == CLOSED:
        item = candidate(raw, 0, "", work=True)
        return Dirt(item.key, raw, item._replace(skip=item.skip or SkipReason.UNREADABLE))
    stat = None if kind == "deleted" else lstat(root, raw)
    item = candidate(raw, LINK if stat and S_ISLNK(stat.st_mode) else 0, "", work=True)
    return Dirt(item.key, raw, item if stat else None)


def _content(blob: str, size: int, data: bytes | None) -> Content:
    if data is None:
        return Content(blob=blob, size=size, skip=SkipReason.TOO_LARGE)
    return Content(data=data, blob=blob, size=size)
