"""How a proposed remote and keys differ from the pins (RE-5)."""

from __future__ import annotations

from gitindex.trust.pin_changes import TrustChange, find_trust_changes
from gitindex.trust.pins import RepositoryTrust, RevokedKey, TrustedKey
from tests.trust.made import signing_key

ALICE, BOB, MALLORY = (signing_key(name).public for name in ("alice", "bob", "mallory"))
PINNED = RepositoryTrust("s3://ours", "https://minio", trusted=(TrustedKey(ALICE, "2026-01-01"),))


def test_the_pinned_remote_and_keys_are_no_change() -> None:
    assert find_trust_changes(PINNED, {}, "s3://ours", "https://minio", [ALICE]) == ()


def test_every_difference_is_listed_with_old_and_new() -> None:
    assert find_trust_changes(PINNED, {}, "s3://theirs", "", [ALICE, BOB]) == (
        TrustChange("remote", "s3://ours", "s3://theirs", "here"),
        TrustChange("endpoint", "https://minio", "none", "here"),
        TrustChange("keys", ALICE.id, BOB.id, "here"),
    )


def test_a_proposal_without_a_remote_changes_keys_only() -> None:
    changes = find_trust_changes(PINNED, {}, "", "", [BOB])
    assert [change.what for change in changes] == ["keys"]


def test_other_clones_count_only_where_nothing_is_pinned_here() -> None:
    others = {"file:///other/.git": PINNED}
    assert find_trust_changes(PINNED, others, "s3://ours", "https://minio", [ALICE]) == ()
    changes = find_trust_changes(RepositoryTrust(), others, "s3://theirs", "https://minio", [ALICE])
    assert changes == (TrustChange("remote", "s3://ours", "s3://theirs", "file:///other/.git"),)
    assert find_trust_changes(RepositoryTrust(), {}, "s3://theirs", "", [MALLORY]) == ()


def test_a_key_revoked_with_its_introducer_is_named() -> None:
    trust = RepositoryTrust(
        revoked=(
            RevokedKey(BOB.id, "bob", "2026-01-01", through=ALICE.id),
            RevokedKey(MALLORY.id, "mallory", "2026-01-01"),
        )
    )
    changes = find_trust_changes(trust, {}, "s3://ours", "", [BOB, MALLORY])
    assert changes == (TrustChange("revoked_key", f"fell with {ALICE.id}", BOB.id, "here"),)
