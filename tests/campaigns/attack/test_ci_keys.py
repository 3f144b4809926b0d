"""RE-14, CF-4: the action and the workflow run on a hostile checkout, step by step; the key is where it signs, only."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.errors import PublishBlocked
from gitindex.ops.sharing.push_checks import check_event
from tests.campaigns.attack.hostilemodules import create, stub_indexer
from tests.campaigns.share.expressions import holds
from tests.campaigns.share.team import Team
from tests.campaigns.share.workflowrunner import ACTION, OIDC, WORKFLOW, Event, Ran, Runner, jobs, steps
from tests.support.gitrepo import GitRepo

MERGED = ("push", "schedule", "workflow_dispatch", "release")
FOREIGN = ("pull_request", "pull_request_target", "workflow_run", "issue_comment")
# Writes down its own environment and that of every process above it, then fails: its output is of no interest.
SPY = """#!/bin/sh
[ "$1" = --version ] && echo 1.0.0 && exit 0
env >>"{dump}"
pid=$$
while [ "$pid" -gt 1 ]; do
    tr '\\0' '\\n' <"/proc/$pid/environ" >>"{dump}" 2>/dev/null
    pid=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$pid/status")
done
exit 1
"""


class Attack:
    """A team whose repository is hostile, with a spy among the indexers."""

    def __init__(self, where: Path) -> None:
        hostile = create(where)
        leave = f"open({str(hostile.canary)!r}, 'a').write(__file__)\n"
        for name in ("conftest.py", "setup.py", "evil.pth"):
            hostile.repo.write(name, leave)
        hostile.repo.write("Makefile", f"all:\n\techo make >>{hostile.canary}\n")
        hostile.repo.commit("more")
        (where / "team").mkdir()
        self.team = Team.create(where / "team", (where / "remote").as_uri())
        self.repo: GitRepo = hostile.repo
        self.hostile, self.where, self.dump = hostile, where, where / "dump"
        self.key = (self.team.where / "key").read_text()
        self.secret_lines = [line for line in self.key.splitlines() if line and "-----" not in line]
        self.tools = stub_indexer(where / "bin", SPY.format(dump=self.dump))

    def runner(self, path: Path, event: str, options: str = "--allow-degraded", **environment: str) -> Runner:
        """What a caller would give, to the action also where it should not."""
        inputs = {
            "remote": self.team.url, "build-options": options,
            "public-key": (self.team.where / "key.pub").read_text(),
        }  # fmt: skip
        secrets = {"signing-key": self.key, "access-key-id": "", "secret-access-key": ""}
        if path == ACTION:
            inputs, secrets = {**inputs, "signing-key": self.key}, {}
        machine = {
            "PATH": f"{self.tools}:{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
            **environment,
        }
        started = Event(event, self.repo.git("rev-parse", "HEAD"), repository={"default_branch": "main"})
        return Runner(self.where / "run", self.repo.root, started, inputs, secrets, machine)

    def run(self, path: Path, event: str, options: str = "--allow-degraded", **environment: str) -> list[Ran]:
        return self.runner(path, event, options, **environment).run(path)

    def holds_key(self, text: str) -> bool:
        return any(line in text for line in self.secret_lines)

    def steps_with_key(self, ran: list[Ran]) -> list[str]:
        return [one.step for one in ran if self.holds_key("\n".join(one.environment.values()))]


@pytest.fixture
def attack(tmp_path: Path) -> Attack:
    return Attack(tmp_path)


def test_the_trap_works(attack: Attack):
    """What the steps once were: pip as a module, in the checkout, with the key in every environment."""
    line = [sys.executable, "-m", "pip", "--version"]
    stolen = {**os.environ, "GITINDEX_SIGNING_KEY": attack.key}
    subprocess.run(line, cwd=attack.repo.root, env=stolen, capture_output=True, check=False)
    assert attack.hostile.imported() != []
    assert attack.holds_key(attack.hostile.loot)


@pytest.mark.parametrize("path", [ACTION, WORKFLOW], ids=["action", "workflow"])
def test_a_push_signs_in_one_step_and_runs_nothing_of_the_checkout(path: Path, attack: Attack):
    """RE-14, CF-4: an indexer runs, and finds the key neither in its environment nor in that of a process above it."""
    ran = attack.run(path, "push")
    assert attack.hostile.imported() == []
    assert [(one.step, one.err) for one in ran if one.code] == []
    assert attack.steps_with_key(ran) == ["Push"]
    assert ran[-1].step == "Push"
    assert not attack.holds_key(attack.dump.read_text()), "the spy ran"
    if path == WORKFLOW:
        machines = {one.step: one.job for one in ran}
        assert machines["Build"] != machines["Push"], "indexers and the key on different machines"


@pytest.mark.parametrize("event", FOREIGN)
def test_code_that_is_not_merged_gets_no_key(event: str, attack: Attack):
    """RE-14: the action only builds; even where the caller hands it the key, as `pull_request_target` can."""
    ran = attack.run(ACTION, event)
    assert attack.hostile.imported() == []
    assert [(one.step, one.err) for one in ran if one.code] == []
    assert "Build" in [one.step for one in ran]
    assert attack.steps_with_key(ran) == []
    assert not attack.holds_key(attack.dump.read_text())
    assert not (attack.where / "remote").exists()


@pytest.mark.parametrize("event", [*MERGED, *FOREIGN])
def test_files_and_command_agree_on_events(event: str, attack: Attack):
    """RE-14: the conditions in YAML, and `gitindex push` behind them."""
    contexts = {
        "github": {"event_name": event, "event": {}},
        "inputs": {"push": "true", "signing-key": "x"},
    }
    push = next(step for step in steps(ACTION) if step["name"] == "Push")
    guarded = [*jobs(WORKFLOW).values(), *jobs(OIDC).values(), push]
    assert {holds(one["if"], contexts) for one in guarded} == {event in MERGED}
    with nullcontext() if event in MERGED else pytest.raises(PublishBlocked):
        check_event(replace(attack.team.ci, event=event))


@pytest.mark.parametrize("event", FOREIGN)
def test_the_workflow_does_nothing_for_code_that_is_not_merged(event: str, attack: Attack):
    """RE-14"""
    assert attack.run(WORKFLOW, event) == []


@pytest.mark.parametrize("name", ["GITINDEX_SIGNING_KEY", "GITINDEX_SIGNING_KEY_FILE"])
def test_a_key_in_the_environment_of_the_job_is_refused(name: str, attack: Attack):
    """RE-14: every step could read it, those of the caller too."""
    [first] = attack.run(ACTION, "push", **{name: attack.key})
    assert first.code == 1
    assert "signing-key" in first.out
    assert not attack.holds_key(first.out + first.err)


def test_the_action_does_not_mix_project_code_and_the_key(attack: Attack):
    """RE-14: project code can leave a process behind that waits for the step with the key."""
    [first] = attack.run(ACTION, "push", "--full --allow-project-code")
    assert first.code == 1
    assert "workflow" in first.out
