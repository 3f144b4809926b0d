"""Pins: the user's own list, per repository (RE-5)."""

from __future__ import annotations

import json
import os
import stat
import threading

import pytest

from gitindex.errors import ConfigError, Untrusted, UsageError
from gitindex.trust import pinfile, pins
from gitindex.trust.pins import Novelty, RepositoryTrust
from gitindex.trust.verify import ADD_KEY, verify
from tests.trust.made import REPOSITORY, binding, signed, signing_key

ALICE, BOB = signing_key("alice"), signing_key("bob")
TODAY = "2026-01-02"


def pinned(*keys) -> RepositoryTrust:
    trust = pins.set_remote(RepositoryTrust(), "s3://team/index", "https://s3.example")
    for key in keys:
        trust = pins.add_key(trust, key.public, TODAY)
    return trust


def test_file_round_trip_private_and_per_repository(tmp_path):
    path = tmp_path / "conf" / "trust.json"
    assert pinfile.load(path).trust_for(REPOSITORY) == RepositoryTrust()
    pinfile.update(path, REPOSITORY, lambda _: pins.revoke_key(pinned(ALICE, BOB), BOB.public.id, TODAY))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = pinfile.load(path).trust_for(REPOSITORY)
    assert [entry.key for entry in found.trusted] == [ALICE.public]
    assert found.trusted[0].key.comment == "alice"
    assert [(entry.id, entry.comment) for entry in found.revoked] == [(BOB.public.id, "bob")]
    assert pinfile.load(path).trust_for("another").trusted == ()


def test_a_failing_or_empty_change_leaves_the_file_alone(tmp_path):
    path = tmp_path / "trust.json"
    pinfile.update(path, REPOSITORY, lambda _: pinned(ALICE))
    before = path.stat()
    pinfile.update(path, REPOSITORY, lambda trust: pins.add_key(trust, ALICE.public, "2027-01-01"))
    with pytest.raises(UsageError):
        pinfile.update(path, REPOSITORY, lambda trust: pins.set_threshold(trust, 0))
    assert path.stat() == before
    assert sorted(os.listdir(tmp_path)) == ["home", "trust.json", "trust.json.lock"]


def test_concurrent_additions_all_land(tmp_path):
    """A lost update could lose a revocation."""
    path = tmp_path / "trust.json"
    made = [signing_key(str(number)).public for number in range(12)]
    work = [
        threading.Thread(
            target=pinfile.update, args=(path, REPOSITORY, lambda t, k=k: pins.add_key(t, k, TODAY))
        )
        for k in made
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert {entry.key for entry in pinfile.load(path).trust_for(REPOSITORY).trusted} == set(made)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"version":3,"repositories":{},"clones":{}}',
        b'{"version":1,"repositories":[]}',
        b'{"version":1,"repositories":{},"repositories":{}}',
        b'{"version":2,"repositories":{}}',
        b'{"version":2,"repositories":{},"clones":[]}',
    ],
)
def test_damage_is_an_error_never_an_empty_list(tmp_path, content):
    path = tmp_path / "trust.json"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="damaged"):
        pinfile.load(path)
    with pytest.raises(ConfigError):
        pinfile.update(path, REPOSITORY, lambda trust: trust)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "entry",
    [
        b'{"remote":"","endpoint":"","threshold":0,"trusted":[],"revoked":[]}',
        b'{"remote":"a\\nb","endpoint":"","threshold":1,"trusted":[],"revoked":[]}',
        b'{"remote":"","endpoint":"","threshold":1,"trusted":[{"key":"x","added":"2026-01-01","by_rotation":false}],'
        b'"revoked":[]}',
        b"7",
    ],
)
def test_a_damaged_entry_is_an_error_for_its_repository_alone(tmp_path, entry):
    """RE-5: the others are read and changed; the damaged one is kept as it is, because it may hold a revocation."""
    path = tmp_path / "trust.json"
    path.write_bytes(b'{"version":1,"repositories":{"r0":' + entry + b"}}")
    path.chmod(0o600)
    pinfile.update(path, REPOSITORY, lambda _: pinned(ALICE))
    found = pinfile.load(path)
    assert found.trust_for(REPOSITORY).policy.usable_keys == (ALICE.public,)
    assert json.loads(path.read_bytes())["repositories"]["r0"] == json.loads(entry)
    with pytest.raises(ConfigError, match="damaged"):
        found.trust_for("r0")
    with pytest.raises(ConfigError, match="damaged"):
        pinfile.update(path, "r0", lambda _: pinned(ALICE))


