"""What a push counts as sent and as found on the remote."""

from __future__ import annotations

from gitindex.ops.sharing import upload_snapshot
from gitindex.ops.sharing.upload_snapshot import Amount, Tally
from gitindex.remote.publisher import PushPlan
from gitindex.remote.stored_objects import PackedArtifact
from gitindex.remote.toc import TocEntry


def test_tallies_add_up():
    tally = Tally(uploaded=Amount(1, 10), reused=Amount(2, 200))
    tally += Tally(uploaded=Amount(4, 4000), reused=Amount(8, 80_000))
    assert tally.objects() == {"uploaded": 5, "reused": 10}
    assert tally.bytes() == {"uploaded": 4010, "reused": 80_200}


def test_an_object_of_two_artifacts_is_reused_once():
    shared = PackedArtifact("a" * 64, 7, "b" * 64, 70)
    single = PackedArtifact("c" * 64, 30, "d" * 64, 300)
    entries = (TocEntry("one", shared), TocEntry("two", shared), TocEntry("three", single))
    assert upload_snapshot._tally_reused(PushPlan(entries, ())) == Tally(reused=Amount(2, 37))
