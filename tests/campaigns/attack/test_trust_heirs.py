"""RE-5: whoever stole a signing key cannot outlive its revocation by handing over to a key of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.errors import Untrusted, UsageError
from gitindex.ops.sharing import trusted_keys
from gitindex.trust import keys, pinfile, pinjson, pins
from gitindex.trust.pins import MAX_ROTATED, RepositoryTrust, TrustedKey
from gitindex.trust.revoked import is_revoked
from gitindex.trust.verify import verify
from tests.campaigns.share.team import Team, pinned
from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.trust.made import REPOSITORY, binding, signed, signing_key

TODAY = "2026-01-02"
TEAM, EVIL, WORSE, BOB = map(signing_key, ("team", "evil", "worse", "bob"))


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team.create(tmp_path, (tmp_path / "remote").as_uri())


@pytest.fixture
def mate(team: Team) -> GitRepo:
    """A teammate's clone that trusts the team's key and fetched once."""
    team.publish()
    repo = team.clone()
    team.trust(repo)
    team.fetch(repo)
    return repo


def hand_over(team: Team, mate: GitRepo, signer: str, heir: str) -> str:
    """Somebody who holds `signer` publishes a commit that hands over to a new key `heir`; the teammate fetches."""
    new = keys.generate(team.where / heir, heir)
    team.commit(f"to {heir}", **{f"{heir}.py": f"def {heir}(): pass\n"})
    thief = replace(team.ci, signing_key_file=str(team.where / signer))
    team.build(environment=thief)
    team.push(environment=thief, successors=(team.where / heir,))
    mate.git("pull", "-q")
    assert team.fetch(mate).rotated == (new.id,)
    return new.id


def publish_alone(team: Team, mate: GitRepo, signer: str) -> None:
    team.commit("poison", **{"poison.py": "def poison(): pass\n"})
    alone = replace(team.ci, signing_key_file=str(team.where / signer))
    team.build(environment=alone)
    team.push(environment=alone)
    mate.git("pull", "-q")


def test_a_stolen_key_s_heir_falls_with_it(team: Team, mate: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """RE-5: the thief's own key signs alone after the revocation; it installed, verified: true."""
    evil = hand_over(team, mate, "key", "evil")
    publish_alone(team, mate, "evil")
    assert team.fetch(mate).signer == evil
    trusted_keys.revoke(mate.root, team.mate, str(team.where / "key.pub"))
    monkeypatch.setenv("GITINDEX_HOME", str(team.mate.home))
    told = harness.cli("status", "--json", "--path", str(mate.root)).json["trust"]
    assert (told["signer"], told["verified"]) == (evil, False)
    before = team.store()
    with pytest.raises(Untrusted):
        team.fetch(mate)
    assert team.store() == before


def test_over_generations(team: Team, mate: GitRepo):
    """RE-5: an heir's heir falls too."""
    hand_over(team, mate, "key", "evil")
    worse = hand_over(team, mate, "evil", "worse")
    publish_alone(team, mate, "worse")
    known = trusted_keys.revoke(mate.root, team.mate, str(team.where / "key.pub"))
    assert worse in {entry.id for entry in known.trust.revoked}
    with pytest.raises(Untrusted):
        team.fetch(mate)


def test_an_heir_that_the_user_added_as_well_stands_on_its_own(team: Team, mate: GitRepo):
    """RE-5: added before the revocation, or after it once the user has looked."""
    evil = hand_over(team, mate, "key", "next")
    publish_alone(team, mate, "next")
    team.trust(mate, team.where / "next.pub")
    trusted_keys.revoke(mate.root, team.mate, str(team.where / "key.pub"))
    assert team.fetch(mate).signer == evil


def test_an_heir_that_fell_can_be_added_by_hand_and_a_revoked_key_cannot():
    """RE-5."""
    trusted = pins.rotate(
        pins.add_key(RepositoryTrust(), TEAM.public, TODAY), _handing_over(TEAM, EVIL), TODAY
    )
    fallen = pins.revoke_key(trusted, TEAM.public.id, TODAY)
    assert fallen.policy.usable_keys == ()
    assert pins.rotate(fallen, _handing_over(TEAM, EVIL), TODAY) == fallen, "not by another rotation"
    assert pins.add_key(fallen, EVIL.public, TODAY).policy.usable_keys == (EVIL.public,)
    named = pins.revoke_key(fallen, EVIL.public.id, TODAY)
    with pytest.raises(UsageError, match="revoked"):
        pins.add_key(named, EVIL.public, TODAY)


def test_a_revocation_between_verification_and_adoption_wins():
    """RE-5: whatever the order. The claim was verified, then the signer revoked, then the heir adopted."""
    trusted = pins.add_key(pins.add_key(RepositoryTrust(), TEAM.public, TODAY), BOB.public, TODAY)
    verified = verify(signed(TEAM, EVIL, successors=(EVIL.public,)), trusted.policy, binding())
    revoked = pins.revoke_key(trusted, TEAM.public.id, TODAY)
    assert pins.rotate(revoked, verified, TODAY).policy.usable_keys == (BOB.public,)


