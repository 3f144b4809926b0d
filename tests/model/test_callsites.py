"""Call sites are packed by file and found by name: whatever they are called, wherever they have been copied to (SN-1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.lifecycle import compact
from gitindex.model import callsites
from gitindex.model.records import FileRecord
from gitindex.model.rows import ExtractedCall, Extraction
from gitindex.navigate import fact_queries
from gitindex.segment.facts import Facts, FactsWriter
from gitindex.view.snapshot import SnapshotView
from tests.support import harness
from tests.support.gitrepo import GitRepo

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["save", "länge", "保存", "a\nb", "a\0b", 'say "so"', "[]", ",", "\\", "\u2028", "\N{PILE OF POO}", ""]
)
numbers = st.integers(0, 300) | st.integers(0, 70_000) | st.integers(0, 2**32 - 2)
calls = st.builds(ExtractedCall, names, names | st.just(""), numbers, numbers, st.just(-1) | numbers)


@settings(deadline=None)
@given(st.lists(calls, max_size=30))
def test_packed_calls_come_back(found: list[ExtractedCall]):
    of, packed = callsites.pack(found)
    assert list(callsites.unpack(*packed)) == found
    assert set(of) == {call.callee for call in found}
    for name, number in of.items():
        some = callsites.unpack_named(name, number, packed.receivers, packed.places)
        assert list(some) == [call for call in found if call.callee == name]


@pytest.mark.parametrize("count", [255, 256, 257, 65_536, 65_537])
def test_more_names_than_a_narrow_column_numbers(count: int):
    found = [ExtractedCall(f"f{at}", f"r{at}", at + 1, 1, at - 1) for at in range(count)] + [
        ExtractedCall("f0", "", 1, 1, -1)
    ]
    of, packed = callsites.pack(found)
    assert list(callsites.unpack(*packed)) == found
    last = f"f{count - 1}"
    assert [*callsites.unpack_named(last, of[last], packed.receivers, packed.places)] == [found[-2]]
    assert [*callsites.unpack_named("f0", of["f0"], packed.receivers, packed.places)] == [found[0], found[-1]]


def test_the_form_is_the_same_on_every_machine():
    _, packed = callsites.pack(
        [ExtractedCall("save", "self.repo", 3, 11, -1), ExtractedCall("löschen", "", 258, 1, 0)]
    )
    assert packed.callees == '["save","löschen"]'
    assert packed.receivers == '["self.repo",""]'
    assert packed.places == b"\2\0\0\0B\0\1B\0\1H\3\0\2\1B\x0b\1B\0\1"


def test_a_copy_keeps_the_calls_of_living_files(tmp_path: Path):
    """SN-8: also where there are more rows than one statement takes."""
    made = {
        f"{at}.py": [ExtractedCall(f"f{each}", "", each, at, -1) for each in range(1, 70)]
        for at in range(1, 5)
    }
    old, new = tmp_path / "old.sqlite", tmp_path / "new.sqlite"
    writer = FactsWriter(old, "old")
    for path, found in made.items():
        writer.add(_record(path), _extraction(found))
    writer.finish()
    writer = FactsWriter(new, "new")
    writer.add(_record("first.py"), _extraction([ExtractedCall("f7", "first", 1, 1, -1)]))
    writer.copy(old, ["2.py", "4.py"])
    writer.finish()
    opened = Facts(new)
    try:
        packed = opened.query(
            "SELECT path, callees, receivers, places FROM call c JOIN file f ON f.id = c.file"
        )
        kept = {str(path): list(callsites.unpack(*row)) for path, *row in packed}  # type: ignore[arg-type]
        assert kept.pop("first.py") == [ExtractedCall("f7", "first", 1, 1, -1)]
        assert kept == {path: made[path] for path in ("2.py", "4.py")}
        rows = opened.query(
            "SELECT path FROM callee n JOIN file f ON f.id = n.file WHERE name = 'f7' ORDER BY 1"
        )
        assert [row[0] for row in rows] == ["2.py", "4.py", "first.py"]
    finally:
        opened.close()


def test_callers_are_found_as_the_tree_changes(repo: GitRepo):
    """SN-6: after a commit, a change of the working tree and a compaction; dead files call nobody."""
    repo.commit("one", **{"a.py": "save(1)\nx.save(2)\n", "b.py": "save()\n", "c.py": "self . repo.save()\n"})
    harness.index(repo.root)
    assert _callers(repo) == [("a.py", "", 1), ("a.py", "x", 2), ("b.py", "", 1), ("c.py", "self . repo", 1)]
    repo.commit("two", **{"a.py": "load()\n\ny.save()\n", "d.py": "load()\n"})
    harness.index(repo.root)
    (repo.root / "b.py").unlink()
    harness.index(repo.root)
    left = [("a.py", "y", 3), ("c.py", "self . repo", 1)]
    assert _callers(repo) == left
    compact.compact(harness.codebase(repo.root).layout)
    assert _callers(repo) == left
    assert _callers(repo, "load") == [("a.py", "", 1), ("d.py", "", 1)]
    with harness.view(repo.root) as view:
        assert _looked_up(view) == {("a.py", "load"), ("a.py", "save"), ("c.py", "save"), ("d.py", "load")}


def test_a_name_may_be_an_expression(repo: GitRepo):
    """PHP calls by expressions; a line break in one divides nothing."""
    repo.commit("one", **{"a.php": "<?php\n$a->{'x'\n . 'y'}(1);\n$a->save(2);\n"})
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        odd, plain = fact_queries.calls_in(view, "a.php")
        assert "\n" in odd.callee
        assert (plain.callee, plain.line) == ("save", 4)
        assert fact_queries.calls_named(view, odd.callee) == [odd]
        assert fact_queries.calls_named(view, "save") == [plain]


def _callers(repo: GitRepo, name: str = "save") -> list[tuple[str, str, int]]:
    with harness.view(repo.root) as view:
        found = fact_queries.calls_named(view, name)
        assert found == [site for site in _all(view) if site.callee == name]
        return [(site.path, site.receiver, site.line) for site in found]


def _all(view: SnapshotView) -> list[fact_queries.CallSite]:
    return [site for record in sorted(view.records()) for site in fact_queries.calls_in(view, record.path)]


def _looked_up(view: SnapshotView) -> set[tuple[str, str]]:
    rows = view.select("SELECT f.path, n.name FROM callee n JOIN file f ON f.id = n.file")
    return {(row.path, row.values[0]) for row in rows}


def _record(path: str) -> FileRecord:
    return FileRecord(path, "b" * 40, "b" * 40, False, 1, "")


def _extraction(found: list[ExtractedCall]) -> Extraction:
    return Extraction("python", False, 1, "", (), (), tuple(found), (), (), None)
