"""RE-3: a move along history costs what changed, not what there is."""

from __future__ import annotations

from tests.share.team import Team, many_files


def test_moving_ten_commits_downloads_little(team: Team):
    """At most 15 % of the snapshot travels for ten commits."""
    team.commit("many", **dict(many_files(200)))
    first = team.publish()
    repo = team.clone()
    team.trust(repo)
    whole = team.fetch(repo).bytes["downloaded"]
    assert whole >= first.bytes["uploaded"] * 0.9
    for number in range(10):
        path = f"src/m{number}/file_{number * 11 % 100 // 10 * 10 + number}.py"
        text = (team.origin.root / path).read_text()
        team.commit(f"edit {number}", **{path: text + f"\n\ndef edited_{number}():\n    return {number}\n"})
        team.publish()
    repo.git("pull", "-q")
    done = team.fetch(repo)
    assert done.distance == 0
    assert done.bytes["downloaded"] <= 0.15 * whole
    assert done.bytes["reused"] > 0.8 * whole
    assert team.digest(repo) == team.clean(repo)
