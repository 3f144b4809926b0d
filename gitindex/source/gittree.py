"""A commit, with or without the working tree over it (CS-2, CS-3).

Committed content is read by blob id. Paths that git reports as dirty or untracked come from the working tree by
stable reads; they form the overlay. Without an overlay (`open_commit`) nothing outside the object store is read. With
one, a blob that git has lost is read from its file, provided that the file's hash is the blob's id.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from stat import S_ISLNK
from typing import Self

from gitindex.errors import GitDamaged, TransientGitError
from gitindex.files.safeopen import Root
from gitindex.git.object_values import EMPTY_TREE, Blob, TreeEntry
from gitindex.git.objects import Objects, open_objects
from gitindex.git.repo import Head, Repo, read_head, resolve
from gitindex.git.status import DirtyKind, DirtyPath, PendingStatus, WorktreeStatus
from gitindex.model.manifest import GitState
from gitindex.model.paths import PathKey, recorded_key
from gitindex.model.records import OverlayEntry
from gitindex.model.skips import SkipReason
from gitindex.source.nested import NestedRepos
from gitindex.source.source_file import (
    FILE,
    LINK,
    NESTED,
    UNKNOWN,
    Content,
    DuplicateSpelling,
    SourceFile,
    choose_spellings,
    make_source_file,
)
from gitindex.source.worktree_files import identify, lstat, read_worktree_file

_HEAD_READS = 5
_MAX_COMPARED = 32  # files


# By raw path, because two spellings of one key are two files to git; None for a deleted one.
WorktreeChanges = Mapping[bytes, SourceFile | None]


class GitSource:
    def __init__(
        self,
        repo: Repo,
        head_read: Head,
        objects: Objects,
        worktree_changes: WorktreeChanges,
        *,
        untracked: bool,
        max_bytes: int,
        nested: NestedRepos | None = None,
        has_files: bool = False,
    ) -> None:
        """`has_files`: the working tree may be read, too, in place of a blob that git has lost."""
        self._nested = nested
        self._has_files = has_files
        self.damage: GitDamaged | None = None  # an object that git cannot read, and a file replaced
        self.repo = repo
        self.head = head_read
        self.algorithm = repo.algorithm
        self._objects = objects
        self._worktree_changes = worktree_changes
        self._untracked = untracked
        self._max_bytes = max_bytes
        self._root: Root | None = None
        self.duplicate_spellings: tuple[DuplicateSpelling, ...] = ()
        self._files: dict[PathKey, SourceFile] | None = None

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
                item is None or item.skip is not SkipReason.UNREADABLE
                for item in self._worktree_changes.values()
            ),
            untracked_included=self._untracked,
        )

    @property
    def dirty_paths(self) -> tuple[PathKey, ...]:
        return tuple(sorted({recorded_key(raw) for raw in self._worktree_changes}))

    def list_changed(
        self, base_tree: str | None, overlay: Mapping[PathKey, OverlayEntry]
    ) -> dict[PathKey, SourceFile | None] | None:
        if (
            self._nested is not None
        ):  # the HEAD of an inner repository may move without any change in this one
            return None
        if base_tree is None or not (base_tree == self.tree or self._objects.has(base_tree)):
            return None
        files: dict[PathKey, SourceFile | None] = {}
        if base_tree != self.tree:
            try:
                changes = self._objects.diff(base_tree, self.tree)
            except GitDamaged:  # perhaps only the old tree is damaged: compare all of the new one (CS-2)
                return None
            files.update((recorded_key(change.path), _from_tree(change.new)) for change in changes)
        worktree_files = {recorded_key(raw): item for raw, item in self._worktree_changes.items()}
        for key in overlay.keys() - worktree_files.keys() - files.keys():
            files[key] = _from_tree(self._objects.find_entry(self.tree, key.encode()))
        files.update(worktree_files)
        # Where a key may have two spellings, only the whole tree shows which one counts (EL-2).
        return files if all(key.isascii() for key in files) else None

    def list_files(self) -> Mapping[PathKey, SourceFile]:
        """Walked once: neither the tree nor the changes of the working tree are read again."""
        if self._files is None:
            self._files = self._walk_tree()
        return self._files

    def _walk_tree(self) -> dict[PathKey, SourceFile]:
        by_raw_path = {
            entry.path: make_source_file(entry.path, entry.mode, entry.blob, from_worktree=False)
            for entry in self._objects.list_entries(self.tree)
        }
        for raw, item in self._worktree_changes.items():
            if item is None:
                by_raw_path.pop(raw, None)
            else:
                by_raw_path[raw] = item
        files, self.duplicate_spellings = choose_spellings(by_raw_path.values())
        return self._nested.expand(files) if self._nested is not None else files

    def identify(self, item: SourceFile, previous: OverlayEntry | None) -> Content:
        return identify(self._open_root(), item, previous, self._max_bytes, self.algorithm)

    def read(self, items: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, Content]]:
        for (from_worktree, inner_repo), group in itertools.groupby(
            items, key=lambda item: (item.from_worktree, item.inner_repo)
        ):
            batch = list(group)
            if from_worktree:
                yield from (
                    (item, read_worktree_file(self._open_root(), item, self._max_bytes, self.algorithm))
                    for item in batch
                )
            else:
                yield from self._read_committed(inner_repo, batch)

    def _read_committed(
        self, inner_repo: str, items: list[SourceFile]
    ) -> Iterator[tuple[SourceFile, Content]]:
        """From objects. Once git cannot read one, from files of the working tree that hold the same bytes."""
        read_count = 0
        try:
            for item, blob in zip(items, self._read_blobs(inner_repo, items), strict=True):
                yield item, _make_content(blob.id, blob.size, blob.data)
                read_count += 1
        except GitDamaged as error:
            if inner_repo or not self._has_files:
                raise
            self.damage = self.damage or error
        if read_count < len(items):
            yield from self._read_from_copies(items[read_count:])

    def _read_from_copies(self, items: list[SourceFile]) -> Iterator[tuple[SourceFile, Content]]:
        """Files whose hash is the blob's id in place of the blobs; what no file holds is still asked of git."""
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
        """Without overlay entry, as if it came from git: a clean file is no part of the overlay."""
        return read_worktree_file(self._open_root(), item, self._max_bytes, self.algorithm)._replace(
            overlay_entry=None
        )

    def _read_blobs(self, inner_repo: str, items: list[SourceFile]) -> Iterator[Blob]:
        if inner_repo and self._nested is not None:
            return self._nested.read(items, self._max_bytes)
        return self._objects.read((item.blob for item in items), self._max_bytes)

    def find_entry(self, raw: bytes) -> TreeEntry | None:
        return self._objects.find_entry(self.tree, raw)

    def read_blob(self, blob: str) -> bytes | None:
        """One object's bytes, None when larger than a file may be."""
        return next(iter(self._objects.read([blob], self._max_bytes))).data

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
    """HEAD with the working tree over it, both as they are now, or as `pending_status` reports them."""
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
    repo: Repo, status: WorktreeStatus, overlay: Mapping[PathKey, OverlayEntry], max_bytes: int
) -> bool:
    """Does one of the first dirty files hold other bytes than a snapshot with this overlay? A quick hint: it compares
    at most _MAX_COMPARED files, and none whose overlay entry has no blob."""
    with Root(repo.root) as root:
        for dirty in status.dirty[:_MAX_COMPARED]:
            item = _make_change(root, dirty)
            previous = overlay.get(dirty.key)
            if previous is None:
                return True
            blob = identify(root, item, previous, max_bytes, repo.algorithm).blob if item else ""
            if previous.blob and previous.blob != blob:
                return True
    return False


