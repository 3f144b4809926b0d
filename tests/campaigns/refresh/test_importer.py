"""SE-7: an import writes what changed, hides what is gone, and leaves the rest to other contexts."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from gitindex.errors import ExactFactsError, LeaseHeld
from gitindex.scip.symbol_grammar import hash64
from gitindex.semantic import importer
from gitindex.semantic.carry_over import carry_documents
from gitindex.semantic.contexts import Context
from gitindex.semantic.describe import Description, pack_external, unpack_external
from gitindex.semantic.importer import ImportSource, import_documents
from gitindex.view.snapshot import open_active
from tests.campaigns.refresh.project import Project, scip_of, symbol

CONTEXT = Context("ctx_python_root_0", "python", "", "hash", (), ())
LONELY = hash64(symbol("other", "lonely().").encode())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.sync()
    return project


def source(project: Project, files: dict[str, str], where: Path) -> ImportSource:
    where.write_bytes(scip_of(files))
    with open_active(project.codebase.layout) as view:
        blobs = {path: view.record(path).content for path in project.files}
    return ImportSource(
        file=where,
        prefix="",
        context=CONTEXT,
        blobs=blobs,
        read=lambda path: project.files[path].encode(),
        scope=None,
        entry_fields={"tool": "scip-python"},
    )


def test_a_second_import_writes_the_difference_only(project: Project, tmp_path: Path):
    layout = project.codebase.layout
    confirmed: list[int] = []
    first = import_documents(
        layout, source(project, project.files, tmp_path / "a"), lambda: confirmed.append(1)
    )
    assert (first.documents, first.written, first.unchanged, first.buried) == (3, 3, 0, 0)
    assert confirmed
    fewer = {path: text for path, text in project.files.items() if path != "other.py"}
    second = import_documents(layout, source(project, fewer, tmp_path / "b"), lambda: None)
    assert (second.documents, second.written, second.unchanged, second.buried) == (2, 0, 2, 1)
    with open_active(layout) as view:
        assert view.manifest.snapshot_id == second.snapshot_id
        assert view.scip.find_document("other.py") is None
        assert list(view.scip.positions(LONELY)) == []
        assert [entry["tool"] for entry in view.manifest.semantic] == ["scip-python"]


def test_an_index_of_no_tracked_file_is_refused(project: Project, tmp_path: Path):
    with pytest.raises(ExactFactsError) as caught:
        import_documents(project.codebase.layout, source(project, {}, tmp_path / "a"), lambda: None)
    assert caught.value.detail["diagnosis"] == "no_documents"


def test_an_import_that_others_keep_overtaking_gives_up(monkeypatch: pytest.MonkeyPatch):
    attempts: list[int] = []
    monkeypatch.setattr(importer, "_attempt_import", lambda *_: attempts.append(1))
    with pytest.raises(LeaseHeld):
        import_documents(SimpleNamespace(), SimpleNamespace(), lambda: None)
    assert len(attempts) == 3


def test_nothing_is_carried_from_a_snapshot_without_documents_nor_over_newer_ones(
    project: Project, tmp_path: Path
):
    layout = project.codebase.layout
    with open_active(layout) as empty:
        assert carry_documents(layout, empty) is None
        result = import_documents(layout, source(project, project.files, tmp_path / "a"), lambda: None)
    with open_active(layout) as full:
        assert carry_documents(layout, full) is None  # the active snapshot has exact facts already
        assert full.manifest.snapshot_id == result.snapshot_id


def test_a_description_of_another_package_keeps_600_characters_of_documentation():
    description = Description("class", "Shape", "class Shape", "x" * 601 + "\0y")
    assert unpack_external(pack_external(description)) == description._replace(documentation="x" * 600)
    with_nul = description._replace(documentation="a\0b")
    assert unpack_external(pack_external(with_nul)) == with_nul
