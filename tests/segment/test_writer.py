"""One segment: table, facts, path map and tombstones agree (SN-2)."""

from __future__ import annotations

import json
from pathlib import Path

from gitindex.extract import extractor
from gitindex.model.ids import sha256_hex
from gitindex.model.records import FileRecord
from gitindex.model.settings import IndexSettings
from gitindex.segment import chunk_table, tombstones
from gitindex.segment.facts import Facts
from gitindex.segment.writer import SegmentWriter, WrittenSegment

SOURCE = b"def alpha():\n    return 1\n"


def write_segment(folder: Path, marker: dict[str, str] | None = None) -> tuple[WrittenSegment, FileRecord]:
    extraction = extractor.extract("a.py", SOURCE, IndexSettings())
    record = FileRecord(
        "a.py",
        "blob",
        "blob",
        False,
        len(SOURCE),
        "",
        language="python",
        chunks=len(extraction.chunks),
        file_hash=sha256_hex(SOURCE),
    )
    writer = SegmentWriter(folder, "seg_1", 0, "c1")
    writer.add(record, extraction, ())
    writer.add(FileRecord("b.bin", "other", "", False, 9, "binary"), None, ())
    writer.write_table(marker)
    return writer.write_facts([("z.py", "delete"), ("a.py", "replace")]), record


def test_a_segment_holds_what_it_says(tmp_path: Path) -> None:
    written, record = write_segment(tmp_path / "seg", {"runId": "S1"})
    table = tmp_path / "seg" / "seg_1.lance"
    rows = [row for batch in chunk_table.read_batches(table, ["path_key"]) for row in batch.to_pylist()]
    assert written == WrittenSegment("seg_1", rows=len(rows), files=2, tombstones=2)
    assert rows == [{"path_key": "a.py"}] * record.chunks
    assert record.chunks > 0
    assert chunk_table.read_marker(table) == {"runId": "S1"}
    facts = Facts(tmp_path / "seg" / "facts.sqlite")
    assert facts.totals() == (2, record.chunks)
    assert facts.record("a.py") == record
    assert tombstones.read(tmp_path / "seg" / "tombstones.jsonl") == ["a.py", "z.py"]


def test_the_path_map_names_every_path_with_its_blob(tmp_path: Path) -> None:
    write_segment(tmp_path / "seg")
    lines = (tmp_path / "seg" / "segment_file_index.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"path_key": "a.py", "segment_id": "seg_1", "blob": "blob"},
        {"path_key": "b.bin", "segment_id": "seg_1", "blob": "other"},
    ]


def test_rows_and_facts_can_be_copied_from_another_segment(tmp_path: Path) -> None:
    _, record = write_segment(tmp_path / "old")
    writer = SegmentWriter(tmp_path / "new", "seg_2", 0, "c1")
    for batch in chunk_table.read_batches(tmp_path / "old" / "seg_1.lance"):
        writer.add_rows(batch)
    writer.copy_facts(tmp_path / "old" / "facts.sqlite", [record])
    writer.write_table(None)
    assert writer.write_facts([]) == WrittenSegment("seg_2", rows=record.chunks, files=1, tombstones=0)
    facts = Facts(tmp_path / "new" / "facts.sqlite")
    assert list(facts.paths()) == ["a.py"]
    symbols = facts.query("SELECT s.name FROM symbol s JOIN file f ON f.id = s.file WHERE f.path = 'a.py'")
    assert list(symbols) == [("alpha",)]
