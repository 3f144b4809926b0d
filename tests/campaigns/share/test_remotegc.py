"""RE-7: two phases, and nothing that a kept manifest references."""

from __future__ import annotations

import pytest

from gitindex.errors import UsageError
from gitindex.ops.sharing.remote_gc import remote_gc
from tests.campaigns.share.team import Team
from tests.support import harness


def collect(team: Team, **options):
    return remote_gc(team.origin.root, team.ci, **{"keep": 1, "days": 0, "grace": 0.0, **options})


def test_unwanted_snapshots_go_in_two_runs(anywhere: Team):
    team = anywhere
    for number in range(3):
        team.commit(f"{number}", **{"b.py": f"def beta(): return {number}\n"})
        team.build(full=True)
        team.push()
    repo = team.clone()
    team.trust(repo)
    dry = collect(team, dry_run=True)
    assert (dry.manifests, dry.objects["deleted"]) == ({"kept": 1, "dropped": 2}, 0)
    first = collect(team)
    assert (first.manifests["dropped"], first.objects["deleted"]) == (2, 0)
    assert first.objects["condemned"] > 0
    second = collect(team)
    assert second.objects["deleted"] + second.objects["condemned"] >= first.objects["condemned"]
    team.fetch(repo)
    assert team.digest(repo) == team.clean(repo)


def test_young_and_wanted_manifests_stay(team: Team):
    team.publish()
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    team.publish()
    assert collect(team, days=1).manifests == {"kept": 2, "dropped": 0}
    assert collect(team, keep=10).manifests == {"kept": 2, "dropped": 0}
    assert collect(team, grace=86400.0).objects["condemned"] == 0


def test_a_push_between_the_runs_keeps_what_it_needs(team: Team):
    team.publish()
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    team.build(full=True)
    team.push()
    collect(team)
    team.push("HEAD~1")
    collect(team, keep=10)
    repo = team.clone()
    team.trust(repo)
    repo.git("checkout", "-q", "HEAD~1")
    assert team.fetch(repo).distance == 0
    assert team.digest(repo) == team.clean(repo)


def test_a_shallow_clone_may_not_collect(team: Team, monkeypatch: pytest.MonkeyPatch):
    team.publish()
    repo = team.clone("shallow", "--depth=1")
    with pytest.raises(UsageError, match="shallow"):
        remote_gc(repo.root, team.ci)
    monkeypatch.setenv("GITINDEX_HOME", str(team.ci.home))
    ran = harness.cli(
        "remote", "gc", "--dry-run", "--to", team.url, "--path", str(team.origin.root), "--json"
    )
    assert (ran.code, ran.json["manifests"]["kept"]) == (0, 1)
