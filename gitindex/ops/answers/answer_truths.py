"""What every answer says about the index behind it (QU-6): freshness, coverage, trust."""

from __future__ import annotations

from gitindex.errors import GitError, GitindexError, IntegrityError
from gitindex.git.repo import distance
from gitindex.model.frozen import field, frozen
from gitindex.model.manifest import Manifest
from gitindex.model.paths import PathKey
from gitindex.model.records import OverlayEntry
from gitindex.ops.codebase import Codebase
from gitindex.ops.syncing.worktree_status import EarlyStatus, count_indexed, read_status
from gitindex.store.layout import pin_file
from gitindex.view.snapshot import SnapshotView


@frozen
class IndexFreshness:
    """Indexed against present. `dirty_files` are working-tree differences to HEAD, indexed or not."""

    indexed_commit: str | None
    head: str | None
    in_sync: bool
    commits_behind: int | None  # None: not an ancestor, or not known
    dirty_files: int
    dirty_indexed: bool  # the snapshot was made from a dirty tree
    problem: str = ""  # why nothing was compared: git could not say
    dirty_current: int = 0  # of the dirty files, those whose present bytes are indexed
    dirty_gone: int = 0  # files indexed with changes that were reverted since
    scanned: str = ""  # the snapshot was made by scanning the files, because git failed so (C-1)
    next: str = ""  # what to run about `problem` or `scanned`


@frozen
class Coverage:
    eligible: int
    indexed: int
    skipped: dict[str, int] = field(default_factory=dict)
    text_only: dict[str, int] = field(default_factory=dict)  # indexed without syntax, by limit (EL-8)
    degraded: bool = False
    failed: int = 0


@frozen
class Trust:
    origin: str  # local | seeded | fetched
    signer: str | None = None
    base_commit: str | None = None
    verified: bool = True  # false once the signer's key was revoked
    amended: bool = False  # something was built on it here


@frozen
class Truth:
    freshness: IndexFreshness
    coverage: Coverage
    trust: Trust

    def summary_line(self) -> str:
        """`indexed 3f2c1a9 (2 commits behind HEAD, 1 dirty file) · 2,929 of 2,941 files · built here`."""
        return (
            f"{_freshness_text(self.freshness)} · {_coverage_text(self.coverage)} · {_trust_text(self.trust)}"
        )


def assess_truth(codebase: Codebase, view: SnapshotView, early_status: EarlyStatus | None = None) -> Truth:
    return Truth(
        assess_freshness(codebase, view, early_status),
        assess_coverage(view.manifest),
        assess_trust(codebase, view.manifest),
    )


def assess_freshness(
    codebase: Codebase, view: SnapshotView, early_status: EarlyStatus | None = None
) -> IndexFreshness:
    """From `early_status` or a new git status. Never fails: `problem` says why git could not compare."""
    indexed_state = view.manifest.git
    scanned = indexed_state.failure.message if indexed_state.failure else ""
    if codebase.repo is None:
        return IndexFreshness(
            None, None, in_sync=True, commits_behind=None, dirty_files=0, dirty_indexed=False
        )
    try:
        head_commit, dirty = read_status(codebase, codebase.repo, view.manifest.snapshot_id, early_status)
        behind = (
            0
            if head_commit == indexed_state.head_sha
            else _count_behind(codebase, indexed_state.head_sha, head_commit)
        )
    except GitError as error:
        return IndexFreshness(
            indexed_state.head_sha,
            None,
            in_sync=False,
            commits_behind=None,
            dirty_files=0,
            dirty_indexed=indexed_state.dirty,
            problem=error.message,
            scanned=scanned,
            next=error.hint or "git fsck",
        )
    in_sync = head_commit == indexed_state.head_sha and not dirty and not indexed_state.dirty and not scanned
    overlay = _read_overlay(view) if indexed_state.dirty else {}
    dirty_keys = {entry.key for entry in dirty}
    indexed_entries = {key: overlay[key] for key in dirty_keys & overlay.keys() if _is_indexed(view, key)}
    return IndexFreshness(
        indexed_state.head_sha,
        head_commit,
        in_sync,
        behind,
        len(dirty),
        indexed_state.dirty,
        dirty_current=count_indexed(codebase, codebase.repo, dirty, indexed_entries)
        if indexed_entries
        else 0,
        dirty_gone=len(overlay.keys() - dirty_keys) if head_commit == indexed_state.head_sha else 0,
        scanned=scanned,
        next="gitindex sync" if scanned else "",
    )


