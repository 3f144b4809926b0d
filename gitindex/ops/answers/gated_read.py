"""What every gated read shares: an admitted snapshot, the three truths, and which file a person means."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gitindex import gate
from gitindex.errors import UnsafePath
from gitindex.files.safeopen import Root
from gitindex.gate import Admission
from gitindex.model import paths
from gitindex.model.frozen import frozen
from gitindex.model.records import FileRecord
from gitindex.navigate.exact_layer import ExactLayer
from gitindex.navigate.layer import Layers
from gitindex.navigate.shifted_layer import ShiftedLayer
from gitindex.navigate.syntactic_layer import SyntacticLayer
from gitindex.navigate.text import Texts
from gitindex.ops.answers.answer_truths import assess_truth
from gitindex.ops.answers.answer_types import AnswerBasis, NotAnswered
from gitindex.ops.codebase import Codebase, collect_fingerprints
from gitindex.ops.syncing.worktree_status import EarlyStatus, start_status
from gitindex.view.snapshot import SnapshotView


@frozen
class ReadOptions:
    stale_ok: bool = False
    debug: bool = False
    sync: bool = False  # catch up first (HK-5)
    requested: Path | None = None  # what was asked about, for envelopes
    base: Path | None = None  # what relative paths are relative to; default: the root


@frozen
class Reading:
    """One admitted read. Values it hands out stay true while it is open."""

    codebase: Codebase
    admission: Admission
    options: ReadOptions
    texts: Texts
    early_status: EarlyStatus | None
    sync_skipped: str = ""  # why `--sync` synced nothing

    @property
    def view(self) -> SnapshotView:
        return self.admission.view

    @property
    def budget(self) -> int:
        return self.codebase.settings.query.max_answer_chars

    def syntactic_layer(self) -> SyntacticLayer:
        return SyntacticLayer(self.view, self.texts)

    def exact_layer(self, below: SyntacticLayer | None = None) -> ExactLayer | None:
        """Exact facts, None when the snapshot holds none."""
        if not self.view.scip:
            return None
        return ExactLayer(self.view, self.texts, below or self.syntactic_layer())

    def layers(self) -> Layers:
        """The most exact knowledge first."""
        below = self.syntactic_layer()
        exact = self.exact_layer(below)
        if exact is None:
            return Layers([below])
        return Layers([exact, ShiftedLayer(self.view, self.texts, exact, below), below])

    def basis(self, *, truncated: bool = False, left_out: Mapping[str, int] | None = None) -> AnswerBasis:
        """The snapshot an answer comes from, what that was made with, and the truths about it."""
        manifest = self.view.manifest
        return AnswerBasis(
            snapshot_id=manifest.snapshot_id,
            fingerprints=collect_fingerprints(self.codebase, manifest.ignore_fingerprint),
            truth=assess_truth(self.codebase, self.view, self.early_status),
            truncated=truncated or bool(left_out),
            left_out=left_out or {},
            stale=self.admission.stale,
            hints=self.admission.hints,
            sync_skipped=self.sync_skipped,
        )

    def answer_no_file(self, key: str) -> NotAnswered:
        """The answer about a path that is not indexed."""
        record = self.view.record(key)
        skip = record.skip if record else ""
        return NotAnswered("not_found", self.basis(), explain_absence(key, record), path=key, skip=skip)

    def resolve_path(self, text: str) -> str:
        """The path key a person means: from where they stand, else from the root.

        Raises UnsafePath for a path outside the codebase.
        """
        keys = [key for key in self._possible_keys(text) if key is not None]
        if not keys:
            raise UnsafePath(f"not a path inside {self.codebase.root}: {text!r}")
        return next((key for key in keys if self.view.record(key) is not None), keys[0])

    def _possible_keys(self, text: str) -> Iterator[str | None]:
        root = str(self.codebase.root)
        base = self.options.base or self.codebase.root
        plain = os.path.abspath(os.path.join(base, text))
        for spelling in (
            plain,
            os.path.join(os.path.realpath(os.path.dirname(plain)), os.path.basename(plain)),
        ):
            if spelling.startswith(root.rstrip("/") + "/"):
                yield paths.path_key(os.path.relpath(spelling, root))
        if not os.path.isabs(text) and ".." not in text.split("/") and text.strip("./"):
            yield paths.path_key(text)


def explain_absence(key: str, record: FileRecord | None) -> str:
    """Why a file has no answer: its skip reason, or that the index does not have it."""
    return f"{key} is not indexed: {record.skip}" if record else f"{key} is not in the index"


def explain_past_end(path: str, lines: int, line: int) -> str:
    """Why a line cannot be shown."""
    return f"{path} has {lines:,} line{'' if lines == 1 else 's'}; line {line:,} was asked for"


@contextmanager
def open_reading(codebase: Codebase, options: ReadOptions) -> Iterator[Reading]:
    """Raises Gated with its envelope, IntegrityError, IncompatibleVersion; with `sync` what a sync raises."""
    sync_skipped = ""
    if options.sync:
        from gitindex.ops.syncing.catchup import (
            catch_up_before_read,  # late: most questions do without (UI-3)
        )

        sync_skipped = catch_up_before_read(codebase)
    # The gate first: git looks at no working tree that is not indexed (CF-5).
    admission = gate.admit(
        codebase, stale_ok=options.stale_ok, debug=options.debug, requested=options.requested
    )
    with admission.view as view, start_status(codebase) as early_status, Root(codebase.root) as root:
        yield Reading(
            codebase, admission, options, Texts(view, codebase.repo, root), early_status, sync_skipped
        )
