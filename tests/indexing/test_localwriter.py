"""Batches are extracted ahead of the writer, but not more than the pool's capacity (EL-8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gitindex.indexing.indexwriter import ExtractedFile, FileContent
from gitindex.indexing.localwriter import LocalWriter
from gitindex.model.records import FileRecord


def record(path: str, skip: str = "") -> FileRecord:
    return FileRecord(path, "b", "b", False, 1, skip)


class Extractions:
    def __init__(self, paths: list[str]) -> None:
        self._paths = paths

    def result(self) -> Any:
        return [f"extraction of {path}" for path in self._paths]


class Pool:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity

    def submit(self, batch: list[tuple[str, bytes]]) -> Extractions:
        return Extractions([path for path, _ in batch])


class Recorder:
    """Stands for an IndexWriter."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def add(self, files: Iterable[ExtractedFile]) -> list[FileRecord]:
        added = list(files)
        self.events += [(file.record.path, file.extraction) for file in added]
        return [file.record for file in added]

    def flush(self) -> None:
        self.events.append("flush")


def writer_of(recorder: Recorder, capacity: int) -> LocalWriter:
    index_writer: Any = recorder
    return LocalWriter(index_writer, Pool(capacity))


def test_a_batch_is_written_once_more_than_the_capacity_are_pending() -> None:
    recorder = Recorder()
    writer = writer_of(recorder, capacity=2)
    returned = [writer.write([FileContent(record(f"{name}.py"), b"1")]) for name in "abcd"]
    assert [[item.path for item in batch] for batch in returned] == [[], [], ["a.py"], ["b.py"]]
    assert [item.path for item in writer.drain()] == ["c.py", "d.py"]
    assert recorder.events == [
        ("a.py", "extraction of a.py"),
        ("b.py", "extraction of b.py"),
        ("c.py", "extraction of c.py"),
        ("d.py", "extraction of d.py"),
        "flush",
    ]


def test_skipped_paths_are_written_last_and_never_extracted() -> None:
    recorder = Recorder()
    writer = writer_of(recorder, capacity=0)
    batch = [FileContent(record("s.bin", "binary"), None), FileContent(record("a.py"), b"")]
    assert [item.path for item in writer.write(batch)] == ["a.py"]
    assert writer.write([FileContent(record("t.bin", "binary"), None)]) == []
    assert [item.path for item in writer.drain()] == ["s.bin", "t.bin"]
    assert recorder.events == [
        ("a.py", "extraction of a.py"),
        ("s.bin", None),
        ("t.bin", None),
        "flush",
    ]
