"""RE-1, RE-2, RE-3: after a force push no ancestor is published; what the branch left behind saves the work, not more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitindex.errors import RemoteMissing, Untrusted, UsageError
from gitindex.git.repo import discover
from gitindex.lifecycle import compact
from gitindex.ops.sharing import build_base
from gitindex.ops.sharing.build_area import find_build, open_build_area
from gitindex.trust import keys
from tests.campaigns.share.team import Team, unpacked
from tests.support.gitrepo import GitRepo

GONE = "MARKER_rewritten_8e21"


def rewrite(team: Team, **files: str) -> tuple[str, GitRepo]:
    """The published tip is replaced by another commit, and a fresh runner clones: (the old tip, the clone)."""
    old = team.commit("published", **{"c.py": "def gamma():\n    return 3\n", **files})
    team.publish()
    team.origin.git("reset", "-q", "--hard", "HEAD~1")
    team.commit("rewritten", **{"c.py": "def gamma():\n    return 3\n"})
    return old, team.clone("runner")


def on_runner(team: Team, repo: GitRepo, home: str = "ci2") -> Team:
    """The CI role in a clone and a home of its own."""
    return replace(team, origin=repo, where=_home(team, home))


def _home(team: Team, name: str):
    where = team.where / name
    where.mkdir()
    for file in ("key", "key.pub"):
        (where / file).write_bytes((team.where / file).read_bytes())
    return where


def test_what_the_branch_left_behind_saves_the_work(team: Team):
    """RE-1: the clone does not even have that commit; its signature is what vouches for it."""
    old, repo = rewrite(team, **{"secret.py": f"{GONE} = '{GONE}'\n"})
    runner = on_runner(team, repo)
    before = set(team.objects())
    made = runner.build()
    assert (made.base, made.base_commit) == ("published", old)
    assert made.changes == {"add": 0, "modify": 0, "delete": 1, "rename": 0}
    assert "no ancestor" in made.note
    runner.push()
    new = {key: data for key, data in team.objects().items() if key not in before}
    assert new
    assert not any(GONE.encode() in data + unpacked(data) for data in new.values())
    mate = team.clone()
    team.trust(mate)
    done = team.fetch(mate)
    assert (done.distance, done.objects["reused"]) == (0, 0)
    assert team.digest(mate) == team.clean(mate)
    fetched = [file.read_bytes() for file in (team.mate.home / "data").rglob("*") if file.is_file()]
    assert not any(GONE.encode() in data or b"secret" in data for data in fetched), "nor words, nor paths"


def test_segments_are_shared_when_all_they_hold_is_in_the_tree(team: Team):
    """RE-1: another message, another time, the same content: what is published already is not uploaded again."""
    old, repo = rewrite(team)
    runner = on_runner(team, repo)
    assert runner.build().base_commit == old
    done = runner.push()
    assert done.objects["reused"] > 0
    mate = team.clone()
    team.trust(mate)
    team.fetch(mate)
    assert team.digest(mate) == team.clean(mate)


def test_a_build_that_was_killed_before_it_was_pure_is_not_pushed(
    team: Team, monkeypatch: pytest.MonkeyPatch
):
    """RE-2"""
    _, repo = rewrite(team, **{"secret.py": f"{GONE} = '{GONE}'\n"})
    runner = on_runner(team, repo)

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(compact, "detach", die)
        with pytest.raises(KeyboardInterrupt):
            runner.build()
    with pytest.raises(UsageError, match="was not built here"):
        runner.push()
    assert runner.build().base == "published"
    codebase, at = open_build_area(repo.root, runner.ci, "HEAD")
    assert find_build(codebase, at.commit or "").tombstone_count == 0


def test_an_ancestor_is_better_than_a_newer_stranger(team: Team):
    """RE-1, RE-3"""
    first = team.build().commit
    team.push()
    old, repo = rewrite(team)
    runner = on_runner(team, repo)
    made = runner.build()
    assert made.base_commit == first != old


def test_an_ancestor_that_is_too_far_to_ask_for_is_still_one(team: Team, monkeypatch: pytest.MonkeyPatch):
    """RE-1: it is found in the listing, and what it holds is the commit's own history."""
    first = team.publish().commit
    for number in range(3):
        team.commit(f"{number}", **{"a.py": f"A = {number}\n"})
    monkeypatch.setattr(build_base, "DEPTH", 2)
    runner = on_runner(team, team.clone("runner"))
    made = runner.build()
    assert (made.base_commit, made.segments, made.note) == (first, 2, "")
    assert runner.push().objects["reused"] > 0


def test_a_forged_snapshot_elsewhere_is_no_base(team: Team):
    """RE-4: without the commit here the signature still has to be a trusted one, and about the very commit."""
    old, repo = rewrite(team)
    runner = on_runner(team, repo)
    fingerprint = open_build_area(repo.root, runner.ci, "HEAD")[0].fingerprint
    transport, names = team.transport, team.names
    genuine = team.objects()[names.manifest_key(fingerprint, old)]
    transport.delete(names.manifest_key(fingerprint, old))
    transport.put(names.manifest_key(fingerprint, "1" * 40), genuine)
    made = runner.build()
    assert (made.base, made.base_commit) == ("none", None)
    assert "signed commit" in made.note
    transport.delete(names.manifest_key(fingerprint, "1" * 40))
    transport.put(names.manifest_key(fingerprint, old), genuine)
    keys.generate(runner.where / "other", "stranger")
    stranger = replace(runner.ci, home=team.where / "ci3", signing_key_file=str(runner.where / "other"))
    made = runner.build(environment=stranger)
    assert made.base == "none"
    assert "too few trusted keys" in made.note


def test_a_fresh_clone_fetches_what_is_nearest(team: Team):
    """RE-3: nothing of the rewritten branch is published yet. With an index here a sync is nearer."""
    old, repo = rewrite(team)
    team.trust(repo)
    done = team.fetch(repo)
    assert (done.base_commit, done.distance) == (old, None)
    assert team.digest(repo) == team.clean(repo)
    repo.commit("mine", **{"mine.py": "x = 1\n"})
    with pytest.raises(RemoteMissing):
        team.fetch(repo)


def test_a_clone_that_has_the_commits_takes_the_nearest(team: Team):
    """RE-3: two snapshots of lines that were left; the older publication is nearer."""
    team.commit("base", **{"base.py": "x = 1\n"})
    team.origin.git("switch", "-q", "-c", "near")
    near = team.commit("near", **{"near.py": "x = 1\n"})
    team.build()
    team.push(branches=("near",))
    team.origin.git("switch", "-q", "-c", "far", "main~1")
    for number in range(3):
        team.commit(f"far {number}", **{f"far{number}.py": "x = 1\n"})
    team.build()
    team.push(branches=("far",))
    team.origin.git("switch", "-q", "main")
    repo = team.clone()
    assert discover(repo.root) is not None
    team.trust(repo)
    assert team.fetch(repo).base_commit == near
    assert team.digest(repo) == team.clean(repo)


def test_a_key_that_is_not_trusted_is_named_as_ever(team: Team):
    """RE-4: what was refused on the way is told when nothing serves."""
    _, repo = rewrite(team)
    keys.generate(team.where / "other", "stranger")
    team.trust(repo, team.where / "other.pub")
    with pytest.raises(Untrusted, match="too few trusted keys"):
        team.fetch(repo)