def _read_consistently(
    repo: Repo, root: Root, untracked: bool, pending_status: PendingStatus | None
) -> tuple[Head, WorktreeChanges]:
    """HEAD and the changes of the working tree against it; both again when HEAD moved after git read it."""
    for attempt in range(_HEAD_READS):
        first_status = pending_status if attempt == 0 else None
        with first_status or PendingStatus(repo, untracked=untracked) as running_status:
            status = running_status.full_status
        worktree_changes = {dirty.path: _make_change(root, dirty) for dirty in status.dirty}
        current_head = read_head(repo)
        if current_head.commit == status.commit:
            return current_head, worktree_changes
    raise TransientGitError("HEAD keeps moving; nothing was indexed", hint="gitindex sync")


def open_commit(repo: Repo, rev: str, *, max_bytes: int, bulk: bool = False) -> GitSource:
    """One commit and nothing else."""
    commit_head = read_head(repo) if rev == "HEAD" else resolve(repo, rev)
    return GitSource(
        repo, commit_head, open_objects(repo, bulk=bulk), {}, untracked=False, max_bytes=max_bytes
    )


def _make_change(root: Root, dirty: DirtyPath) -> SourceFile | None:
    """The source file that stands for a dirty path; None when it is deleted."""
    if dirty.kind is DirtyKind.NESTED:
        return make_source_file(dirty.path, NESTED, UNKNOWN, from_worktree=True)
    if dirty.kind is DirtyKind.UNLISTABLE:
        item = make_source_file(dirty.path, FILE, UNKNOWN, from_worktree=True)
        return item._replace(skip=item.skip or SkipReason.UNREADABLE)
    stat = None if dirty.kind is DirtyKind.DELETED else lstat(root, dirty.path)
    if stat is None:
        return None
    return make_source_file(dirty.path, LINK if S_ISLNK(stat.st_mode) else FILE, UNKNOWN, from_worktree=True)


def _from_tree(entry: TreeEntry | None) -> SourceFile | None:
    if entry is None:
        return None
    return make_source_file(entry.path, entry.mode, entry.blob, from_worktree=False)


def _make_content(blob: str, size: int, data: bytes | None) -> Content:
    if data is None:
        return Content(blob=blob, size=size, skip=SkipReason.TOO_LARGE)
    return Content(data=data, blob=blob, size=size)
