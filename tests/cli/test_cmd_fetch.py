"""`cli.cmd_fetch`: what a fetch reports as text."""

from __future__ import annotations

from dataclasses import replace

from gitindex.cli.cmd_fetch import report_text
from gitindex.ops.sharing.fetch_report import FetchReport

REPORT = FetchReport(
    status="ok",
    base_commit="a" * 40,
    target_commit="b" * 40,
    distance=1,
    objects={"downloaded": 3, "reused": 0},
    bytes={"downloaded": 2048, "reused": 0},
    caught_up={"add": 0, "modify": 2},
    signer="SHA256:key",
    elapsed_ms=900,
    snapshot_id="01M7Q8G4HMVY6J8P3EZ3TR7EV0",
    remote="file:///remote",
    repository="r",
    built_ms=61_500,
    builder="ci",
    saved_ms=60_600,
    rotated=(),
    passed_over=(),
)


def test_the_time_saved_is_told_where_there_is_any():
    text = report_text(REPORT)
    assert "900 ms; building took 61.5 s, so this saved 60.6 s" in text
    assert "aaaaaaaaaaaa, 1 commit behind bbbbbbbbbbbb" in text
    assert "2 modify" in text
    assert "0 add" not in text
    assert "building took" not in report_text(replace(REPORT, saved_ms=0))


def test_a_base_beside_the_history_is_no_ancestor():
    text = report_text(replace(REPORT, distance=None, caught_up={}))
    assert "aaaaaaaaaaaa, no ancestor of bbbbbbbbbbbb" in text
    assert "nothing to do" in text