def test_one_revoked_introducer_of_several_is_enough():
    """RE-5: every key that the revoked one introduced."""
    trusted = pins.add_key(pins.add_key(RepositoryTrust(), TEAM.public, TODAY), BOB.public, TODAY)
    verified = verify(signed(TEAM, BOB, EVIL, successors=(EVIL.public,)), trusted.policy, binding())
    rotated = pins.rotate(trusted, verified, TODAY)
    assert EVIL.public in rotated.policy.usable_keys
    assert pins.revoke_key(rotated, TEAM.public.id, TODAY).policy.usable_keys == (BOB.public,)


def old_file(tmp_path: Path, *revoked: str) -> Path:
    """What the release before wrote: nobody knows who introduced a key."""
    path = tmp_path / "conf" / "trust.json"
    path.parent.mkdir(mode=0o700)
    entry = {
        "remote": "",
        "endpoint": "",
        "threshold": 1,
        "trusted": [
            {"key": key.public.line, "added": TODAY, "by_rotation": rotated}
            for key, rotated in ((TEAM, False), (BOB, False), (EVIL, True))
            if key.public.id not in revoked
        ],
        "revoked": [{"id": one, "comment": "", "revoked": TODAY} for one in revoked],
    }
    path.write_text(json.dumps({"version": 1, "repositories": {REPOSITORY: entry}}))
    path.chmod(0o600)
    return path


def test_an_heir_of_unknown_origin_falls_with_any_revocation(tmp_path: Path):
    """RE-5: a file from before introductions were recorded is read, and decided on the safe side."""
    path = old_file(tmp_path)
    assert EVIL.public in pinfile.load(path).trust_for(REPOSITORY).policy.usable_keys
    pinfile.revoke(path, REPOSITORY, TEAM.public.id, TODAY)
    assert pinfile.load(path).trust_for(REPOSITORY).policy.usable_keys == (BOB.public,)


def test_an_old_file_with_a_revocation_trusts_no_heir(tmp_path: Path):
    """RE-5: who was attacked before the upgrade is safe after it; answers say so too."""
    path = old_file(tmp_path, TEAM.public.id)
    assert pinfile.load(path).trust_for(REPOSITORY).policy.usable_keys == (BOB.public,)
    assert is_revoked(EVIL.public.id, path.read_bytes())
    assert not is_revoked(BOB.public.id, path.read_bytes())


def test_the_chain_is_shown(team: Team, mate: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """RE-5: `trust list` and `trust revoke` say who introduced whom."""
    team_id = keys.load_public(team.where / "key.pub").id
    evil = hand_over(team, mate, "key", "evil")
    monkeypatch.setenv("GITINDEX_HOME", str(team.mate.home))
    here = ("--path", str(mate.root))
    listed = harness.cli("trust", "list", *here).out
    assert f"handed over by {team_id} ci" in next(line for line in listed.splitlines() if evil in line)
    revoked = harness.cli("trust", "revoke", team_id, *here).out
    assert f"introduced by {team_id} ci" in next(line for line in revoked.splitlines() if evil in line)
    data = harness.cli("trust", "list", *here, "--json").json
    assert {entry["id"]: entry["through"] for entry in data["revoked"]} == {team_id: "", evil: team_id}
    assert data["trusted"] == []


def test_a_thief_cannot_fill_the_list(tmp_path: Path):
    """RE-5: with as many heirs as are accepted, the next is refused by name and a revocation still fits."""
    heirs = [signing_key(f"heir {number}") for number in range(MAX_ROTATED)]
    full = RepositoryTrust(
        trusted=(
            TrustedKey(TEAM.public, TODAY),
            *(TrustedKey(key.public, TODAY, False, (TEAM.public.id,)) for key in heirs),
        )
    )
    with pytest.raises(Untrusted, match="more keys"):
        pins.rotate(full, _handing_over(TEAM, EVIL), TODAY)
    path = tmp_path / "conf" / "trust.json"
    pinfile.update(path, REPOSITORY, lambda _: full)
    pinfile.revoke(path, REPOSITORY, TEAM.public.id, TODAY)
    assert pinjson.decode(path.read_bytes()).trust_for(REPOSITORY).policy.usable_keys == ()


def test_an_introduction_is_remembered(team: Team, mate: GitRepo):
    """RE-5: the file keeps it, so that a revocation years later reaches it."""
    hand_over(team, mate, "key", "evil")
    entry = pinned(team, mate).trusted[1]
    assert (entry.by_hand, entry.introduced_by) == (False, (keys.load_public(team.where / "key.pub").id,))


def _handing_over(signer, heir):
    policy = pins.add_key(RepositoryTrust(), signer.public, TODAY).policy
    return verify(signed(signer, heir, successors=(heir.public,)), policy, binding())
