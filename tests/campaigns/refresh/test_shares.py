"""SE-7: two processes make of an index what one makes, and one is enough when the other dies."""

from __future__ import annotations

import os
import sqlite3
from multiprocessing import Pipe
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.scip.reader import IndexFile
from gitindex.semantic import parallel_read
from gitindex.semantic.package_names import NAMELESS
from gitindex.semantic.parallel_read import HelperLost, HelperProcess, HelperTask
from tests.campaigns.refresh.project import FILES, Project
from tests.scip import writer

MANY = FILES | {f"part{n}.py": f"def lonely{n}():\n    return {n}\n" for n in range(9)}


@pytest.fixture
def helped(monkeypatch: pytest.MonkeyPatch) -> list[HelperTask]:
    """Every index is worth a helper; the orders given."""
    given_out: list[HelperTask] = []
    begin = HelperProcess.send_task

    def noticed(self: HelperProcess, order: HelperTask) -> None:
        given_out.append(order)
        begin(self, order)

    monkeypatch.setattr(parallel_read, "is_worth_splitting", lambda _: True)
    monkeypatch.setattr(HelperProcess, "send_task", noticed)
    return given_out


def stored(project: Project) -> dict[str, list]:
    """Everything in the scip file but its name."""
    (path,) = project.codebase.layout.segments.glob("*/scip.sqlite")
    with sqlite3.connect(path) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr) for name in tables if name != "meta"
        }


def imported(where: Path) -> dict[str, list]:
    project = Project(where, MANY)
    project.sync()
    project.refresh()
    return stored(project)


def test_two_processes_store_what_one_stores(tmp_path: Path, helped: list[HelperTask], monkeypatch):
    together = imported(tmp_path / "two")
    assert [len(order.documents) > 0 for order in helped] == [True]
    monkeypatch.setattr(parallel_read, "is_worth_splitting", lambda _: False)
    assert together == imported(tmp_path / "one")
    assert len(helped) == 1


def test_a_helper_that_dies_costs_nothing_but_time(tmp_path: Path, helped: list[HelperTask], monkeypatch):
    alone = imported(tmp_path / "whole")

    def dies(self: HelperProcess) -> None:
        raise HelperLost

    monkeypatch.setattr(HelperProcess, "receive_documents", dies)
    assert imported(tmp_path / "died") == alone


def test_a_helper_that_cannot_work_ends_silently(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    repo = Project(tmp_path, FILES).codebase.repo
    order = HelperTask(tmp_path / "gone.scip", "", NAMELESS, repo, {}, (), "python:", (0,))
    with parallel_read.start_helper() as helper:
        helper.send_task(order)
        with pytest.raises(HelperLost):
            list(helper.receive_documents())
    assert capfd.readouterr().err == ""


def test_nobody_waits_for_a_helper_to_take_its_order(tmp_path: Path):
    """The order is larger than any pipe; the other end reads nothing, then is gone."""
    ours, theirs = Pipe()
    repo = Project(tmp_path, FILES).codebase.repo
    blobs = {f"{n}.py": "0" * 40 for n in range(100_000)}
    helper = HelperProcess(ours)
    helper.send_task(HelperTask(tmp_path / "any.scip", "", NAMELESS, repo, blobs, (), "python:", (0,)))
    theirs.close()
    with pytest.raises(HelperLost):
        next(helper.receive_documents())
    helper.close()


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from(["a.py", "./a.py", "b.py", "b/c.py", "../x.py", "/y.py", "z.py"]), max_size=12)
)
def test_shares_are_cut_between_paths(tmp_path_factory: pytest.TempPathFactory, names: list[str]):
    """Every document is in one share, those of one path in the same, ours before theirs."""
    path = tmp_path_factory.mktemp("cut") / f"{os.getpid()}.scip"
    path.write_bytes(writer.index(*(writer.document(name) for name in names)))
    with IndexFile(path) as file:
        ours, theirs = parallel_read.split_halves(file, "")
    assert sorted([*ours, *theirs]) == list(range(len(names)))
    key = [os.path.normpath(name) for name in names]
    assert not {key[at] for at in ours} & {key[at] for at in theirs}


def test_a_helper_that_was_stopped_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """EN-8: nothing waits for another process for ever."""
    monkeypatch.setattr(parallel_read, "MESSAGE_TIMEOUT_SECONDS", 0.05)
    ours, theirs = Pipe()
    with theirs, pytest.raises(HelperLost):
        HelperProcess(ours).exchange_defined(set())
