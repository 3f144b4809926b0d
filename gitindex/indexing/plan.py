"""Deciding what a sync has to do: the tree we want against the tree the snapshot describes (CS-1, CS-2).

Pure decisions over a view and a source; bytes are read only to learn the blob id of a working-tree file whose
stat no longer vouches for it. Acting on the plan is `indexing.write`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from gitindex.errors import PublishBlocked
from gitindex.files.links import LinkEntry, resolve
from gitindex.files.policy import Policy
from gitindex.model.change_set import ChangeSet
from gitindex.model.manifest import FileError, Manifest
from gitindex.model.paths import casefold_key
from gitindex.model.records import FileRecord, OverlayEntry
from gitindex.model.rulefiles import is_rule_file
from gitindex.model.skips import Skip
from gitindex.model.textonly import BUDGET
from gitindex.source.source_file import LINK, SUBMODULE, UNKNOWN, Candidate, Content, Source
from gitindex.view.snapshot import SnapshotView

# Decided by path and policy alone; every other skip follows from the bytes, which the blob id stands for.
_BY_PATH = frozenset({Skip.IGNORED, Skip.EXCLUDED, Skip.SUBMODULE, Skip.UNSUPPORTED, Skip.NESTED_REPOSITORY})
WAYS_OUT = "fix the file, add it to .gitindexignore, or run: gitindex sync --allow-degraded"


@dataclass(frozen=True, slots=True)
class Work:
    """One path to write: from `item`'s content (a link's resolved target), or as a skip."""

    key: str
    blob: str
    link: bool
    item: Candidate | None  # None: nothing to read, `skip` says why
    skip: Skip | None = None
    size: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    write: tuple[Work, ...]
    gone: tuple[str, ...]
    overlay: Mapping[str, OverlayEntry]
    before: Mapping[str, FileRecord]  # records that disappear or are replaced
    errors: tuple[FileError, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.write or self.gone)


class Planner:
    """Compares one source with one snapshot (or with nothing)."""

    def __init__(self, view: SnapshotView | None, source: Source, policy: Policy) -> None:
        self._view = view
        self._source = source
        self._policy = policy
        self._overlay = view.overlay() if view else {}
        self._seen: dict[str, OverlayEntry] = {}
        self._tree: Mapping[str, Candidate] | None = None
        self._failures: list[FileError] = []
        self._shut: set[str] = set()  # directories

    def plan(self, *, whole: bool) -> Plan:
        """`whole`: compare every path, because something that decides the fate of all of them changed."""
        wanted = self._candidates(whole)
        write: list[Work] = []
        before: dict[str, FileRecord] = {}
        gone: list[str] = []
        kept: list[str] = []
        for key in sorted(wanted):
            item = wanted[key]
            old = self._view.record(key) if self._view else None
            work = self._work(item) if item is not None else None
            if old is not None and work is not None and (_same(old, work) or self._still_shut(old)):
                kept.extend([] if old.skip else [key])
                continue
            if old is not None:
                before[key] = old
            if work is not None:
                write.append(work)
            elif old is not None:
                gone.append(key)
        self._check_shut(gone)
        coming = [work.key for work in write if work.skip is None]
        # A degraded snapshot may hold a collision between files that did not change since.
        tolerated = kept if self._view is not None and self._view.manifest.degraded else []
        skipped = [work.key for work in write if work.skip is not None]
        self._check_collisions([*coming, *tolerated], leaving={*gone, *skipped})
        return self._finish(write, gone, before)

    def _candidates(self, whole: bool) -> Mapping[str, Candidate | None]:
        """Paths that may differ. Links depend on other paths, so a tree with links is compared whole."""
        if self._view is not None and not whole and not _unfinished(self._view.manifest):
            tree = self._view.manifest.git.tree_sha
            few = self._source.changed(tree, self._overlay)
            if few is not None and not _any_link(few) and next(self._view.link_records(), None) is None:
                return few
        self._tree = self._source.all()
        known = {record.path for record in self._view.records()} if self._view else set()
        return {**dict.fromkeys(known), **self._tree}

    def _work(self, item: Candidate) -> Work | None:
        """What the index should hold of a candidate; None when it vanished under our eyes."""
        if item.skip is not None:
            return Work(item.key, item.blob, False, None, self._preset(item, item.skip))
        skip = self._policy.path_skip(item.key, item.mode)
        if skip is not None:
            return Work(item.key, self._ignored_blob(item), item.mode == LINK, None, skip)
        if self._view is None and item.work and item.mode != LINK:
            return Work(item.key, UNKNOWN, False, item)  # everything is new: read it once, when it is written
        content = self._identified(item)
        if content.vanished:
            return None
        if content.skip is not None:
            return Work(item.key, content.blob, False, None, content.skip, content.size)
        if content.error:
            self._failures.append(FileError("unreadable_file", content.error, item.key))
            return Work(item.key, "", False, None, Skip.UNREADABLE)
        named = item._replace(blob=content.blob)
        return self._linked(named) if item.mode == LINK else Work(item.key, content.blob, False, named)

    def _ignored_blob(self, item: Candidate) -> str:
        """Bytes of an ignored file matter only when they are rules about others: then an edit is a change (CF-2)."""
        if not item.work or item.mode == LINK or not is_rule_file(item.key):
            return item.blob
        return self._identified(item).blob

    def _identified(self, item: Candidate) -> Content:
        if not item.work:
            return Content(blob=item.blob)
        content = self._source.identify(item, self._overlay.get(item.key))
        if content.stat is not None:
            self._seen[item.key] = content.stat
        return content

    def _linked(self, link: Candidate) -> Work:
        """A symlink is indexed with the content of the file it leads to inside this very tree."""
        target = self._target(link)
        outcome = resolve(link.key, target, self._lookup)
        if isinstance(outcome, Skip):
            return Work(link.key, link.blob, True, None, outcome)
        assert self._tree is not None
        end = self._tree[outcome]
        barred = self._policy.path_skip(end.key, end.mode)
        if barred in (Skip.IGNORED, Skip.EXCLUDED):  # a link is no way around an ignore rule (CF-1)
            return Work(link.key, link.blob, True, None, barred)
        content = self._identified(end)
        if content.vanished or content.error or content.skip is not None:
            return Work(link.key, link.blob, True, None, content.skip or Skip.SYMLINK_BROKEN)
        return Work(link.key, link.blob, True, end._replace(blob=content.blob))

    def _lookup(self, key: str) -> LinkEntry | None:
        assert self._tree is not None
        item = self._tree.get(key)
        if item is None:
            prefix = f"{key}/"
            return "dir" if not key or any(other.startswith(prefix) for other in self._tree) else None
        if item.mode == LINK:
            return ("link", self._target(item))
        return "dir" if item.skip is Skip.NESTED_REPOSITORY or item.mode not in (LINK, 0o100644) else "file"

    def _target(self, link: Candidate) -> bytes:
        _, content = next(iter(self._source.read([link])))
        return content.data

    def _finish(self, write: list[Work], gone: list[str], before: dict[str, FileRecord]) -> Plan:
        overlay = {path: OverlayEntry(path, "", 0, 0, 0, 0) for path in self._source.dirty_paths}
        overlay.update(self._seen)
        return Plan(tuple(write), tuple(gone), overlay, before, tuple(self._failures))

    def _preset(self, item: Candidate, skip: Skip) -> Skip:
        """A directory that may not be listed is shut, unless a rule says that nobody wants it."""
        if skip is not Skip.UNREADABLE:
            return skip
        barred = self._policy.path_skip(item.key, SUBMODULE)
        if barred in (Skip.IGNORED, Skip.EXCLUDED):
            return barred
        self._shut.add(item.key)
        return skip

    def _still_shut(self, old: FileRecord) -> bool:
        return old.skip == Skip.UNREADABLE and old.path in self._shut

    def _check_shut(self, gone: list[str]) -> None:
        """What was indexed and can no longer be listed is no deletion (CS-3)."""
        for key in sorted(self._shut):
            if any(path.startswith(f"{key}/") for path in gone):
                self._failures.append(FileError("unreadable_file", f"cannot read {key}/", key))

    def _check_collisions(self, keys: list[str], leaving: set[str]) -> None:
        """Two indexed paths that one case-insensitive file system cannot both hold (EL-2)."""
        for key, other in self._source.twins:
            self._failures.append(
                FileError("nfc_twin", f"{other!r} is another spelling of {key!r}; only one is indexed", key)
            )
        coming: dict[str, str] = {}
        told: set[frozenset[str]] = set()
        for key in keys:
            rivals = {coming.get(casefold_key(key), key)}
            if self._view is not None:
                rivals |= self._view.find_case_variants(key) - leaving
            for rival in sorted(rivals - {key}):
                if frozenset((key, rival)) not in told:
                    told.add(frozenset((key, rival)))
                    message = f"{key!r} and {rival!r} differ only in case"
                    self._failures.append(FileError("case_collision", message, key))
            coming[casefold_key(key)] = key


def refuse_failures(plan: Plan) -> None:
    """A strict publish is all or nothing (SN-5).

    Raises PublishBlocked naming the first failure and how many there are.
    """
    if plan.errors:
        first = plan.errors[0]
        more = f" (and {len(plan.errors) - 1} more)" if len(plan.errors) > 1 else ""
        raise PublishBlocked(
            f"nothing was published: {first.message}{more}",
            hint=WAYS_OUT,
            errors=[asdict(error) for error in plan.errors],
        )


def _unfinished(manifest: Manifest) -> bool:
    """Does the snapshot hold files that must be looked at again, though they did not change?"""
    return manifest.degraded or BUDGET in manifest.counts.text_only


def _any_link(few: Mapping[str, Candidate | None]) -> bool:
    return any(item is not None and item.mode == LINK for item in few.values())


def _same(old: FileRecord, work: Work) -> bool:
    """Would indexing `work` give what the snapshot holds? True for equal bytes under equal policy."""
    if old.skip == Skip.UNREADABLE or work.skip is Skip.UNREADABLE:
        return False
    if old.text_only == BUDGET:  # a sync with time left gives it its syntax (EL-8)
        return False
    if work.item is None:
        return old.skip == work.skip and old.blob == work.blob
    decided_by_bytes = not old.skip or old.skip not in _BY_PATH or old.skip == Skip.UNSUPPORTED
    return decided_by_bytes and (old.blob, old.content, old.link) == (work.blob, work.item.blob, work.link)


def changes(plan: Plan, written: Mapping[str, FileRecord]) -> ChangeSet:
    """Name the differences between indexed files. A rename is exact: the same bytes left one path for another."""
    left: dict[str, list[str]] = {}
    for key in plan.gone:
        if not plan.before[key].skip:
            left.setdefault(plan.before[key].content, []).append(key)
    added, rename = [], []
    modified, removed = [], []
    for key, record in sorted(written.items()):
        old = plan.before.get(key)
        if record.skip:
            removed.extend([key] if old is not None and not old.skip else [])
        elif old is not None and not old.skip:
            modified.append(key)
        elif left.get(record.content):
            rename.append((left[record.content].pop(0), key))
        else:
            added.append(key)
    moved = {old for old, _ in rename}
    gone = [key for key in plan.gone if key not in moved and not plan.before[key].skip]
    return ChangeSet(tuple(added), tuple(modified), tuple(sorted((*gone, *removed))), tuple(rename))


def tombstones(plan: Plan, changed: ChangeSet, written: Mapping[str, FileRecord]) -> list[tuple[str, str]]:
    """Every path whose older rows must not be seen any more, with the reason."""
    moved = {old for old, _ in changed.rename}
    gone = [(key, "rename_from" if key in moved else "delete") for key in plan.gone]
    return gone + [(key, "replace") for key in written if key in plan.before]
