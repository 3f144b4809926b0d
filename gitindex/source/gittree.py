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
from gitindex.git.object_values import EMPTY_TREE, Blob, TreeEntry
from gitindex.git.objects import Objects, open_objects
from gitindex.git.repo import Head, Repo, read_head, resolve
from gitindex.git.status import UNLISTABLE, PendingStatus, WorktreeStatus
from gitindex.model.manifest import GitState
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import SkipReason
from gitindex.source.nested import NestedRepos
from gitindex.source.source_file import LINK, NESTED, Content, SourceFile, choose_spellings, make_source_file
from gitindex.source.worktree_files import identify, lstat, read_worktree_file

_HEAD_READS = 5
_MAX_COMPARED = 32  # files


class WorktreeChange(NamedTuple):
    """What the working tree says about a path: a candidate, or that the path is gone."""

    key: str
    raw: bytes
    file: SourceFile | None


class GitSource:
    def __init__(
        self,
        repo: Repo,
        head_read: Head,
        objects: Objects,
        worktree_changes: tuple[WorktreeChange, ...],
        *,
        untracked: bool,
        max_bytes: int,
        nested: NestedRepos | None = None,
        has_files: bool = False,
    ) -> None:
        """`has_files`: the working tree belongs to it, and may give bytes that git has lost."""
        self._nested = nested
        self._has_files = has_files
        self.damage: GitDamaged | None = None  # an object that git cannot read and a file made good
        self.repo = repo
        self.head = head_read
        self.algorithm = repo.algorithm
        self._objects = objects
        self._worktree_changes = {entry.key: entry for entry in worktree_changes}
        self._untracked = untracked
        self._max_bytes = max_bytes
        self._root: Root | None = None
        self.duplicate_spellings: tuple[tuple[str, str], ...] = ()
        self._files: dict[str, SourceFile] | None = None

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
    def git_state(self) -> GitState:
        return GitState(
            head_sha=self.head.commit,
            tree_sha=self.tree,
            branch=self.head.branch,
            dirty=any(
                entry.file is None or entry.file.skip is not SkipReason.UNREADABLE
                for entry in self._worktree_changes.values()
            ),
            untracked_included=self._untracked,
        )

    @property
    def dirty_paths(self) -> tuple[str, ...]:
        return tuple(sorted(self._worktree_changes))

    def list_changed(
        self, base_tree: str | None, overlay: dict[str, OverlayEntry]
    ) -> dict[str, SourceFile | None] | None:
        if self._nested is not None:  # an inner HEAD may move without any change out here
            return None
        if base_tree is None or not (base_tree == self.tree or self._objects.has(base_tree)):
            return None
        files: dict[str, SourceFile | None] = {}
        if base_tree != self.tree:
            try:
                changes = self._objects.diff(base_tree, self.tree)
            except GitDamaged:  # perhaps only the old tree is: the whole new one tells (CS-2)
                return None
            for change in changes:
                self._add_file(files, change.path, change.new)
        for key in overlay.keys() - self._worktree_changes.keys() - files.keys():
            self._add_file(files, key.encode(), self._objects.find_entry(self.tree, key.encode()))
        files.update((key, entry.file) for key, entry in self._worktree_changes.items())
        # Two spellings of one key need the whole tree to tell which one counts (EL-2).
        return files if all(key.isascii() for key in files) else None

    def list_files(self) -> Mapping[str, SourceFile]:
        """Walked once: the tree and what is on top of it stay as they were seen."""
        if self._files is None:
            self._files = self._walk_tree()
        return self._files

    def _walk_tree(self) -> dict[str, SourceFile]:
        raw = {
            e.path: make_source_file(e.path, e.mode, e.blob, from_worktree=False)
            for e in self._objects.list_entries(self.tree)
        }
        for entry in self._worktree_changes.values():
            if entry.file is None:
                raw.pop(entry.raw, None)
            else:
                raw[entry.raw] = entry.file
        files, self.duplicate_spellings = choose_spellings(raw.values())
        return self._nested.expand(files) if self._nested is not None else files

    def identify(self, item: SourceFile, previous: OverlayEntry | None) -> Content:
        return identify(self._open_root(), item, previous, self._max_bytes, self.algorithm)

    def read(self, items: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, Content]]:
        for (work, space), run in itertools.groupby(
            items, key=lambda item: (item.from_worktree, item.inner_repo)
        ):
            batch = list(run)
            if work:
                yield from (
                    (item, read_worktree_file(self._open_root(), item, self._max_bytes, self.algorithm))
                    for item in batch
                )
            else:
                yield from self._read_committed(space, batch)

    def _read_committed(self, space: str, items: list[SourceFile]) -> Iterator[tuple[SourceFile, Content]]:
        """From objects; once git cannot read one, from files that hold the very bytes, where there are such."""
        read_count = 0
        try:
            for item, blob in zip(items, self._read_blobs(space, items), strict=True):
                yield item, _make_content(blob.id, blob.size, blob.data)
                read_count += 1
        except GitDamaged as error:
            if space or not self._has_files:
                raise
            self.damage = self.damage or error
        if read_count < len(items):
            yield from self._read_from_copies(items[read_count:])

    def _read_from_copies(self, items: list[SourceFile]) -> Iterator[tuple[SourceFile, Content]]:
        """Each file whose bytes have the id that the tree names is the blob itself: no other bytes have it."""
        lost_keys = {item.key for item in items if not self._is_copy(item)}
        lost_blobs = self._read_blobs("", [item for item in items if item.key in lost_keys])
        for item in items:
            if item.key in lost_keys:
                blob = next(lost_blobs)
                yield item, _make_content(blob.id, blob.size, blob.data)
                continue
            content = self._read_copy(item)
            if content.blob != item.blob:
                raise TransientGitError(f"{item.key} changed while it was read", hint="gitindex sync")
            yield item, content

    def _is_copy(self, item: SourceFile) -> bool:
        return self._read_copy(item).blob == item.blob

    def _read_copy(self, item: SourceFile) -> Content:
        """As if it came from git: a clean file is no part of the overlay."""
        return read_worktree_file(self._open_root(), item, self._max_bytes, self.algorithm)._replace(
            stat=None
        )

    def _read_blobs(self, space: str, items: list[SourceFile]) -> Iterator[Blob]:
        if space and self._nested is not None:
            return self._nested.read(items, self._max_bytes)
        return self._objects.read((item.blob for item in items), self._max_bytes)

    def find_entry(self, raw: bytes) -> TreeEntry | None:
        return self._objects.find_entry(self.tree, raw)

    def read_blob(self, blob: str) -> bytes | None:
        """One object's bytes, None when larger than a file may be."""
        return next(iter(self._objects.read([blob], self._max_bytes))).data

    def _add_file(self, files: dict[str, SourceFile | None], raw: bytes, entry: TreeEntry | None) -> None:
        if entry is None:
            files[make_source_file(raw, 0, "", from_worktree=False).key] = None
        else:
            item = make_source_file(entry.path, entry.mode, entry.blob, from_worktree=False)
            files[item.key] = item

    def _open_root(self) -> Root:
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
    pending_status: PendingStatus | None = None,
) -> GitSource:
    """HEAD with the working tree over it, both as they are now, or as `pending_status` sees them."""
    with Root(repo.root) as root:
        current_head, worktree_changes = _read_consistently(repo, root, untracked, pending_status)
    objects = open_objects(repo, bulk=bulk)
    inner = NestedRepos(repo, bulk=bulk) if nested else None
    return GitSource(
        repo,
        current_head,
        objects,
        worktree_changes,
        untracked=untracked,
        max_bytes=max_bytes,
        nested=inner,
        has_files=True,
    )


