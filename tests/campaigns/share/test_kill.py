"""RE-2, RE-3, RE-6: `kill -9` at every step of push and fetch leaves the old or the new, and a retry works."""

from __future__ import annotations

import signal

import pytest

from gitindex.lifecycle import gc
from gitindex.ops.codebase import open_codebase
from gitindex.store import steps
from tests.campaigns.share.crashing import kill_at
from tests.campaigns.share.team import Team
from tests.support import harness

# A fetch ends in a publish, of the snapshot as it came or of local changes on top: both belong to the campaign.
CAMPAIGN = {
    "push": steps.REMOTE_STEPS["push"],
    "fetch": (
        *steps.REMOTE_STEPS["fetch"],
        *("publish.manifest", "publish.preflight", "publish.gate", "publish.swap", "publish.state"),
    ),
    "catch up": ("fetch.installed", "publish.flush", "publish.install", "publish.manifest", "publish.swap"),
}
QUICK = {("push", "push.manifest"), ("fetch", "publish.swap"), ("catch up", "publish.swap")}
CASES = [
    pytest.param(verb, step, marks=() if (verb, step) in QUICK else pytest.mark.slow)
    for verb, names in CAMPAIGN.items()
    for step in names
]


def test_every_remote_step_has_a_crash_test():
    listed = {name for names in steps.REMOTE_STEPS.values() for name in names}
    assert listed <= {step for names in CAMPAIGN.values() for step in names}


@pytest.mark.parametrize(("verb", "step"), CASES)
def test_kill_leaves_old_or_new(team: Team, verb: str, step: str):
    team.publish()
    repo = team.clone()
    team.trust(repo)
    team.fetch(repo)
    old = team.digest(repo)
    team.commit("B", **{"b.py": "def beta(): pass\n", "new.py": "def new(): pass\n"})
    team.build()
    if verb != "push":
        team.push()
        repo.git("pull", "-q")
    if verb == "catch up":
        repo.write("mine.py", "def mine(): pass\n")
    assert kill_at(step, verb, team, repo) == -signal.SIGKILL, f"{verb} never reached {step}"
    if verb == "push":
        repo.git("pull", "-q")
        published = [
            team.names.parse_manifest_key(one.key) for one in team.transport.list(team.names.manifests_prefix)
        ]
        assert (repo.git("rev-parse", "HEAD") in published) == (step == "push.done")
        assert team.push().status == "ok"
    else:
        assert team.digest(repo) in (old, team.clean(repo))
    done = team.fetch(repo)
    assert done.base_commit == repo.git("rev-parse", "HEAD")
    assert team.digest(repo) == team.clean(repo)
    layout = open_codebase(repo.root, team.mate).layout
    gc.collect(layout, now=harness.LATER)
    assert list(layout.staging.iterdir()) == []
    assert team.digest(repo) == team.clean(repo)


def test_what_a_killed_fetch_downloaded_is_not_downloaded_again(team: Team):
    team.publish()
    repo = team.clone()
    team.trust(repo)
    assert kill_at("fetch.staged", "fetch", team, repo) == -signal.SIGKILL
    done = team.fetch(repo)
    assert done.objects["downloaded"] == 0
    assert done.objects["reused"] > 10
    assert team.digest(repo) == team.clean(repo)
