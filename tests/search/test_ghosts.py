"""Deleted, renamed and replaced content is out of reach in every mode, before and after compaction (SN-6)."""

from __future__ import annotations

import pytest

from gitindex.lifecycle.compact import compact
from gitindex.search.request import MODES
from gitindex.segment.chunk_table import MARKER_KIND
from gitindex.view.snapshot import open_active
from tests.search.conftest import Ask, Asked

_BODY = "def {0}():\n    return {0!r}\n"
_NOTE = "---\ntags: [{0}]\n---\n\nAbout {0}.\n"


@pytest.fixture
def changed(make: Ask) -> Asked:
    asked = make(
        {
            ".gitindex.toml": '[embedding]\nprovider = "fake"\n',
            "deleted.py": _BODY.format("deletedthing"),
            "old.py": _BODY.format("movedthing"),
            "replaced.py": _BODY.format("replacedthing"),
            "kept.py": _BODY.format("keptthing"),
            "deleted.md": _NOTE.format("deletedtag"),
            "replaced.md": _NOTE.format("replacedtag"),
        }
    )
    repo = asked.repo
    repo.git("rm", "-q", "deleted.py", "deleted.md")
    repo.git("mv", "old.py", "new.py")
    repo.commit(
        "second", **{"replaced.py": _BODY.format("freshthing"), "replaced.md": _NOTE.format("freshtag")}
    )
    asked.sync()
    return asked


def _reachable(asked: Asked, word: str) -> set[str]:
    """Every path that any mode gives whose text, name or symbol has the word."""
    hits = [hit for mode in MODES for hit in asked.hits(word, mode, limit=50)]
    hits += asked.hits("", tags=(word,))
    return {hit.path for hit in hits if word in f"{hit.path} {hit.symbol} {hit.snippet}"}


@pytest.mark.parametrize("compacted", [False, True])
def test_what_is_gone_is_gone_in_every_mode(changed: Asked, compacted: bool) -> None:
    """SN-6, IDX.MUST.001."""
    if compacted:
        compact(changed.codebase.layout)
        view = open_active(changed.codebase.layout)
        assert view is not None
        with view:
            assert len(view.manifest.segments) == 1
    for word in ("deletedthing", "replacedthing", "deletedtag", "replacedtag"):
        assert _reachable(changed, word) == set(), word
    assert _reachable(changed, "movedthing") == {"new.py"}
    assert _reachable(changed, "freshthing") == {"replaced.py"}
    assert _reachable(changed, "freshtag") == {"replaced.md"}
    assert _reachable(changed, "keptthing") == {"kept.py"}
    everything = {path for mode in MODES for path in changed.paths("thing", mode, limit=200)}
    assert not everything & {"deleted.py", "old.py", "deleted.md"}


def test_the_completion_marker_is_never_found(changed: Asked) -> None:
    """C-4: a reserved row that no reader of chunks sees."""
    for mode in MODES:
        for text in (MARKER_KIND, "indexedFiles totalChunks runId", "completedAt"):
            for hit in changed.hits(text, mode, limit=200):
                assert hit.path
                assert MARKER_KIND not in hit.snippet


def test_a_deleted_dirty_file_is_gone_too(changed: Asked) -> None:
    changed.repo.write("dirty.py", _BODY.format("dirtything"))
    changed.sync()
    assert _reachable(changed, "dirtything") == {"dirty.py"}
    (changed.repo.root / "dirty.py").unlink()
    changed.sync()
    assert _reachable(changed, "dirtything") == set()
