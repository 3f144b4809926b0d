"""Reading the files of a plan: what changed since planning becomes part of the plan (CS-3, EL-1)."""

from __future__ import annotations

from gitindex.indexing.plan import Plan, PlannedFile
from gitindex.indexing.planreader import PlanReader
from gitindex.model.file_stat import Stat
from gitindex.model.ids import sha256_hex
from gitindex.model.paths import path_key
from gitindex.model.records import FileRecord, OverlayEntry
from gitindex.model.skips import SkipReason
from gitindex.source.source_file import Content
from tests.indexing.sources import MemorySource, policy_ignoring, source_file

ENTRY = OverlayEntry(path_key("a.py"), "b", Stat(1, 2, 3, 4))


def reader_of(
    source: MemorySource, *planned: PlannedFile, before: dict[str, FileRecord] | None = None
) -> PlanReader:
    return PlanReader(Plan(planned, (), {}, before or {}), source, policy_ignoring())


def test_skipped_paths_come_first_and_carry_no_data() -> None:
    source = MemorySource({"a.py": b"A = 1\n", "bad.py": b"\0\0"})
    files = list(
        reader_of(
            source,
            PlannedFile.readable("a.py", "planned", source_file("a.py")),
            PlannedFile.readable("bad.py", "planned", source_file("bad.py")),
            PlannedFile.skipped("big.py", "b2", SkipReason.TOO_LARGE, size=7),
        ).read_files()
    )
    assert [(file.record.path, file.record.skip, file.data) for file in files] == [
        ("big.py", "too_large", None),
        ("a.py", "", b"A = 1\n"),
        ("bad.py", "binary", None),
    ]
    big, readable, binary = (file.record for file in files)
    assert (big.blob, big.size) == ("b2", 7)
    assert readable.file_hash == sha256_hex(b"A = 1\n")
    assert readable.blob == readable.content != "planned"
    assert binary.file_hash == ""


def test_a_link_keeps_its_own_blob_and_no_stat() -> None:
    source = MemorySource({"a.py": Content(data=b"A = 1\n", blob="target", size=6, overlay_entry=ENTRY)})
    link = PlannedFile.readable("link.py", "own", source_file("a.py"), link=True)
    reader = reader_of(source, link)
    (file,) = reader.read_files()
    assert (file.record.blob, file.record.content, file.record.link) == ("own", "target", True)
    assert reader.final_plan().overlay == {}
    plain = reader_of(source, PlannedFile.readable("a.py", "old", source_file("a.py")))
    assert [file.record.blob for file in plain.read_files()] == ["target"]
    assert plain.final_plan().overlay == {"a.py": ENTRY}


def test_a_file_that_vanished_is_a_deletion_only_if_it_was_indexed() -> None:
    source = MemorySource({"a.py": Content(vanished=True), "new.py": Content(vanished=True)})
    reader = reader_of(
        source,
        PlannedFile.readable("a.py", "b", source_file("a.py")),
        PlannedFile.readable("new.py", "b", source_file("new.py")),
        before={"a.py": FileRecord("a.py", "b", "b", False, 1, "")},
    )
    assert list(reader.read_files()) == []
    assert reader.final_plan().gone == ("a.py",)


def test_an_unreadable_file_is_an_error_and_a_skip() -> None:
    source = MemorySource({"a.py": Content(error="denied", size=5)})
    reader = reader_of(source, PlannedFile.readable("a.py", "b", source_file("a.py")))
    (file,) = reader.read_files()
    assert (file.record.skip, file.record.size, file.data) == ("unreadable", 0, None)
    assert [(error.code, error.path_key) for error in reader.errors] == [("unreadable_file", "a.py")]
