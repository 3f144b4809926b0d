"""SN-4: what the publish gate refuses is written once more; a fault that stays leaves the last snapshot active."""

from __future__ import annotations

import pytest

from gitindex.errors import WriteVerificationFailed
from gitindex.segment.lexical_index import LexicalWriter
from gitindex.store import log, manifests
from tests.support import harness
from tests.support.gitrepo import GitRepo


def lose_deletes(monkeypatch: pytest.MonkeyPatch, writers: int) -> None:
    """Let the next `writers` lexical writers lose their deletes, as Tantivy once did."""
    left = [writers]
    delete, finish = LexicalWriter.delete, LexicalWriter.finish

    def lossy_delete(writer: LexicalWriter, path: str) -> None:
        if not left[0]:
            delete(writer, path)

    def counted_finish(writer: LexicalWriter) -> None:
        finish(writer)
        left[0] = max(0, left[0] - 1)

    monkeypatch.setattr(LexicalWriter, "delete", lossy_delete)
    monkeypatch.setattr(LexicalWriter, "finish", counted_finish)


@pytest.fixture
def edited(repo: GitRepo) -> GitRepo:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n", "b.py": "B = 1\n"})
    harness.index(repo.root)
    repo.commit("two", **{"a.py": "def beta():\n    return 2\n"})
    return repo


def test_a_passing_fault_is_written_again(edited: GitRepo, tmp_path, monkeypatch: pytest.MonkeyPatch):
    lose_deletes(monkeypatch, 1)
    report = harness.index(edited.root)
    layout = harness.codebase(edited.root).layout
    assert manifests.read_active_id(layout) == report.snapshot_id
    assert len(log.read_entries(layout, "publish_retried")) == 1
    assert harness.digest_of(edited.root) == harness.clean_digest(edited.root, tmp_path / "clean")
    assert not any(layout.staging.iterdir())


def test_a_fault_that_stays_is_told_once(edited: GitRepo, monkeypatch: pytest.MonkeyPatch):
    layout = harness.codebase(edited.root).layout
    before = manifests.read_active_id(layout)
    with monkeypatch.context() as faulty:
        lose_deletes(faulty, 99)
        with pytest.raises(WriteVerificationFailed, match="the lexical index holds"):
            harness.index(edited.root)
    assert manifests.read_active_id(layout) == before
    assert manifests.list_ids(layout) == [before], "a refused snapshot leaves no manifest"
    assert len(log.read_entries(layout, "publish_retried")) == 1
    assert not any(layout.staging.iterdir())
    assert not harness.index(edited.root).noop
