"""`init`, `sync`, `keys`, `hooks` and `mcp`: what they say of hooks, failures and files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.cli import cmd_hooks, cmd_init, cmd_keys, cmd_mcp, cmd_sync
from gitindex.hooks.hookfile import HookOutcome
from gitindex.hooks.journal import DIED, DONE, FAILED, WorkerRun
from gitindex.hooks.reach import EventReach, HookStatus
from gitindex.model.manifest import GitFailure
from tests.support import harness
from tests.support.gitrepo import GitRepo

RUN = WorkerRun(7, "start", "end", FAILED, error="no space", hint="gitindex gc")


def test_hooks_that_another_manager_owns_are_listed_with_their_lines():
    refused = HookOutcome("post-commit", "refused", "/h", "lefthook rewrites this file", "run: x\n")
    setup = cmd_init.HookSetup("installed for post-merge", (refused,), needs_manual_sync=False)
    assert setup.to_json() == {
        "hooks": "installed for post-merge",
        "refused": [{"event": "post-commit", "reason": "lefthook rewrites this file", "snippet": "run: x\n"}],
    }
    assert cmd_init._snippet_lines(setup)[1] == "post-commit: lefthook rewrites this file. Add this yourself:"
    assert "refused" not in cmd_init.HookSetup("no git repository").to_json()


@pytest.mark.parametrize(("options", "manual"), [((), False), (("--no-hooks",), True)])
def test_without_hooks_the_next_step_is_a_sync(repo: GitRepo, options: tuple[str, ...], manual: bool):
    repo.commit("one", **{"a.py": "x = 1\n"})
    text = harness.cli("init", *options, "--path", str(repo.root)).out
    assert ("gitindex sync      after a change" in text) is manual
    assert ("not installed (--no-hooks)" in text) is manual


def test_a_sync_says_what_git_could_not(repo: GitRepo):
    repo.commit("one", **{"a.py": "x = 1\n"})
    report = harness.index(repo.root)
    assert cmd_sync.report_text(report).startswith(f"published {report.snapshot_id} at ")
    assert "1 add" in cmd_sync.report_text(report)
    failure = GitFailure("git_damaged", "object", "object 1 is missing", "git fsck")
    noop = replace(report, noop=True, unreadable=2, fallback=failure, damage=failure)
    lines = cmd_sync.report_text(noop).splitlines()
    assert lines[0].startswith("nothing to do: 1 file, ")
    assert lines[1:] == [
        "skipped: 2 unreadable; see: gitindex status",
        "git failed, so the files were scanned: object 1 is missing",
        "  next: git fsck, then gitindex sync",
        "read from the working tree: object 1 is missing",
        "  next: git fsck",
    ]


def test_a_key_pair_is_written_and_named(tmp_path: Path):
    file = tmp_path / "key"
    ran = harness.cli("keys", "new", str(file), "--comment", "ci", "--json")
    assert ran.json["public_file"] == f"{file}.pub"
    assert ran.json["public_key"] == Path(f"{file}.pub").read_text().strip()
    assert cmd_keys.run.commands.keys() == {"new"}


def status(**fields: object) -> HookStatus:
    reach = (EventReach("post-commit", True, "git configuration", "dry run"),)
    return replace(HookStatus(reach, False, None), **fields)


def test_a_failed_run_leads_to_its_next_step_until_a_sync_succeeded():
    pending = cmd_hooks._render_status(status(pending=True, last_run=RUN)).splitlines()
    assert pending[-3:] == [
        "a hook request is pending",
        "last run start: failed, no space",
        "next: gitindex gc",
    ]
    later = cmd_hooks._render_status(status(last_run=RUN)).splitlines()
    assert later[-1] == "a later sync succeeded"
    done = cmd_hooks._render_status(status(last_run=replace(RUN, result=DONE, detail="01S"))).splitlines()
    assert done[-1] == "last run start: done, 01S"
    died = cmd_hooks._render_run(replace(RUN, result=DIED))
    assert died == "last run start: died, process 7 was killed"


def test_hooks_that_do_not_reach_us_are_to_be_installed():
    missing = status(events=(EventReach("post-commit", False, "no hook at /h"),))
    assert cmd_hooks._render_status(missing).endswith("next: gitindex hooks install")
    blocked = status(obstacle="the folder belongs to root")
    assert cmd_hooks._render_status(blocked).endswith("the folder belongs to root\nnext: gitindex sync")


def test_the_server_serves_the_given_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    served = []
    monkeypatch.setattr("gitindex.mcp.server.serve", lambda _environment, path: served.append(path))
    assert cmd_mcp.run.main(["--path", str(tmp_path)], standalone_mode=False) == 0
    assert served == [tmp_path]