def _is_indexed(view: SnapshotView, path: PathKey) -> bool:
    """Was the file indexed as it is? A deleted one was, if the snapshot has no record of it."""
    record = view.record(path)
    return record is None or not record.skip


def _read_overlay(view: SnapshotView) -> dict[PathKey, OverlayEntry]:
    try:
        return view.overlay()
    except IntegrityError:  # readers of the overlay report the damage
        return {}


def assess_coverage(manifest: Manifest) -> Coverage:
    counts = manifest.counts
    return Coverage(
        eligible=counts.files_indexed + len(manifest.errors),
        indexed=counts.files_indexed,
        skipped=dict(counts.skipped),
        text_only=dict(counts.text_only),
        degraded=manifest.degraded,
        failed=len(manifest.errors),
    )


def assess_trust(codebase: Codebase, manifest: Manifest) -> Trust:
    """What was verified on arrival counts until its signer is revoked (RE-5); asks no server."""
    origin = manifest.origin
    signer = origin.signer if origin.kind == "fetched" else None
    verified = signer is None or not _is_revoked(signer, codebase)
    return Trust(origin.kind, origin.signer, origin.base_commit, verified, origin.amended)


def _is_revoked(signer: str, codebase: Codebase) -> bool:
    from gitindex.trust import (
        private_file,  # late: an index that was built here does not ask (UI-3)
        revoked,
    )

    try:
        pins = private_file.read(pin_file(codebase.home))
    except GitindexError:  # another user's list, or none that can be read: it vouches for nobody
        return True
    return revoked.is_revoked(signer, pins, codebase.repo.common_dir.as_uri() if codebase.repo else "")


def _count_behind(codebase: Codebase, base: str | None, now: str | None) -> int | None:
    assert codebase.repo is not None
    return distance(codebase.repo, base, now) if base and now else None


def _freshness_text(freshness: IndexFreshness) -> str:
    indexed = f"indexed {_short_commit(freshness.indexed_commit)}"
    if freshness.scanned:
        indexed = f"indexed by scanning the files, because git failed ({freshness.scanned})"
    if freshness.problem:
        detail = "" if freshness.problem == freshness.scanned else f": {freshness.problem}"
        return f"{indexed}; nothing was compared{detail}; next: {freshness.next}"
    if freshness.scanned:
        return f"{indexed}; next: {freshness.next}"
    remarks = []
    if freshness.head != freshness.indexed_commit:
        behind = freshness.commits_behind
        remarks.append(
            f"{behind:,} commit{'' if behind == 1 else 's'} behind HEAD" if behind else "HEAD is elsewhere"
        )
    if freshness.dirty_files:
        remarks.append(_dirty_text(freshness.dirty_files, freshness.dirty_current))
    if freshness.dirty_gone:
        remarks.append(
            f"{freshness.dirty_gone:,} indexed change{'' if freshness.dirty_gone == 1 else 's'} since reverted"
        )
    return indexed + (f" ({', '.join(remarks)})" if remarks else "")


def _dirty_text(count: int, current: int) -> str:
    text = f"{count:,} dirty file{'' if count == 1 else 's'}"
    if not current:
        return text
    return f"{text}, indexed" if current == count else f"{text}, {current:,} indexed"


def _coverage_text(coverage: Coverage) -> str:
    total = coverage.eligible + sum(coverage.skipped.values()) - coverage.failed
    remarks = ["degraded"] if coverage.degraded else []
    remarks += [f"{sum(coverage.text_only.values()):,} as text only"] if coverage.text_only else []
    return f"{coverage.indexed:,} of {total:,} files" + (f" ({', '.join(remarks)})" if remarks else "")


def _trust_text(trust: Trust) -> str:
    if trust.origin != "fetched":
        return "built here"
    revoked = "" if trust.verified else ", REVOKED since: gitindex fetch, or gitindex sync --full"
    if not trust.amended:
        return f"fetched, signed by {trust.signer}{revoked}"
    # A signer vouches for what was fetched, not for what was built on it here.
    return f"fetched {_short_commit(trust.base_commit)}, signed by {trust.signer}{revoked}; changes since built here"


def _short_commit(commit: str | None) -> str:
    return commit[:7] if commit else "the directory"
