"""The commands that look after stores: `gc`, `compact`, `stats`, `stores`, `list`, `repair`, `audit`, `health` (UI-1)."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gitindex.cli import (
    cmd_audit,
    cmd_compact,
    cmd_gc,
    cmd_health,
    cmd_list,
    cmd_repair,
    cmd_stats,
    cmd_stores,
    cmd_upgrade_store,
)
from gitindex.lifecycle.check import Problem
from gitindex.lifecycle.digest import Digest
from gitindex.ops.codebase import Notice
from gitindex.ops.maintain.audit import Audit
from gitindex.ops.maintain.index_status import GitFailure, StatusAnswer
from gitindex.ops.maintain.repair import RepairReport
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    repo.commit("one", **{"a.py": "def alpha():\n    return 1\n"})
    harness.index(repo.root)
    return repo


def test_collecting_nothing_and_something(repo: GitRepo):
    path = ("--path", str(repo.root))
    assert harness.cli("gc", *path).out == "nothing to collect\n"
    for number in range(7):
        repo.commit("next", **{"a.py": f"def alpha():\n    return {number}\n"})
        harness.index(repo.root)
    dry = harness.cli("gc", "--dry-run", "--json", *path).json
    assert dry["dry_run"] is True
    assert dry["removed"] == len(dry["paths"])
    assert harness.cli("gc", *path).out.startswith("removed ")
    assert len(dry["kept"]) >= 5


def test_whole_stores_go_only_with_force(indexed: GitRepo):
    path = ("--path", str(indexed.root))
    kept = harness.cli("gc", "--stores", "--days", "0", "--json", *path).json
    assert (kept["removed"], len(kept["kept"])) == ([], 1)
    dry = harness.cli("gc", "--stores", "--days", "0", "--force", "--dry-run", *path).out
    assert dry.splitlines()[-1].startswith("would remove 1 store (")
    assert len(harness.cli("stores", "--json").json["stores"]) == 1
    gone = harness.cli("gc", "--stores", "--days", "0", "--force", *path).out
    assert gone.splitlines()[-1].startswith("removed 1 store (")
    assert harness.cli("stores").out == "no stores\n"
    assert harness.cli("list").out == "no codebases\n"


def test_compacting_names_both_counts(indexed: GitRepo):
    path = ("--path", str(indexed.root))
    assert harness.cli("compact", *path).out == "nothing to merge: one segment, no tombstones\n"
    indexed.commit("two", **{"a.py": "def beta():\n    return 2\n"})
    harness.index(indexed.root)
    assert "merged 2 segments into 1, removed 1 tombstones" in harness.cli("compact", *path).out


def test_stats_need_an_index(repo: GitRepo):
    assert harness.cli("stats", "--path", str(repo.root)).code == 3


def test_stats_of_an_index(indexed: GitRepo):
    text = harness.cli("stats", "--path", str(indexed.root)).out
    assert re.search(r"^rows +[1-9]\d* live, 0 dead$", text, re.M)
    assert "compaction saves" in text


@pytest.mark.parametrize(
    ("hit_rate", "text"), [(None, "1 computed, 2 reused"), (0.5, "1 computed, 2 reused, hit rate 50%")]
)
def test_a_hit_rate_is_shown_where_there_is_one(hit_rate: float | None, text: str):
    assert cmd_stats._format_vectors({"embedded": 1, "reused": 2, "hit_rate": hit_rate}) == text


def test_a_repair_says_what_it_did():
    report = RepairReport("ok", "files", ("segments/a",), 1200, "01S")
    assert cmd_repair._render_text(report, dry_run=False).splitlines() == [
        "damaged: segments/a",
        "only the files of the damaged segments are indexed again",
        "published 01S (1,200 files indexed again)",
    ]
    assert "published" not in cmd_repair._render_text(report, dry_run=True)
    nothing = RepairReport("ok", "none", (), 0, None)
    assert cmd_repair._render_text(nothing, dry_run=False) == "nothing is damaged"


def test_an_audit_lists_its_problems():
    digest = Digest("d", 1, 2, 3, 4, 5)
    assert cmd_audit._render_text(Audit(digest, (), "01S")).endswith("\nno problems")
    same = Audit(digest, (), "01S", digest)
    assert "a clean build has the same digest" in cmd_audit._render_text(same)
    broken = Audit(digest, (Problem("count_drift", "counts differ"),), "01S", Digest("e", 1, 2, 3, 4, 5))
    text = cmd_audit._render_text(broken)
    assert text.endswith("\nproblem: counts differ")
    assert "same digest" not in text


def test_health_names_a_scan_and_what_to_run():
    """C-1: without git the next step is git's, once git works it is a sync."""
    problem = Notice("git_damaged", "m", "git fsck")
    answer = StatusAnswer("ok", "indexed", "/r", "s", {}, problems=(problem,))
    assert cmd_health._git_notices(answer) == [problem]
    scanned = replace(answer, fallback=GitFailure("git_damaged", "index", "the index is corrupt", "git fsck"))
    assert [notice.next for notice in cmd_health._git_notices(scanned)] == ["git fsck"]
    again = replace(scanned, problems=(replace(problem, code="busy"),))
    assert [notice.next for notice in cmd_health._git_notices(again)] == ["gitindex sync"]


def test_an_upgrade_of_a_current_store_does_nothing(indexed: GitRepo):
    ran = harness.cli("upgrade-store", "--path", str(indexed.root))
    assert (ran.code, ran.out) == (0, "the store has this release's formats\n")


@pytest.mark.parametrize(
    "module",
    [
        cmd_audit,
        cmd_compact,
        cmd_gc,
        cmd_health,
        cmd_list,
        cmd_repair,
        cmd_stats,
        cmd_stores,
        cmd_upgrade_store,
    ],
)
def test_every_option_says_what_it_is(module):
    assert all(item.help for item in module.run.params), [item.name for item in module.run.params]
