"""RE-5: an id can be claimed, so a yes counts in the clone where it was said, and a change is shown as one."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gitindex.errors import Untrusted
from gitindex.ops.sharing import trusted_keys
from gitindex.ops.sharing.build import build
from gitindex.ops.sharing.build_options import BuildOptions
from gitindex.ops.sharing.push import PushOptions, push
from gitindex.ops.sharing.trusted_keys import PinRequest
from gitindex.trust import keys
from tests.campaigns.share.team import RESTLESS, Team, pinned
from tests.support import harness
from tests.support.gitrepo import GitRepo


@dataclass(frozen=True)
class Fork:
    """Somebody's fork: upstream's history, a remote and a key of its own, both proposed in its own file."""

    team: Team
    origin: GitRepo
    url: str
    key: str

    @classmethod
    def create(cls, team: Team) -> Fork:
        key = keys.generate(team.where / "evil", "ci of our team")
        url = (team.where / "evil-remote").as_uri()
        origin = team.clone("fork-origin")
        line = (team.where / "evil.pub").read_text().strip()
        proposal = f'[remote]\nurl = "{url}"\nkeys = ["{line}"]\nrepository = "{team.repository}"\n'
        origin.commit("propose", **{".gitindex.toml": proposal})
        return cls(team, origin, url, key.id)

    def clone(self, name: str, *options: str) -> GitRepo:
        where = self.team.where / name
        subprocess.run(["git", "clone", "-q", *options, self.origin.root.as_uri(), str(where)], check=True)
        return GitRepo(where)

    def poison(self, commit: str) -> None:
        """Publish a snapshot of upstream's own commit, signed by the fork's key alone."""
        evil = replace(self.team.ci, signing_key_file=str(self.team.where / "evil"), remote=self.url)
        build(self.team.origin.root, evil, BuildOptions(commit, exact_facts=False, workers=1))
        push(self.team.origin.root, evil, PushOptions(rev=commit, patience=RESTLESS))


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    made = Team.create(tmp_path, (tmp_path / "remote").as_uri())
    made.publish()
    monkeypatch.setenv("GITINDEX_HOME", str(made.mate.home))
    return made


@pytest.fixture
def fork(team: Team) -> Fork:
    return Fork.create(team)


def say_yes(repo: GitRepo) -> harness.Ran:
    ran = harness.cli("trust", "add", "--proposed", "--yes", "--path", str(repo.root))
    assert ran.code == 0, ran.err
    return ran


@pytest.mark.parametrize("options", [(), ("--depth=1",)], ids=["full", "shallow"])
def test_a_yes_in_a_fork_changes_nothing_upstream(team: Team, fork: Fork, options: tuple[str, ...]):
    """RE-5: it replaced upstream's remote and added the fork's key, because both have the same id."""
    upstream = team.clone("upstream")
    team.trust(upstream, remote=team.url)
    before = pinned(team, upstream)
    clone = fork.clone("fork", *options)
    assert trusted_keys.read_trust(clone.root, team.mate).repository == team.repository, "the id is claimed"
    say_yes(clone)
    assert fork.key in {entry.key.id for entry in pinned(team, clone).trusted}
    assert pinned(team, upstream) == before
    fork.poison("HEAD")
    with pytest.raises(Untrusted, match="is pinned"):
        team.fetch(upstream, replace(team.mate, remote=fork.url))
    assert team.fetch(upstream).signer == keys.load_public(team.where / "key.pub").id


def test_a_yes_in_a_fork_first_vouches_for_nothing_upstream_later(team: Team, fork: Fork):
    """RE-5: the order does not matter; a clone without a pin trusts nobody."""
    say_yes(fork.clone("fork"))
    fork.poison("HEAD")
    upstream = team.clone("upstream")
    with pytest.raises(Untrusted, match="no key is trusted"):
        team.fetch(upstream, replace(team.mate, remote=fork.url))


def test_a_change_is_shown_with_old_and_new(team: Team, fork: Fork):
    """RE-5: both remotes and both fingerprints, before the question is asked; where the old ones are used, too."""
    upstream = team.clone("upstream")
    team.trust(upstream, remote=team.url)
    shown = say_yes(fork.clone("fork")).err
    changes = [line for line in shown.splitlines() if line.startswith("CHANGE")]
    upstream_key = keys.load_public(team.where / "key.pub").id
    assert any(team.url in line and fork.url in line for line in changes)
    assert any(upstream_key in line and fork.key in line for line in changes)
    assert all((upstream.root / ".git").as_uri() in line for line in changes)


def test_a_change_in_the_same_clone_is_shown_too(team: Team, fork: Fork):
    """RE-5: a branch of the fork checked out in upstream's clone."""
    upstream = team.clone("upstream")
    team.trust(upstream, remote=team.url)
    upstream.git("pull", "-q", str(fork.origin.root), "HEAD")
    shown = say_yes(upstream).err
    assert f'CHANGE  remote: "{team.url}" -> "{fork.url}"' in shown


def test_the_place_of_a_deleted_fork_vouches_for_nothing(team: Team, fork: Fork):
    """RE-5: upstream cloned to where a trusted fork was."""
    say_yes(fork.clone("project"))
    shutil.rmtree(team.where / "project")
    fork.poison("HEAD")
    upstream = team.clone("project")
    with pytest.raises(Untrusted, match="no key is trusted"):
        team.fetch(upstream, replace(team.mate, remote=fork.url))


def test_a_copied_mark_vouches_for_nothing(team: Team, fork: Fork):
    """RE-5: a directory that brings its own .git with the mark of another clone."""
    trusted = fork.clone("fork")
    say_yes(trusted)
    other = team.clone("other")
    other.git("config", "gitindex.clone", trusted.git("config", "gitindex.clone"))
    assert trusted_keys.read_trust(other.root, team.mate).scope == "none"
    team.trust(other, remote=team.url)
    assert fork.key not in {entry.key.id for entry in pinned(team, other).trusted}
    assert fork.key in {entry.key.id for entry in pinned(team, trusted).trusted}


def test_worktrees_of_a_clone_share_its_pin(team: Team):
    """RE-5."""
    upstream = team.clone("upstream")
    team.trust(upstream)
    upstream.git("worktree", "add", "-q", str(team.where / "second"))
    assert team.fetch(GitRepo(team.where / "second")).status == "ok"


def test_all_clones_are_meant_only_when_said(team: Team, fork: Fork):
    """RE-5: `--all-clones` reaches clones without a pin, and takes nothing from one that has its own."""
    first, second = team.clone("first"), team.clone("second")
    team.trust(first, remote=team.url)
    before = pinned(team, first)
    assert trusted_keys.read_trust(second.root, team.mate).scope == "none"
    wish = PinRequest(trusted_keys.load_keys([team.where / "evil.pub"]), fork.url)
    trusted_keys.add(fork.clone("fork").root, team.mate, wish, all_clones=True)
    assert trusted_keys.read_trust(second.root, team.mate).scope == "all_clones"
    assert pinned(team, first) == before


def test_a_revocation_holds_in_every_clone(team: Team):
    """RE-5: revoked in one, refused in all, and in those made later."""
    first, second = team.clone("first"), team.clone("second")
    for repo in (first, second):
        team.trust(repo)
    key = keys.load_public(team.where / "key.pub")
    trusted_keys.revoke(first.root, team.mate, key.id)
    for repo in (first, second, team.clone("third")):
        assert key.id in {entry.id for entry in pinned(team, repo).revoked}
        with pytest.raises(Untrusted):
            team.fetch(repo)
