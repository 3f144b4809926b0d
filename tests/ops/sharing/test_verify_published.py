"""`verify` finds what is missing or damaged on the remote, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.errors import IntegrityError, RemoteMissing
from gitindex.ops.sharing.verify_published import VerifyReport, verify
from tests.campaigns.share.team import Team


@pytest.fixture
def team(tmp_path: Path) -> Team:
    team = Team.create(tmp_path, (tmp_path / "remote").as_uri())
    team.publish()
    team.trust(team.origin)
    return team


def check(team: Team, **options) -> VerifyReport:
    return verify(team.origin.root, team.mate, **options)


def test_a_genuine_snapshot(team: Team):
    before = team.objects()
    report = check(team, deep=True)
    sizes = {key: len(data) for key, data in before.items() if "/obj/" in key}
    assert (report.status, report.deep) == ("ok", True)
    assert report.commit == team.origin.git("rev-parse", "HEAD")
    assert report.objects == len(sizes) - 1, "the table of contents is not in itself"
    assert 0 < report.bytes < sum(sizes.values())
    assert team.objects() == before


def test_a_missing_object_is_named(team: Team):
    report = check(team)
    key = find_artifact_object(team)
    team.transport.delete(key)
    with pytest.raises(IntegrityError, match=f"published object {key} is gone"):
        check(team)
    assert report.objects > 1


def test_an_object_of_another_size_is_named(team: Team):
    key = find_artifact_object(team)
    size = len(team.objects()[key])
    team.transport.put(key, b"x" * (size + 1))
    with pytest.raises(IntegrityError, match=f"{key} has {size + 1} bytes instead of {size}"):
        check(team)


def test_only_deep_reads_every_byte(team: Team):
    key = find_artifact_object(team)
    team.transport.put(key, b"x" * len(team.objects()[key]))
    assert check(team).status == "ok"
    with pytest.raises(IntegrityError):
        check(team, deep=True)


def test_an_ancestor_does_not_stand_for_the_commit(team: Team):
    team.commit("B", **{"b.py": "B = 2\n"})
    with pytest.raises(RemoteMissing):
        check(team)


def find_artifact_object(team: Team) -> str:
    """The largest object: an artifact, not the table of contents."""
    return max(
        (key for key in team.objects() if "/obj/" in key), key=lambda key: (len(team.objects()[key]), key)
    )
