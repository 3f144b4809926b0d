"""RE-5, RE-6: another user's list of trusted keys is not believed, and one bad entry spoils no other."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gitindex.errors import ConfigError, GitindexError, Untrusted
from gitindex.ops.sharing import trusted_keys
from gitindex.ops.sharing.trusted_keys import PinRequest
from tests.campaigns.share.team import Team, pinned
from tests.support import harness
from tests.support.gitrepo import GitRepo

SOMEBODY = 12345


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    made = Team.create(tmp_path, (tmp_path / "remote").as_uri())
    made.publish()
    monkeypatch.setenv("GITINDEX_HOME", str(made.mate.home))
    monkeypatch.setenv("GITINDEX_REMOTE", made.url)
    return made


@pytest.fixture
def mate(team: Team) -> GitRepo:
    repo = team.clone()
    team.trust(repo)
    return repo


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path belongs to another user; only root can really make it so, for others we are somebody else."""
    if os.geteuid() == 0:
        os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)


def refused(team: Team, mate: GitRepo, why: str) -> None:
    """By name, with a next step, and with nothing published (RE-6); no answer vouches by it either."""
    before = team.store()
    with pytest.raises(Untrusted, match=why) as caught:
        team.fetch(mate)
    assert caught.value.hint
    assert team.store() == before
    for command in (("fetch",), ("trust", "list"), ("trust", "add", str(team.where / "key.pub"))):
        ran = harness.cli(*command, "--json", "--path", str(mate.root))
        assert (ran.code, ran.json["error"]["code"]) == (5, "untrusted")


def test_a_list_of_another_user(team: Team, mate: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """RE-5: a shared GITINDEX_HOME with somebody's readable trust.json, which was believed."""
    file = team.mate.home / "trust.json"
    file.chmod(0o644)
    give_away(file, monkeypatch)
    refused(team, mate, "belongs to another user")


def test_a_folder_of_another_user(team: Team, mate: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """RE-5: its owner can replace what is in it."""
    give_away(team.mate.home, monkeypatch)
    refused(team, mate, "belongs to another user")


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777])
def test_a_folder_that_others_may_write(team: Team, mate: GitRepo, mode: int):
    """RE-5."""
    team.mate.home.chmod(mode)
    refused(team, mate, "can be written by others")


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_list_that_others_may_write(team: Team, mate: GitRepo, mode: int):
    """RE-5."""
    (team.mate.home / "trust.json").chmod(mode)
    refused(team, mate, "can be written by others")


def test_a_link_to_a_list(team: Team, mate: GitRepo):
    """RE-5: a link is not followed, even to a file of the user's own."""
    file = team.mate.home / "trust.json"
    file.rename(team.where / "elsewhere.json")
    file.symlink_to(team.where / "elsewhere.json")
    refused(team, mate, "is a link")


def test_a_pipe_in_place_of_the_list_keeps_nobody_waiting(team: Team, mate: GitRepo):
    """RE-5."""
    file = team.mate.home / "trust.json"
    file.unlink()
    os.mkfifo(file, 0o600)
    refused(team, mate, "is no ordinary file")


def test_a_folder_planted_as_a_link(team: Team, mate: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """RE-5: somebody else's link; the user's own is fine."""
    home = team.mate.home
    home.rename(team.where / "real")
    home.symlink_to(team.where / "real")
    assert pinned(team, mate).trusted, "a home that the user moved"
    give_away(home, monkeypatch)
    refused(team, mate, "belongs to another user")


def test_answers_do_not_vouch_by_another_user_s_list(
    team: Team, mate: GitRepo, monkeypatch: pytest.MonkeyPatch
):
    """RE-5, QU-6."""
    team.fetch(mate)

    def verified() -> bool:
        return harness.cli("status", "--json", "--path", str(mate.root)).json["trust"]["verified"]

    assert verified()
    give_away(team.mate.home / "trust.json", monkeypatch)
    assert not verified()


def test_a_fetch_that_cannot_remember_publishes_nothing(team: Team, mate: GitRepo):
    """RE-6: it published first and failed then."""
    (team.mate.home / "trust.json.new").mkdir()
    before = team.store()
    with pytest.raises(ConfigError, match="cannot write") as failed:
        team.fetch(mate)
    assert failed.value.hint
    assert team.store() == before


@pytest.mark.parametrize("sign", ["\n", "\r", "\x1b[2J", "\u202e", "\u2028", "\u200b", " "])
def test_no_odd_url_gets_into_the_list(team: Team, mate: GitRepo, sign: str):
    """RE-5: a newline in a URL that somebody said yes to made the list unreadable for all repositories."""
    before = (team.mate.home / "trust.json").read_bytes()
    url = f"file:///a{sign}b"
    victim = GitRepo.create(team.where / "odd")
    victim.commit("propose", **{".gitindex.toml": f"[remote]\nurl = {json.dumps(url)}\n"})
    for more in (("--proposed", "--yes"), ("--remote", url)):
        ran = harness.cli("trust", "add", *more, "--path", str(victim.root))
        assert ran.code == 2
        assert sign == " " or sign not in ran.err.replace("\n  next: ", "").removesuffix("\n")
    with pytest.raises(GitindexError, match="no URL"):
        trusted_keys.add(mate.root, team.mate, PinRequest(remote=url))
    assert (team.mate.home / "trust.json").read_bytes() == before


def test_one_bad_entry_spoils_no_other(team: Team, mate: GitRepo):
    """RE-5: the list as an older release left it after such a yes."""
    file = team.mate.home / "trust.json"
    listed = json.loads(file.read_bytes())
    bad = {"remote": "file:///a\nb", "endpoint": "", "threshold": 1, "trusted": [], "revoked": []}
    listed["repositories"]["f" * 40] = bad
    listed["clones"]["f" * 32] = {"repository": "f" * 40, "where": 7, "pin": bad}
    file.write_text(json.dumps(listed))
    assert team.fetch(mate).status == "ok"
    kept = json.loads(file.read_bytes())
    assert kept["repositories"]["f" * 40] == bad, "it may hold a revocation"
    assert kept["clones"]["f" * 32]["where"] == 7
    assert pinned(team, mate).remote == team.url, "and the fetch could write"


def test_a_damaged_pin_of_this_clone_is_no_reason_to_use_another(team: Team, mate: GitRepo):
    """RE-5: falling back to the id's pin would lose what was revoked here."""
    trusted_keys.add(
        mate.root, team.mate, PinRequest(trusted_keys.load_keys([team.where / "key.pub"])), all_clones=True
    )
    file = team.mate.home / "trust.json"
    listed = json.loads(file.read_bytes())
    for clone in listed["clones"].values():
        clone["pin"]["threshold"] = 0
    file.write_text(json.dumps(listed))
    with pytest.raises(ConfigError, match="this clone is damaged"):
        team.fetch(mate)
