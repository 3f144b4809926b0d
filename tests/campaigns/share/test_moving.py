"""RE-3: a move along history costs what changed, not what there is; also across compactions (SN-8)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gitindex.config import Environment
from gitindex.lifecycle import compact
from tests.campaigns.share.team import Team, many_files
from tests.support import harness
from tests.support.gitrepo import GitRepo


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


@pytest.mark.slow
def test_compactions_leave_the_large_part_shared(team: Team):
    """RE-3, SN-8: the builds of 35 commits were compacted on the way; ten commits still move little, from anywhere."""
    team.commit("many", **dict(many_files(200)))
    whole = team.publish().bytes["uploaded"]
    readers: dict[int, GitRepo] = {}
    compacted = sum(edits(team, 35, readers))
    assert compacted >= 1
    shares = {start: moved(team, start, repo) / whole for start, repo in readers.items()}
    assert len(shares) == 3
    assert max(shares.values()) <= 0.15, shares


def edits(team: Team, count: int, readers: dict[int, GitRepo]) -> Iterator[bool]:
    """Commit, build and push `count` changes; was each build compacted? Some commits get a reader."""
    before = 0
    for number in range(count):
        path = f"src/m{number % 10}/file_{number * 7 % 20 * 10 + number % 10}.py"
        text = (team.origin.root / path).read_text()
        team.commit(f"edit {number}", **{path: text + f"\n\ndef edited_{number}():\n    return {number}\n"})
        team.origin.git("tag", f"at-{number}")
        made = team.build()
        team.push()
        yield made.segments <= before
        before = made.segments
        if number in (9, 19, 24):
            readers[number] = reader(team, number)


def home(team: Team, number: int) -> Environment:
    return Environment(team.where / f"mate{number}", remote=team.url, endpoint=team.endpoint)


def reader(team: Team, number: int) -> GitRepo:
    """A clone in a home of its own that fetched and worked on, so that its own store was compacted, too."""
    repo = team.clone(f"reader{number}")
    team.trust(repo, environment=home(team, number))
    team.fetch(repo, home(team, number))
    for turn in range(6):
        repo.write("mine.py", f"def mine_{turn}(): pass\n")
        harness.index(repo.root, home(team, number).home)
    report = compact.compact_deltas(harness.codebase(repo.root, home(team, number).home).layout)
    assert report is not None
    (repo.root / "mine.py").unlink()
    return repo


def moved(team: Team, start: int, repo: GitRepo) -> int:
    """Bytes to follow ten commits."""
    repo.git("fetch", "-q", "--tags")
    repo.git("reset", "-q", "--hard", f"at-{start + 10}")
    done = team.fetch(repo, home(team, start))
    assert done.distance == 0
    assert team.digest(repo, home(team, start)) == team.clean(repo)
    return done.bytes["downloaded"]
