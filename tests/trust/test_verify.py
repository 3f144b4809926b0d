"""The attack list at the level of one envelope: each is refused, each refusal says why (RE-4, RE-5)."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitindex.errors import IncompatibleVersion, Untrusted
from gitindex.trust import claim as claims
from gitindex.trust import envelope as envelopes
from gitindex.trust import strictjson
from gitindex.trust.verify import ADD_KEY, TrustPolicy, verify
from tests.trust.made import binding, signed, signing_key, snapshot_claim

ALICE, BOB, MALLORY = signing_key("alice"), signing_key("bob"), signing_key("mallory")
TRUST_ALICE = TrustPolicy((ALICE.public,))


def edited(data: bytes, **changes: object) -> bytes:
    return json.dumps({**json.loads(data), **changes}).encode()


def test_a_genuine_claim_is_trusted():
    found = verify(signed(ALICE), TRUST_ALICE, binding())
    assert found.claim == snapshot_claim()
    assert found.signers == (ALICE.public,)
    assert found.successors == ()


def test_pae_is_the_published_example():
    """The example of the DSSE specification, so that other tools can check our envelopes."""
    assert envelopes.pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_unknown_key_names_both_sides_and_the_next_command():
    """RE-5: which keys signed, which are trusted, what to run; exit 5."""
    with pytest.raises(Untrusted) as caught:
        verify(signed(MALLORY), TRUST_ALICE, binding())
    error = caught.value
    assert MALLORY.public.id in error.message
    assert ALICE.public.id in error.message
    assert error.hint == ADD_KEY
    assert error.exit_code == 5
    assert error.detail["signed_by"] == [MALLORY.public.id]
    assert error.detail["trusted"] == [ALICE.public.id]


def test_unsigned_is_refused():
    with pytest.raises(Untrusted, match="nobody"):
        verify(signed(), TRUST_ALICE, binding())
    with pytest.raises(Untrusted):
        verify(signed(ALICE), TrustPolicy(()), binding())
    with pytest.raises(Untrusted):
        verify(signed(), TrustPolicy((), threshold=0), binding())


def test_lying_key_id_neither_helps_nor_hurts():
    """A key id is a hint: Mallory under Alice's name is refused, Alice under Mallory's name is Alice."""
    lie = json.loads(signed(MALLORY))["signatures"]
    lie[0]["keyid"] = ALICE.public.id
    with pytest.raises(Untrusted):
        verify(edited(signed(MALLORY), signatures=lie), TRUST_ALICE, binding())
    odd = json.loads(signed(ALICE))["signatures"]
    odd[0]["keyid"] = MALLORY.public.id
    assert verify(edited(signed(ALICE), signatures=odd), TRUST_ALICE, binding()).signers == (ALICE.public,)


def test_edited_payload_and_type_are_refused():
    data = signed(ALICE)
    other = base64.b64encode(claims.encode(snapshot_claim(tree="e" * 40))).decode()
    with pytest.raises(Untrusted, match="too few"):
        verify(edited(data, payload=other), TRUST_ALICE, binding(tree="e" * 40))
    with pytest.raises(Untrusted, match="payload type"):
        verify(edited(data, payloadType="text/plain"), TRUST_ALICE, binding())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("repository", "r" + "1" * 39),
        ("commit", "a" * 40),
        ("tree", "a" * 40),
        ("config_fingerprint", "a" * 64),
    ],
)
def test_substitution_is_refused_by_name(field, value):
    """RE-4: cross-repository, cross-commit, cross-tree, cross-config; all genuine, none ours."""
    with pytest.raises(Untrusted) as caught:
        verify(signed(ALICE, **{field: value}), TRUST_ALICE, binding())
    assert caught.value.detail["binding"] == field


def test_newer_format_is_incompatible_not_malformed():
    """A genuine claim of a later release, with fields this one does not know: exit 8."""
    statement = json.loads(claims.encode(snapshot_claim()))
    statement["predicate"] |= {"format": 2, "novelty": True}
    data = envelopes.encode(envelopes.sign(json.dumps(statement).encode(), [ALICE]))
    with pytest.raises(IncompatibleVersion, match="format 2"):
        verify(data, TRUST_ALICE, binding())


def test_revocation_wins_over_trust():
    """RE-5: trusted and revoked is revoked; a second, good signature still counts."""
    policy = TrustPolicy((ALICE.public, BOB.public), frozenset({ALICE.public.id}))
    with pytest.raises(Untrusted, match="revoked"):
        verify(signed(ALICE), policy, binding())
    assert verify(signed(ALICE, BOB), policy, binding()).signers == (BOB.public,)


def test_threshold_counts_distinct_keys():
    two = TrustPolicy((ALICE.public, BOB.public, ALICE.public), threshold=2)
    assert verify(signed(ALICE, BOB), two, binding()).signers == (ALICE.public, BOB.public)
    twice = json.loads(signed(ALICE))["signatures"] * 2
    with pytest.raises(Untrusted, match="1 of the 2"):
        verify(edited(signed(ALICE), signatures=twice), two, binding())


def test_successors_must_be_named_and_sign():
    """RE-5: rotation by dual signatures. Appending a signature to an old envelope is not enough."""
    named = verify(signed(ALICE, BOB, successors=(BOB.public,)), TRUST_ALICE, binding())
    assert named.successors == (BOB.public,)
    assert verify(signed(ALICE, successors=(BOB.public,)), TRUST_ALICE, binding()).successors == ()
    smuggled = envelopes.add_signatures(envelopes.decode(signed(ALICE)), [MALLORY])
    assert verify(envelopes.encode(smuggled), TRUST_ALICE, binding()).successors == ()
    with pytest.raises(Untrusted):
        verify(signed(BOB, successors=(BOB.public,)), TRUST_ALICE, binding())


def test_resigning_adds_each_key_once():
    once = envelopes.decode(signed(ALICE))
    twice = envelopes.add_signatures(once, [ALICE, BOB])
    assert [one.key_id for one in twice.signatures] == [ALICE.public.id, BOB.public.id]


def _duplicate_key(data: bytes) -> bytes:
    return data[:-1] + b',"payload":"AAAA"}'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"payload": NaN}',
        b"[" * 60_000,
        b"1" * 5_000,
        _duplicate_key(signed(ALICE)),
        signed(ALICE)[:-1] + b',"extra":1}',
        signed(ALICE) + b" " * (64 * 1024),
        edited(signed(ALICE), signatures=json.loads(signed(ALICE))["signatures"] * 17),
        edited(signed(ALICE), signatures=[{"keyid": "x", "sig": "AAAA"}]),
        edited(signed(ALICE), signatures={}),
        edited(signed(ALICE), payload="not base64!"),
        edited(signed(ALICE), payload=7),
    ],
)
def test_malformed_envelopes_are_refused(data):
    """Duplicate keys, oversize, deep nesting, too many signatures: refused before any of it is believed."""
    with pytest.raises(Untrusted, match="malformed"):
        verify(data, TRUST_ALICE, binding())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: s["predicate"].update(extra=1),
        lambda s: s["predicate"].pop("builder"),
        lambda s: s["predicate"].update(build_ms=-1),
        lambda s: s["predicate"].update(build_ms=True),
        lambda s: s["predicate"].update(built_at="2026-13-40T00:00:00Z"),
        lambda s: s["predicate"].update(builder="\x1b[2J"),
        lambda s: s["predicate"].update(commit="HEAD"),
        lambda s: s["predicate"].update(successors=["ssh-rsa AAAA"]),
        lambda s: s["predicate"]["toc"].update(sha256="../../etc"),
        lambda s: s["predicate"]["totals"].update(size=2**60),
        lambda s: s["subject"][0]["digest"].update(sha256="2" * 64),
        lambda s: s["subject"].append({"name": "x", "digest": {}}),
        lambda s: s.update(predicateType="https://example.com/other"),
    ],
)
def test_a_signed_statement_is_still_validated(spoil):
    """A trusted signer with a bug must not become our bug."""
    statement = json.loads(claims.encode(snapshot_claim()))
    spoil(statement)
    data = envelopes.encode(envelopes.sign(json.dumps(statement).encode(), [ALICE]))
    with pytest.raises(Untrusted, match="malformed"):
        verify(data, TRUST_ALICE, binding())


@given(st.integers(0, len(signed(ALICE)) - 1), st.integers(0, 7))
def test_every_bit_flip_is_refused_or_harmless(at, bit):
    """A flip may land in the key id (a hint) or in unused base64 bits; the claim is then the signed one."""
    data = bytearray(signed(ALICE))
    data[at] ^= 1 << bit
    try:
        found = verify(bytes(data), TRUST_ALICE, binding())
    except Untrusted:
        return
    assert found.claim == snapshot_claim()


@given(st.binary(max_size=300))
def test_noise_is_refused(data):
    with pytest.raises(Untrusted):
        verify(data, TRUST_ALICE, binding())


def test_claim_round_trips_and_refuses_what_it_would_not_read():
    made = snapshot_claim(successors=(BOB.public,), commit="a" * 64)
    assert claims.decode(claims.encode(made), limit=64 * 1024) == made
    with pytest.raises(strictjson.MalformedError):
        replace(made, built_at="yesterday")
    with pytest.raises(strictjson.MalformedError):
        replace(made, successors=(BOB.public,) * 9)
