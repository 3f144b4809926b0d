"""How pins are shown (RE-5)."""

from __future__ import annotations

from gitindex.cli import cmd_trust
from gitindex.model.settings import RemoteProposal
from gitindex.ops.sharing.trusted_keys import TrustStatus
from gitindex.trust.keys import PublicKey
from gitindex.trust.pin_changes import TrustChange
from gitindex.trust.pins import RepositoryTrust, RevokedKey, TrustedKey

FIRST, SECOND = PublicKey(b"1" * 32, "first"), PublicKey(b"2" * 32, "second")


def lines(trust: RepositoryTrust, **fields: object) -> list[str]:
    return cmd_trust._render_text(TrustStatus("r", trust, RemoteProposal(), **fields)).splitlines()


def test_the_origin_of_a_key_is_named():
    """A key that a revoked one introduced is revoked with it, so its introducers are shown."""
    trust = RepositoryTrust(
        remote="s3://b/p",
        trusted=(
            TrustedKey(FIRST, "2026-01-01"),
            TrustedKey(SECOND, "2026-02-02", by_hand=False, introduced_by=(FIRST.id,)),
        ),
    )
    shown = lines(trust, scope="clone")
    assert shown[1:3] == ["pinned      in this clone", "remote      s3://b/p"]
    assert shown[3] == f"trusted     {FIRST.id} first  since 2026-01-01, added by hand"
    assert shown[4] == f"trusted     {SECOND.id} second  since 2026-02-02, handed over by {FIRST.id} first"
    assert len(shown) == 5


def test_a_key_with_two_origins_names_both():
    both = TrustedKey(SECOND, "d", introduced_by=(FIRST.id,))
    assert cmd_trust._render_origin(both, {}) == f"added by hand, handed over by {FIRST.id}"
    unknown = TrustedKey(SECOND, "d", by_hand=False)
    assert cmd_trust._render_origin(unknown, {}) == "handed over by an unknown key"


def test_a_revoked_key_names_what_it_was_revoked_with():
    trust = RepositoryTrust(
        revoked=(RevokedKey("a", "old", "2026-01-01"), RevokedKey("b", "heir", "2026-01-01", through="a"))
    )
    shown = lines(trust)
    assert "revoked     a old  since 2026-01-01" in shown
    assert "revoked     b heir  since 2026-01-01, introduced by a old" in shown
    assert shown[-1] == "trusted     nobody; next: gitindex trust add FILE.pub"


def test_a_threshold_is_shown_above_one_and_other_clones_always():
    trust = RepositoryTrust(threshold=2, trusted=(TrustedKey(FIRST, "d"),))
    other = RepositoryTrust(remote="file:///x")
    shown = lines(trust, other_pins={"/clone": other})
    assert "threshold   2" in shown
    assert shown[-1] == "elsewhere   /clone: file:///x, no key"
    assert not any(line.startswith("threshold") for line in lines(RepositoryTrust(threshold=1)))


def test_a_change_shows_old_and_new():
    here = cmd_trust._render_change(TrustChange("remote", "s3://a", "s3://b", "here"))
    assert here.startswith("CHANGE  remote: ")
    assert "used by" not in here
    assert "used by" in cmd_trust._render_change(TrustChange("keys", "a", "b", "/clone"))