def test_a_file_others_may_write_is_not_trusted(tmp_path):
    path = tmp_path / "trust.json"
    pinfile.update(path, REPOSITORY, lambda _: pinned(ALICE))
    path.chmod(0o620)
    with pytest.raises(Untrusted, match="written by others"):
        pinfile.load(path)


def test_revocation_is_for_good():
    trust = pins.revoke_key(pinned(ALICE), ALICE.public.id, TODAY)
    assert trust.policy.usable_keys == ()
    with pytest.raises(UsageError, match="revoked"):
        pins.add_key(trust, ALICE.public, TODAY)
    assert pins.revoke_key(trust, ALICE.public.id, "2027-01-01") == trust


def test_leak_drill():
    """Key leak: revoke, re-sign with the new key; the old is refused, the new accepted."""
    trust = pins.add_key(pinned(ALICE), BOB.public, TODAY)
    trust = pins.revoke_key(trust, ALICE.public.id, TODAY)
    with pytest.raises(Untrusted, match="revoked"):
        verify(signed(ALICE), trust.policy, binding())
    assert verify(signed(BOB), trust.policy, binding()).signers == (BOB.public,)


def test_rotation_adopts_only_endorsed_keys():
    trust = pinned(ALICE)
    verified = verify(signed(ALICE, BOB, successors=(BOB.public,)), trust.policy, binding())
    rotated = pins.rotate(trust, verified, TODAY)
    assert [(entry.key, entry.by_rotation) for entry in rotated.trusted] == [
        (ALICE.public, False),
        (BOB.public, True),
    ]
    assert verify(signed(BOB), rotated.policy, binding()).signers == (BOB.public,)
    plain = verify(signed(ALICE, BOB), trust.policy, binding())
    assert pins.rotate(trust, plain, TODAY) == trust


def test_a_revoked_key_cannot_come_back_by_rotation():
    trust = pins.revoke_key(pinned(ALICE), BOB.public.id, TODAY)
    verified = verify(signed(ALICE, BOB, successors=(BOB.public,)), trust.policy, binding())
    assert pins.rotate(trust, verified, TODAY) == trust


def test_novelties_name_everything_that_needs_a_yes():
    """RE-5: a changed endpoint is confirmed like a changed key."""
    trust = pinned(ALICE)
    here = (trust.remote, trust.endpoint)
    assert pins.find_novelties(RepositoryTrust(), *here) == {Novelty.FIRST_USE}
    assert pins.find_novelties(trust, *here, [ALICE.public]) == frozenset()
    assert pins.find_novelties(trust, "s3://other/index", trust.endpoint) == {Novelty.REMOTE}
    assert pins.find_novelties(trust, trust.remote, "https://evil.example") == {Novelty.ENDPOINT}
    assert pins.find_novelties(trust, *here, [BOB.public]) == {Novelty.KEYS}


def test_require_refuses_before_any_contact():
    trust = pinned(ALICE)
    assert pins.require_policy(trust, trust.remote, trust.endpoint).usable_keys == (ALICE.public,)
    with pytest.raises(Untrusted) as caught:
        pins.require_policy(RepositoryTrust(), "s3://team/index")
    assert caught.value.hint == ADD_KEY
    with pytest.raises(Untrusted, match="pinned"):
        pins.require_policy(trust, trust.remote, "https://evil.example")
