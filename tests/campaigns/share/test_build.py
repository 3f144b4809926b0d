"""RE-1: a build is a function of the commit alone, and touches nothing of the user's."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from gitindex.errors import ConfigError, NotARepository, RemoteUnavailable
from gitindex.lifecycle import retention
from gitindex.lifecycle.digest import compute_digest
from gitindex.ops.sharing import build as building
from gitindex.ops.sharing.build import build
from gitindex.ops.sharing.build_area import find_build, open_build_area
from gitindex.ops.sharing.build_options import BuildOptions
from gitindex.store import manifests
from gitindex.store.integrity import Verifier
from gitindex.view.snapshot import SnapshotView
from tests.campaigns.share.team import Team, tree
from tests.support import harness
from tests.support.gitrepo import GitRepo


def digest_of_build(repo: GitRepo, environment, rev: str = "HEAD"):
    codebase, at = open_build_area(repo.root, environment, rev)
    with SnapshotView(
        codebase.layout, find_build(codebase, at.commit or ""), None, Verifier(codebase.layout)
    ) as view:
        return compute_digest(view)


def test_equals_a_clean_checkout(team: Team):
    repo = team.origin
    team.build()
    team.commit("B", **{"b.py": "def beta(): pass\n", ".gitindexignore": "pkg/\n"})
    repo.write("a.py", "def dirty(): pass\n")
    repo.write("untracked.py", "x = 1\n")
    repo.write(".gitindexignore", "a.py\n")
    team.build()
    clone = team.clone()
    assert digest_of_build(repo, team.ci) == team.clean(clone)


def test_settings_come_from_the_commit(team: Team):
    """`.gitindex.toml` of the working tree says nothing about a commit."""
    repo = team.origin
    team.commit("settings", **{".gitindex.toml": '[index]\nexclude = ["pkg/**"]\n'})
    repo.write(".gitindex.toml", "broken = [")
    made = team.build()
    assert made.skipped == {"excluded": 1}
    old = team.build("HEAD~1")
    assert old.skipped == {}
    assert old.config_fingerprint != made.config_fingerprint
    team.origin.git("checkout", "-q", "-f")
    team.commit("broken", **{".gitindex.toml": "[index]\nnonsense = 1\n"})
    with pytest.raises(ConfigError, match="nonsense"):
        team.build()


def test_bare_repositories(team: Team):
    bare = team.where / "bare.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(team.origin.root), str(bare)], check=True)
    made = build(bare, team.ci, BuildOptions(exact_facts=False, workers=1))
    assert made.counts["files"] == 4
    assert digest_of_build(GitRepo(bare), team.ci) == team.clean(team.clone())


def test_the_user_s_index_is_not_touched(team: Team):
    repo = team.origin
    environment = replace(team.ci, home=team.mate.home)
    harness.index(repo.root, team.mate.home)
    before = tree(team.mate.home / "data")
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    team.build(environment=environment)
    assert tree(team.mate.home / "data") == before


def test_the_base_is_the_nearest_ancestor(team: Team):
    repo = team.origin
    first = team.build().commit
    repo.git("switch", "-q", "-c", "topic")
    team.commit("topic", **{"topic.py": "x = 1\n"})
    team.build()
    repo.git("switch", "-q", "main")
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    made = team.build()
    assert (made.base, made.base_commit) == ("local", first)
    again = team.build()
    assert (again.noop, again.snapshot_id) == (True, made.snapshot_id)
    full = team.build(full=True)
    assert (full.base, full.noop, full.segments) == ("none", False, 1)
    assert digest_of_build(repo, team.ci) == team.clean(team.clone())


def test_a_damaged_local_build_is_not_a_base(team: Team):
    team.build()
    codebase, _ = open_build_area(team.origin.root, team.ci, "HEAD")
    victim = next(codebase.layout.segments.rglob("facts.sqlite"))
    victim.write_bytes(b"x" * victim.stat().st_size)
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    assert team.build().base == "none"
    assert digest_of_build(team.origin, team.ci) == team.clean(team.clone())


def test_a_failing_remote_only_costs_time(team: Team):
    broken = replace(team.ci, remote=(team.where / "no" / "where").as_uri())
    made = team.build(environment=broken)
    assert made.base == "none"
    assert "is not a directory" in made.note
    with pytest.raises(RemoteUnavailable):
        team.push(environment=broken)


def test_a_published_base_needs_a_trusted_signature(team: Team):
    """A runner without keys or pins does not build on strangers' bytes."""
    team.publish()
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    made = team.build(environment=replace(team.ci, home=team.where / "ci2", signing_key_file=""))
    assert made.base == "none"
    assert "no key is trusted" in made.note


def test_outside_a_repository(tmp_path, team: Team):
    (tmp_path / "plain").mkdir()
    with pytest.raises(NotARepository):
        build(tmp_path / "plain", team.ci)


def test_other_roots_do_not_change_the_repository_id(team: Team):
    """Merging another project adds a root commit; the first-parent line keeps its own."""
    name = team.build().repository
    repo = team.origin
    repo.git("switch", "-q", "--orphan", "other")
    repo.commit("other root", **{"other.py": "x = 1\n"})
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--allow-unrelated-histories", "-m", "merge", "other")
    assert team.build().repository == name


def test_builds_are_stores_too(team: Team, monkeypatch: pytest.MonkeyPatch):
    """ST-5: they are listed, and removed when nobody used them for long."""
    team.build()
    monkeypatch.setenv("GITINDEX_HOME", str(team.ci.home))
    (listed,) = harness.cli("stores", "--json", "--path", str(team.origin.root)).json["stores"]
    assert listed["store_id"].startswith("builds/")
    kept = harness.cli("gc", "--stores", "--json", "--path", str(team.origin.root)).json
    assert (kept["kept"], kept["removed"]) == ([listed["store_id"]], [])
    gone = harness.cli("gc", "--stores", "--days", "0", "--json", "--path", str(team.origin.root)).json
    assert gone["removed"] == [listed["store_id"]]
    assert gone["bytes_freed"] > 0
    assert harness.cli("stores", "--json", "--path", str(team.origin.root)).json["stores"] == []
    assert team.build().base == "none"


def test_builds_do_not_pile_up(team: Team, monkeypatch: pytest.MonkeyPatch):
    """SN-9: old builds go, those of the last ten minutes and the newest five stay."""
    monkeypatch.setattr(building, "MANY_BUILDS", 6)
    monkeypatch.setattr(retention, "KEEP_YOUNGER_MS", 0)
    for number in range(9):
        team.commit(f"{number}", **{"b.py": f"def beta(): return {number}\n"})
        team.build()
    layout = open_build_area(team.origin.root, team.ci, "HEAD")[0].layout
    assert len(manifests.list_ids(layout)) <= 7
    team.push()