def differs_from_overlay(
    repo: Repo, status: WorktreeStatus, overlay: Mapping[str, OverlayEntry], max_bytes: int
) -> bool:
    """Does one of the first dirty files hold other bytes than a snapshot with this overlay? A hint, quickly given:
    what the overlay knows no blob of is not judged."""
    with Root(repo.root) as root:
        for path, kind in status.dirty[:_MAX_COMPARED]:
            key, _, item = _make_change(root, path, kind)
            previous = overlay.get(key)
            if previous is None:
                return True
            now = identify(root, item, previous, max_bytes, repo.algorithm).blob if item else ""
            if previous.blob and previous.blob != now:
                return True
    return False


def _read_consistently(
    repo: Repo, root: Root, untracked: bool, pending_status: PendingStatus | None
) -> tuple[Head, tuple[WorktreeChange, ...]]:
    """HEAD and the dirt against it: read again when HEAD is not what it was when git began to look."""
    for again in range(_HEAD_READS):
        running_status = (
            pending_status
            if pending_status is not None and not again
            else PendingStatus(repo, untracked=untracked)
        )
        with running_status:
            status = running_status.full_status
        worktree_changes = tuple(_make_change(root, entry.path, entry.kind) for entry in status.dirty)
        current_head = read_head(repo)
        if current_head.commit == status.commit:
            return current_head, worktree_changes
    raise TransientGitError("HEAD keeps moving; nothing was indexed", hint="gitindex sync")


def open_commit(repo: Repo, rev: str, *, max_bytes: int, bulk: bool = False) -> GitSource:
    """One commit and nothing else."""
    commit_head = read_head(repo) if rev == "HEAD" else resolve(repo, rev)
    return GitSource(
        repo, commit_head, open_objects(repo, bulk=bulk), (), untracked=False, max_bytes=max_bytes
    )


def _make_change(root: Root, raw: bytes, kind: str) -> WorktreeChange:
    if kind == "nested":
        item = make_source_file(raw, NESTED, "", from_worktree=True)
        return WorktreeChange(item.key, raw, item)
    if kind == UNLISTABLE:
        item = make_source_file(raw, 0, "", from_worktree=True)
        return WorktreeChange(item.key, raw, item._replace(skip=item.skip or SkipReason.UNREADABLE))
    stat = None if kind == "deleted" else lstat(root, raw)
    item = make_source_file(raw, LINK if stat and S_ISLNK(stat.st_mode) else 0, "", from_worktree=True)
    return WorktreeChange(item.key, raw, item if stat else None)


def _make_content(blob: str, size: int, data: bytes | None) -> Content:
    if data is None:
        return Content(blob=blob, size=size, skip=SkipReason.TOO_LARGE)
    return Content(data=data, blob=blob, size=size)
