"""What a sync has to do, decided from a source and the records of a snapshot (CS-1, CS-2, EL-2, EL-3)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gitindex.errors import PublishBlocked
from gitindex.indexing import plan as planning
from gitindex.indexing.plan import Plan, Planner
from gitindex.model.manifest import FileError
from gitindex.model.paths import casefold_key
from gitindex.model.records import FileRecord
from gitindex.model.skips import SkipReason
from gitindex.source.source_file import Content
from tests.indexing.sources import MemorySource, policy_ignoring

EVERYTHING = policy_ignoring()


class RecordsView:
    """The part of a view that a planner reads."""

    def __init__(self, *records: FileRecord) -> None:
        self._records = {record.path: record for record in records}
        self.manifest: Any = SimpleNamespace(
            degraded=False, counts=SimpleNamespace(text_only={}), git=SimpleNamespace(tree_sha="t")
        )

    def overlay(self) -> dict[str, Any]:
        return {}

    def record(self, path: str) -> FileRecord | None:
        return self._records.get(path)

    def records(self) -> list[FileRecord]:
        return list(self._records.values())

    def link_records(self) -> Any:
        return iter([record for record in self._records.values() if record.link])

    def find_case_variants(self, path: str) -> set[str]:
        return {other for other in self._records if casefold_key(other) == casefold_key(path)}


def plan_of(source: MemorySource, *records: FileRecord, policy: Any = EVERYTHING) -> Plan:
    view: Any = RecordsView(*records) if records else None
    return Planner(view, source, policy).plan(whole=True)


def record_of(source: MemorySource, key: str, **fields: Any) -> FileRecord:
    content = source.identify(source.list_files()[key], None)
    return FileRecord(key, content.blob, content.blob, False, content.size, "")._replace(**fields)


def test_only_changed_files_are_written_and_missing_ones_are_gone() -> None:
    source = MemorySource({"same.py": b"1\n", "edited.py": b"2\n", "new.py": b"3\n"})
    old = [
        record_of(source, "same.py"),
        record_of(source, "edited.py", blob="old", content="old"),
        FileRecord("deleted.py", "x", "x", False, 1, ""),
    ]
    plan = plan_of(source, *old)
    assert [planned.key for planned in plan.write] == ["edited.py", "new.py"]
    assert plan.gone == ("deleted.py",)
    assert sorted(plan.before) == ["deleted.py", "edited.py"]
    assert not plan.is_empty


def test_a_file_indexed_without_time_for_its_syntax_is_written_again() -> None:
    source = MemorySource({"a.py": b"1\n"})
    assert plan_of(source, record_of(source, "a.py")).is_empty
    assert not plan_of(source, record_of(source, "a.py", text_only=planning.BUDGET)).is_empty


def test_a_link_has_the_content_of_its_target() -> None:
    source = MemorySource({"docs/real.md": b"# Real\n"}, links={"guide.md": b"docs/real.md"})
    planned = {planned.key: planned for planned in plan_of(source).write}
    link = planned["guide.md"]
    assert link.link
    assert link.source_file is not None
    assert (link.source_file.key, link.source_file.blob) == ("docs/real.md", planned["docs/real.md"].blob)


@pytest.mark.parametrize(
    ("target", "reason"),
    [(b"secret.md", SkipReason.IGNORED), (b"missing.md", SkipReason.SYMLINK_BROKEN), (b"docs", None)],
)
def test_a_link_does_not_bypass_an_ignore_rule(target: bytes, reason: SkipReason | None) -> None:
    source = MemorySource({"secret.md": b"s\n", "docs/a.md": b"a\n"}, links={"link.md": target})
    planned = {item.key: item for item in plan_of(source, policy=policy_ignoring("secret.md")).write}
    assert planned["link.md"].skip is (reason or SkipReason.SYMLINK_DIRECTORY)
    assert planned["link.md"].source_file is None


def test_paths_that_differ_only_in_case_collide() -> None:
    source = MemorySource({"Readme.md": b"1\n", "README.md": b"2\n", "other.md": b"3\n"})
    errors = plan_of(source).errors
    assert [error.code for error in errors] == ["case_collision"]
    renamed = MemorySource({"readme.md": b"1\n"})
    assert plan_of(renamed, record_of(source, "Readme.md")).errors == (), "the other one is gone"


def test_an_unreadable_file_blocks_a_strict_publish() -> None:
    plan = plan_of(MemorySource({"a.py": b"1\n", "b.py": Content(error="denied")}, dirty=["b.py"]), _OLD)
    assert [(planned.key, planned.skip) for planned in plan.write if planned.skip] == [
        ("b.py", SkipReason.UNREADABLE)
    ]
    assert plan.overlay["b.py"].blob == ""
    with pytest.raises(PublishBlocked, match=r"denied$"):
        planning.refuse_failures(plan)
    two = Plan((), (), {}, {}, (*plan.errors, FileError("unreadable_file", "other", "c.py")))
    with pytest.raises(PublishBlocked, match=r"denied \(and 1 more\)$"):
        planning.refuse_failures(two)
    planning.refuse_failures(Plan((), (), {}, {}))


_OLD = FileRecord("z.py", "z", "z", False, 1, "")


def test_equal_bytes_at_another_path_are_a_rename() -> None:
    before = {
        "old.py": FileRecord("old.py", "b1", "b1", False, 1, ""),
        "deleted.py": FileRecord("deleted.py", "b2", "b2", False, 1, ""),
        "edited.py": FileRecord("edited.py", "b3", "b3", False, 1, ""),
        "skipped.bin": FileRecord("skipped.bin", "b4", "b4", False, 1, "binary"),
        "grown.py": FileRecord("grown.py", "b5", "b5", False, 1, ""),
    }
    written = {
        "new.py": FileRecord("new.py", "b1", "b1", False, 1, ""),
        "edited.py": FileRecord("edited.py", "b6", "b6", False, 1, ""),
        "added.py": FileRecord("added.py", "b4", "b4", False, 1, ""),
        "grown.py": FileRecord("grown.py", "b7", "b7", False, 1, "too_large"),
    }
    plan = Plan((), ("deleted.py", "old.py", "skipped.bin"), {}, before)
    changes = planning.compute_changes(plan, written)
    assert changes.add == ("added.py",)
    assert changes.modify == ("edited.py",)
    assert changes.delete == ("deleted.py", "grown.py")
    assert changes.rename == (("old.py", "new.py"),)
    assert planning.list_tombstones(plan, changes, written) == [
        ("deleted.py", "delete"),
        ("old.py", "rename_from"),
        ("skipped.bin", "delete"),
        ("edited.py", "replace"),
        ("grown.py", "replace"),
    ]
