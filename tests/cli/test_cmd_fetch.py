"""`cli.cmd_fetch`: what a fetch reports as text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from gitindex.cli import cmd_fetch
from gitindex.cli.cmd_fetch import report_text
from gitindex.ops.sharing.fetch_report import FetchReport
from tests.support.gitrepo import GitRepo
from tests.support.harness import cli

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
    assert "indexed here  nothing" in text


@pytest.mark.parametrize(("words", "shown"), [((), True), (("--json",), False)])
def test_progress_is_for_people(
    words: tuple[str, ...], shown: bool, repo: GitRepo, monkeypatch: pytest.MonkeyPatch
):
    """UI-1: with `--json` neither bar is drawn."""
    bars: list[tuple[str, bool]] = []

    @contextmanager
    def bar(name: str, visible: bool) -> Iterator[None]:
        bars.append((name, visible))
        yield

    monkeypatch.setattr(cmd_fetch, "progress_bar", lambda visible: bar("progress", visible))
    monkeypatch.setattr(cmd_fetch, "transfer_bar", bar)
    monkeypatch.setattr(cmd_fetch, "fetch", lambda *_: REPORT)
    assert cli("fetch", "--path", str(repo.root), *words).code == 0
    assert bars == [("progress", shown), ("fetching", shown)]
