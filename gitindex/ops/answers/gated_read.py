"""What every gated read shares: an admitted snapshot, the three truths, and which file a person means."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gitindex import gate
from gitindex.errors import UnsafePath
from gitindex.files.safeopen import Root
from gitindex.gate import Admission
from gitindex.model import paths, versions
from gitindex.model.frozen import frozen
from gitindex.navigate.exact_layer import SemanticLayer
from gitindex.navigate.layer import Layers
from gitindex.navigate.shifted_layer import ShiftedLayer
from gitindex.navigate.syntactic_layer import SyntacticLayer
from gitindex.navigate.text import Texts
from gitindex.ops.answers.answer_truths import truth
from gitindex.ops.codebase import Codebase, fingerprints
from gitindex.ops.syncing.worktree_status import Look, looking
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
    look: Look | None
    sync_skipped: str = ""  # why `--sync` synced nothing

    @property
    def view(self) -> SnapshotView:
        return self.admission.view

    @property
    def budget(self) -> int:
        return self.codebase.settings.query.max_answer_chars

    def syntactic(self) -> SyntacticLayer:
        return SyntacticLayer(self.view, self.texts)

    def semantic(self, below: SyntacticLayer | None = None) -> SemanticLayer | None:
        """Exact facts, None when the snapshot holds none."""
        if not self.view.scip:
            return None
        return SemanticLayer(self.view, self.texts, below or self.syntactic())

    def layers(self) -> Layers:
        """The most exact knowledge first."""
        below = self.syntactic()
        exact = self.semantic(below)
        if exact is None:
            return Layers([below])
        return Layers([exact, ShiftedLayer(self.view, self.texts, exact, below), below])

    def answer(self, status: str, **values: Any) -> dict[str, Any]:
        """An answer with the snapshot it came from, what that was made with, and the truths about it."""
        manifest = self.view.manifest
        head = {**versions.answer_version("query"), "status": status, "snapshot_id": manifest.snapshot_id}
        made = {"fingerprints": fingerprints(self.codebase, manifest.ignore_fingerprint)}
        truths = truth(self.codebase, self.view, self.look).to_json()
        skipped = {"sync_skipped": self.sync_skipped} if self.sync_skipped else {}
        return {**head, **values, **made, **truths, **self.admission.to_json(), **skipped}

    def key(self, text: str) -> str:
        """The path key a person means: from where they stand, else from the root.

        Raises UnsafePath for a path outside the codebase.
        """
        found = [key for key in self._spellings(text) if key is not None]
        if not found:
            raise UnsafePath(f"not a path inside {self.codebase.root}: {text!r}")
        return next((key for key in found if self.view.record(key) is not None), found[0])

    def _spellings(self, text: str) -> Iterator[str | None]:
        root = str(self.codebase.root)
        base = self.options.base or self.codebase.root
        plain = os.path.abspath(os.path.join(base, text))
        for spelled in (
            plain,
            os.path.join(os.path.realpath(os.path.dirname(plain)), os.path.basename(plain)),
        ):
            if spelled.startswith(root.rstrip("/") + "/"):
                yield paths.path_key(os.path.relpath(spelled, root))
        if not os.path.isabs(text) and ".." not in text.split("/") and text.strip("./"):
            yield paths.path_key(text)


def past_end(path: str, lines: int, asked: int) -> str:
    """Why a line cannot be shown."""
    return f"{path} has {lines:,} line{'' if lines == 1 else 's'}; line {asked:,} was asked for"


@contextmanager
def reading(codebase: Codebase, options: ReadOptions) -> Iterator[Reading]:
    """Raises Gated with its envelope, IntegrityError, IncompatibleVersion; with `sync` what a sync raises."""
    skipped = ""
    if options.sync:
        from gitindex.ops.syncing.catchup import catch_up_to_answer  # late: most questions do without (UI-3)

        skipped = catch_up_to_answer(codebase)
    # The gate first: git looks at no working tree that is not indexed (CF-5).
    admission = gate.admit(
        codebase, stale_ok=options.stale_ok, debug=options.debug, requested=options.requested
    )
    with admission.view as view, looking(codebase) as look, Root(codebase.root) as root:
        yield Reading(codebase, admission, options, Texts(view, codebase.repo, root), look, skipped)
