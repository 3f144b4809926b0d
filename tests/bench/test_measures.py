"""What the measurements are made of: profiles, traces, made-up indexes, scripted histories, tools that are missing."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import corpus, history, madescip, measure, peers, profile
from benchmarks.tools import Missing

from gitindex.scip.reader import IndexFile
from tests.support.gitrepo import GitRepo

STACKS = """\
process 12:"python -m gitindex";<module> (/x/lib/python3.11/runpy.py:1);sync (gitindex/ops/syncing/sync.py:40);write (gitindex/indexing/write.py:9) 30
process 12:"python -m gitindex";process 13:"python -c import x; x()";sync (gitindex/ops/syncing/sync.py:44) 10
garbage
"""
TRACE = """\
10:00:00.0 file.c:1 | d0 | main | child_start  |     | 0.001 |       |     | [ch0] class:? argv:[git maintenance]
10:00:00.0 file.c:1 | d0 | main | child_exit   |     | 0.002 | 0.500 |     | [ch0] pid:1 code:0
10:00:00.0 file.c:1 | d0 | main | child_start  |     | 0.010 |       |     | [ch1] class:hook hook:post-commit argv:[x]
10:00:00.0 file.c:1 | d0 | main | child_exit   |     | 0.013 | 0.003 |     | [ch1] pid:2 code:0
10:00:00.0 file.c:1 | d0 | main | exit         |     | 0.020 |       |     | code:0
"""


def test_a_process_is_not_charged_with_the_memory_of_ours(tmp_path: Path):
    """Linux counts what the starting process held as its child's peak."""
    ours = bytearray(b"x") * (300 << 20)
    done = measure.weighed([sys.executable, "-c", "print('one'); print('two')"], tmp_path, {})
    assert done.out == "one\ntwo"
    assert 1 << 20 < done.peak_rss < len(ours) // 2
    assert measure.weighed(["true"], tmp_path, {"PATH": "/usr/bin:/bin"}).out == ""


def test_stacks_are_counted_by_function():
    found = profile.parse(STACKS.splitlines())
    assert found.samples == 40
    assert found.inclusive["sync (ops/syncing/sync.py)"] == 40
    assert found.own == {"write (indexing/write.py)": 30, "sync (ops/syncing/sync.py)": 10}


def test_imports_are_counted_by_package():
    told = "import time: self [us] | cumulative | imported package\nimport time:       120 |        150 |   click.core\n"
    told += "import time:        30 |         30 |     click\nwarning: else\n"
    assert profile.import_times(told) == {"click": 150}


def test_only_hooks_count_as_hooks():
    assert profile.trace_times(TRACE) == (0.003, 0.020)


def test_a_profile_keeps_what_people_wrote(tmp_path: Path, monkeypatch):
    target = tmp_path / "profiles.md"
    target.write_text(f"# Mine\n\nwords\n\n{profile.MARK}\n\nold")
    monkeypatch.setattr(profile, "_sections", lambda _cache: iter(["new"]))
    profile.write(tmp_path, target)
    assert target.read_text() == f"# Mine\n\nwords\n\n{profile.MARK}\n\nnew"


def test_a_made_index_says_what_its_files_say(tmp_path: Path):
    """SE-7 would demote an occurrence whose text is another; none of these is."""
    root, index = madescip.project(tmp_path, 2000)
    count = 0
    with IndexFile(index) as file:
        for document in file.documents():
            lines = (root / document.relative_path).read_text().split("\n")
            for item in document.occurrences:
                row, start, end = item.range
                assert f"/{lines[row][start:end]}." in item.symbol
                count += 1
    assert count == 2000
    assert madescip.project(tmp_path, 2000) == (root, index)


def test_a_scripted_history_is_the_same_every_time(tmp_path: Path):
    ends = []
    for name in ("one", "two"):
        repo = GitRepo.create(tmp_path / name)
        for number in range(8):
            repo.write(f"pkg/m{number}.py", f"VALUE = {number}\n")
        corpus.git(repo.root, "add", "-A")
        corpus.git(repo.root, "commit", "-q", "-m", "Import")
        ends.append(list(corpus.history(repo.root, 6)))
    assert ends[0] == ends[1]
    assert len(set(ends[0])) == 6


def test_a_missing_tool_keeps_its_row():
    """Never a silent skip: the row says why."""

    def absent(_desk):
        raise Missing("no such package")

    found = {name: peers.Found() for name in peers.MEASURES} | {"ripgrep": peers._asked(absent, None)}
    shown = peers._table(found)
    assert set(peers.ABOUT) == set(peers.MEASURES)
    assert "ripgrep | not installed here: no such package |" in shown
    assert len(shown.splitlines()) == 4 + len(peers.MEASURES)
    assert len({line.count("|") for line in shown.splitlines()[2:]}) == 1


def test_a_history_asks_for_files_and_promises_what_it_found(tmp_path: Path):
    repo = GitRepo.create(tmp_path / "repo")
    for number, (word, files) in enumerate(
        {
            "apple": ("apple.py", "tests/test_apple.py"),
            "pear": ("pear.py", "docs/pear.md"),
            "plum": ("plum.py",),
        }.items()
    ):
        repo.commit(f"Let the {word} ripen", **dict.fromkeys(files, f"{word} = {number}\n"))
    asked = history.measure(repo.root, tmp_path / "cache")
    assert asked.commits == {history.ALL: 3, history.SOURCE: 3, history.AMONG: 3}
    assert asked.means[history.ALL]["lexical"] == asked.means[history.SOURCE]["bm25"] == 1.0
    assert len(asked.table().splitlines()) == 5
    rows = list(asked.promises())
    assert len(rows) == 4
    assert [row.bound for row in rows] == [1.0, None, 1.0, None]
