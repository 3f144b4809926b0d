"""Plans a sync: compares the source tree with the tree that the snapshot describes (CS-1, CS-2).

Reads bytes only to compute the blob id of a working-tree file whose stat differs from the overlay, and to resolve
links. `indexing.write` executes the plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from gitindex.errors import PublishBlocked
from gitindex.files.links import LinkEntry, resolve_link
from gitindex.files.policy import EligibilityPolicy
from gitindex.model.change_set import ChangeSet
from gitindex.model.manifest import FileError, Manifest
from gitindex.model.paths import PathKey, casefold_key
from gitindex.model.records import FileRecord, OverlayEntry
from gitindex.model.rulefiles import is_rule_file
from gitindex.model.skips import SkipReason
from gitindex.model.textonly import BUDGET
from gitindex.source.source_file import LINK, SUBMODULE, UNKNOWN, Content, SourceFile, SourceTree
from gitindex.view.snapshot import SnapshotView

# Skips that depend on path and policy; all others depend on the bytes, so an equal blob id means an equal skip.
_PATH_SKIPS = frozenset(
    {
        SkipReason.IGNORED,
        SkipReason.EXCLUDED,
        SkipReason.SUBMODULE,
        SkipReason.UNSUPPORTED,
        SkipReason.NESTED_REPOSITORY,
    }
)
# Skips by a rule of the user.
_RULE_SKIPS = (SkipReason.IGNORED, SkipReason.EXCLUDED)
FAILURE_HINT = "fix the file, add it to .gitindexignore, or run: gitindex sync --allow-degraded"


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One path to write: with the content of `source_file` (of a link, its target), or as skipped."""

    key: PathKey
    blob: str
    link: bool
    source_file: SourceFile | None  # None: nothing to read, `skip` is the reason
    skip: SkipReason | None = None
    size: int = 0

    @classmethod
    def skipped(
        cls, key: PathKey, blob: str, skip: SkipReason, *, link: bool = False, size: int = 0
    ) -> PlannedFile:
        return cls(key, blob, link, source_file=None, skip=skip, size=size)

    @classmethod
    def readable(cls, key: PathKey, blob: str, source_file: SourceFile, *, link: bool = False) -> PlannedFile:
        return cls(key, blob, link, source_file)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sync has to write."""

    write: tuple[PlannedFile, ...]
    gone: tuple[PathKey, ...]  # paths that no longer exist
    overlay: Mapping[PathKey, OverlayEntry]
    before: Mapping[PathKey, FileRecord]  # records that disappear or are replaced
    errors: tuple[FileError, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.write or self.gone)


class Planner:
    """Compares one source with one snapshot, or with an empty one."""

    def __init__(self, view: SnapshotView | None, source: SourceTree, policy: EligibilityPolicy) -> None:
        self._view = view
        self._source = source
        self._policy = policy
        self._overlay = view.overlay() if view else {}
        self._stats: dict[PathKey, OverlayEntry] = {}
        self._tree: Mapping[PathKey, SourceFile] | None = None
        self._failures: list[FileError] = []
        self._unreadable_dirs: set[str] = set()

    def plan(self, *, whole: bool) -> Plan:
        """`whole`: compare every path, because a setting or rule that applies to all of them changed."""
        source_files = self._select_files(whole)
        write: list[PlannedFile] = []
        before: dict[PathKey, FileRecord] = {}
        gone: list[PathKey] = []
        unchanged: list[PathKey] = []
        for key in sorted(source_files):
            source_file = source_files[key]
            old = self._view.record(key) if self._view else None
            planned = self._plan_file(source_file) if source_file is not None else None
            if old is not None and planned is not None and self._needs_no_write(old, planned):
                if not old.skip:
                    unchanged.append(key)
                continue
            if old is not None:
                before[key] = old
            if planned is not None:
                write.append(planned)
            elif old is not None:
                gone.append(key)
        self._check_unreadable_dirs(gone)
        indexed_keys = [planned.key for planned in write if planned.skip is None]
        # A degraded snapshot may hold a collision between files that did not change since.
        tolerated = unchanged if self._view is not None and self._view.manifest.degraded else []
        skipped_keys = [planned.key for planned in write if planned.skip is not None]
        self._check_collisions([*indexed_keys, *tolerated], removed_keys={*gone, *skipped_keys})
        return self._finish(write, gone, before)

    def _select_files(self, whole: bool) -> Mapping[PathKey, SourceFile | None]:
        """Paths that may differ, with their source file, None for a path that is gone.

        A tree with links is compared as a whole, because the record of a link depends on its target.
        """
        if self._view is not None and not whole and not _has_unfinished_files(self._view.manifest):
            changed = self._source.list_changed(self._view.manifest.git.tree_sha, self._overlay)
            has_link_record = next(self._view.link_records(), None) is not None
            if changed is not None and not _has_link(changed) and not has_link_record:
                return changed
        self._tree = self._source.list_files()
        indexed_paths = {record.path for record in self._view.records()} if self._view else set()
        return {**dict.fromkeys(indexed_paths), **self._tree}

    def _plan_file(self, source_file: SourceFile) -> PlannedFile | None:
        """What the index should hold of a file; None when it disappeared while planning."""
        key, is_link = source_file.key, source_file.mode == LINK
        if source_file.skip is not None:
            preset_skip = self._resolve_preset_skip(source_file, source_file.skip)
            return PlannedFile.skipped(key, source_file.blob, preset_skip)
        path_skip = self._policy.path_skip(key, source_file.mode)
        if path_skip is not None:
            return PlannedFile.skipped(key, self._ignored_blob(source_file), path_skip, link=is_link)
        if self._view is None and source_file.from_worktree and not is_link:
            return PlannedFile.readable(key, UNKNOWN, source_file)  # all is new: read it once, to write
        content = self._identify(source_file)
        if content.vanished:
            return None
        if content.skip is not None:
            return PlannedFile.skipped(key, content.blob, content.skip, size=content.size)
        if content.error:
            self._failures.append(FileError("unreadable_file", content.error, key))
            return PlannedFile.skipped(key, "", SkipReason.UNREADABLE)
        identified = source_file._replace(blob=content.blob)
        return self._plan_link(identified) if is_link else PlannedFile.readable(key, content.blob, identified)

    def _ignored_blob(self, source_file: SourceFile) -> str:
        """The blob id of an ignored file. Only rule files are read for it: an edit of one is a change (CF-2)."""
        if not source_file.from_worktree or source_file.mode == LINK or not is_rule_file(source_file.key):
            return source_file.blob
        return self._identify(source_file).blob

    def _identify(self, source_file: SourceFile) -> Content:
        """The blob id of a file; reads it only if it comes from the working tree and its stat changed."""
        if not source_file.from_worktree:
            return Content(blob=source_file.blob)
        content = self._source.identify(source_file, self._overlay.get(source_file.key))
        if content.overlay_entry is not None:
            self._stats[source_file.key] = content.overlay_entry
        return content

    def _plan_link(self, link: SourceFile) -> PlannedFile:
        """A link is indexed with the content of its target, which must be in the same tree."""
        target = self._read_link_target(link)
        resolved = resolve_link(link.key, target, self._lookup)
        if isinstance(resolved, SkipReason):
            return PlannedFile.skipped(link.key, link.blob, resolved, link=True)
        assert self._tree is not None
        target_file = self._tree[resolved]
        path_skip = self._policy.path_skip(target_file.key, target_file.mode)
        if path_skip in _RULE_SKIPS:  # a link must not bypass an ignore rule (CF-1)
            return PlannedFile.skipped(link.key, link.blob, path_skip, link=True)
        content = self._identify(target_file)
        if content.vanished or content.error or content.skip is not None:
            skip = content.skip or SkipReason.SYMLINK_BROKEN
            return PlannedFile.skipped(link.key, link.blob, skip, link=True)
        identified = target_file._replace(blob=content.blob)
        return PlannedFile.readable(link.key, link.blob, identified, link=True)

    def _lookup(self, key: PathKey) -> LinkEntry | None:
        """What `resolve_link` needs to know about a path of the tree."""
        assert self._tree is not None
        source_file = self._tree.get(key)
        if source_file is None:
            prefix = f"{key}/"
            return "dir" if not key or any(other.startswith(prefix) for other in self._tree) else None
        if source_file.mode == LINK:
            return ("link", self._read_link_target(source_file))
        is_file = source_file.skip is not SkipReason.NESTED_REPOSITORY and source_file.mode == 0o100644
        return "file" if is_file else "dir"

    def _read_link_target(self, link: SourceFile) -> bytes:
        _, content = next(iter(self._source.read([link])))
        return content.data

    def _finish(
        self, write: list[PlannedFile], gone: list[PathKey], before: dict[PathKey, FileRecord]
    ) -> Plan:
        overlay = {path: OverlayEntry.without_content(path) for path in self._source.dirty_paths}
        overlay.update(self._stats)  # dirty paths without a stat were deleted
        return Plan(tuple(write), tuple(gone), overlay, before, tuple(self._failures))

    def _resolve_preset_skip(self, source_file: SourceFile, skip: SkipReason) -> SkipReason:
        """A directory that cannot be listed counts as unreadable, unless a rule excludes it."""
        if skip is not SkipReason.UNREADABLE:
            return skip
        path_skip = self._policy.path_skip(source_file.key, SUBMODULE)
        if path_skip in _RULE_SKIPS:
            return path_skip
        self._unreadable_dirs.add(source_file.key)
        return skip

    def _needs_no_write(self, old: FileRecord, planned: PlannedFile) -> bool:
        still_unreadable = old.skip == SkipReason.UNREADABLE and old.path in self._unreadable_dirs
        return still_unreadable or _is_unchanged(old, planned)

    def _check_unreadable_dirs(self, gone: list[PathKey]) -> None:
        """Report indexed files below a directory that cannot be listed any more: they are not deleted (CS-3)."""
        for key in sorted(self._unreadable_dirs):
            if any(path.startswith(f"{key}/") for path in gone):
                self._failures.append(FileError("unreadable_file", f"cannot read {key}/", key))

    def _check_collisions(self, keys: list[PathKey], removed_keys: set[PathKey]) -> None:
        """Report pairs of indexed paths that a case-insensitive file system cannot both hold (EL-2)."""
        for key, other in self._source.duplicate_spellings:
            self._failures.append(
                FileError("nfc_twin", f"{other!r} is another spelling of {key!r}; only one is indexed", key)
            )
        keys_by_fold: dict[str, str] = {}
        reported: set[frozenset[str]] = set()
        for key in keys:
            rivals = {keys_by_fold.get(casefold_key(key), key)}
            if self._view is not None:
                rivals |= self._view.find_case_variants(key) - removed_keys
            for rival in sorted(rivals - {key}):
                if frozenset((key, rival)) not in reported:
                    reported.add(frozenset((key, rival)))
                    message = f"{key!r} and {rival!r} differ only in case"
                    self._failures.append(FileError("case_collision", message, key))
            keys_by_fold[casefold_key(key)] = key


def refuse_failures(plan: Plan) -> None:
    """Refuse a plan with errors: a strict publish is all or nothing (SN-5).

    Raises PublishBlocked naming the first failure and how many there are.
    """
    if plan.errors:
        first = plan.errors[0]
        suffix = f" (and {len(plan.errors) - 1} more)" if len(plan.errors) > 1 else ""
        raise PublishBlocked(
            f"nothing was published: {first.message}{suffix}",
            hint=FAILURE_HINT,
            errors=[asdict(error) for error in plan.errors],
        )


def _has_unfinished_files(manifest: Manifest) -> bool:
    """Whether the snapshot has files that must be indexed again, though they did not change."""
    return manifest.degraded or BUDGET in manifest.counts.text_only


def _has_link(changed: Mapping[PathKey, SourceFile | None]) -> bool:
    return any(source_file is not None and source_file.mode == LINK for source_file in changed.values())


def _is_unchanged(old: FileRecord, planned: PlannedFile) -> bool:
    """Whether indexing `planned` would give what the snapshot holds: equal bytes under an equal policy."""
    if old.skip == SkipReason.UNREADABLE or planned.skip is SkipReason.UNREADABLE:
        return False
    if old.text_only == BUDGET:  # indexed as text when time ran out: try its syntax again (EL-8)
        return False
    if planned.source_file is None:
        return old.skip == planned.skip and old.blob == planned.blob
    decided_by_bytes = not old.skip or old.skip not in _PATH_SKIPS or old.skip == SkipReason.UNSUPPORTED
    return decided_by_bytes and (old.blob, old.content, old.link) == (
        planned.blob,
        planned.source_file.blob,
        planned.link,
    )


def compute_changes(plan: Plan, written: Mapping[PathKey, FileRecord]) -> ChangeSet:
    """The change set of indexed files. A rename is a deleted and an added path with the same bytes."""
    vacated: dict[str, list[PathKey]] = {}  # content → deleted paths
    for key in plan.gone:
        if not plan.before[key].skip:
            vacated.setdefault(plan.before[key].content, []).append(key)
    added: list[PathKey] = []
    modified: list[PathKey] = []
    removed: list[PathKey] = []
    renames: list[tuple[PathKey, PathKey]] = []
    for key, record in sorted(written.items()):
        old = plan.before.get(key)
        was_indexed = old is not None and not old.skip
        if record.skip:
            if was_indexed:
                removed.append(key)
        elif was_indexed:
            modified.append(key)
        elif vacated.get(record.content):
            renames.append((vacated[record.content].pop(0), key))
        else:
            added.append(key)
    renamed_from = {old for old, _ in renames}
    gone = [key for key in plan.gone if key not in renamed_from and not plan.before[key].skip]
    return ChangeSet(
        tuple(added), tuple(modified), delete=tuple(sorted((*gone, *removed))), rename=tuple(renames)
    )


def list_tombstones(
    plan: Plan, change_set: ChangeSet, written: Mapping[PathKey, FileRecord]
) -> list[tuple[PathKey, str]]:
    """Every path whose older rows become dead, with the reason."""
    renamed_from = {old for old, _ in change_set.rename}
    gone = [(key, "rename_from" if key in renamed_from else "delete") for key in plan.gone]
    return gone + [(key, "replace") for key in written if key in plan.before]
