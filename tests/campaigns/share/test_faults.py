"""RE-6: a server that misbehaves makes a fetch succeed or fail cleanly, with exit 6 or 4, and remembers nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.errors import GitindexError
from gitindex.ops.sharing import remote_session, trusted_keys
from gitindex.ops.sharing.trusted_keys import PinRequest
from gitindex.remote.transport import RemoteOptions, Timeouts
from tests.campaigns.share.conftest import on_server
from tests.campaigns.share.team import Team
from tests.remote.faults import FaultProxy
from tests.remote.servers import Server
from tests.support.gitrepo import GitRepo


@pytest.fixture
def faulty(
    moto_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Team, GitRepo, FaultProxy]]:
    """A team whose way to the server leads through a proxy; one commit is fetched, the next one published."""
    team = on_server(moto_server, tmp_path, monkeypatch)
    team.publish()
    repo = team.clone()
    with FaultProxy(moto_server.endpoint) as proxy:
        team.trust(repo)
        through = replace(team.mate, endpoint=proxy.endpoint)
        trusted_keys.add(repo.root, through, PinRequest(remote=team.url))
        team.fetch(repo, through)
        team.commit("B", **{"b.py": "def beta(): pass\n", "new.py": "def new(): pass\n"})
        team.publish()
        repo.git("pull", "-q")
        monkeypatch.setattr(remote_session, "RemoteOptions", impatient)
        yield team, repo, proxy


def impatient(endpoint: str, variables: Mapping[str, str]) -> RemoteOptions:
    return RemoteOptions(endpoint, attempts=1, read_timeout=2.0, variables=variables)


LASTING = [
    ("status", {}, {6}),
    ("status", {"status": 403}, {6}),
    ("reset", {}, {6}),
    ("hang", {}, {6}),
    ("cut", {"path": "/obj/"}, {6}),
    ("short", {"path": "/obj/"}, {4, 6}),
    ("pad", {"path": "/obj/"}, {4}),
    ("corrupt", {"path": "/obj/"}, {4}),
    ("corrupt", {"path": "/man/"}, {5}),
]


def test_a_lasting_fault_fails_cleanly(faulty):
    """The index stays byte for byte the same, and the next fetch is not prejudiced."""
    team, repo, proxy = faulty
    through = replace(team.mate, endpoint=proxy.endpoint)
    forget_ancestors(team, repo)
    before, known = team.store(), team.digest(repo)
    for action, rule, codes in LASTING:
        proxy.rules[:] = []
        proxy.add(action, **rule)
        with pytest.raises(GitindexError) as failed:
            team.fetch(repo, through)
        assert failed.value.exit_code in codes, action
        assert team.store() == before, action
    assert team.digest(repo) == known
    proxy.rules.clear()
    assert team.fetch(repo, through).base_commit == repo.git("rev-parse", "HEAD"), "nothing negative is kept"
    assert team.digest(repo) == team.clean(repo)


def test_passing_faults_are_overcome(faulty):
    team, repo, proxy = faulty
    forget_ancestors(team, repo)
    for action in ("status", "reset", "cut", "hang"):
        proxy.add(action, path="/obj/", times=1, skip=1)
    done = team.fetch(repo, replace(team.mate, endpoint=proxy.endpoint))
    assert done.base_commit == repo.git("rev-parse", "HEAD")
    assert all(rule.times == 0 for rule in proxy.rules)
    assert team.digest(repo) == team.clean(repo)


def forget_ancestors(team: Team, repo: GitRepo) -> None:
    """So that no other snapshot can serve."""
    head = repo.git("rev-parse", "HEAD")
    for entry in list(team.transport.list(team.names.manifests_prefix)):
        if team.names.parse_manifest_key(entry.key) != head:
            team.transport.delete(entry.key)


def test_a_drip_meets_its_deadline(faulty):
    """A body that never ends trips no read timeout; our own deadline does, and what arrived is kept."""
    team, repo, proxy = faulty
    proxy.add("slow", path="/obj/", drip=0.05)
    hasty = Timeouts(attempts=2, back_off=0.0, object_seconds=0.2, bytes_per_second=1 << 20)
    before = team.store()
    with pytest.raises(GitindexError) as failed:
        team.fetch(repo, replace(team.mate, endpoint=proxy.endpoint), patience=hasty)
    assert failed.value.exit_code == 6
    assert team.store() == before


def test_a_push_overcomes_or_fails_cleanly(faulty):
    team, _, proxy = faulty
    head = team.commit("C", **{"c.py": "def gamma(): pass\n"})
    through = replace(team.ci, endpoint=proxy.endpoint)
    team.build(environment=through)
    proxy.add("status", method="PUT", path="/man/")
    with pytest.raises(GitindexError) as failed:
        team.push(environment=through)
    assert failed.value.exit_code == 6
    published = [
        team.names.parse_manifest_key(entry.key) for entry in team.transport.list(team.names.manifests)
    ]
    assert head not in published
    proxy.rules.clear()
    proxy.add("reset", method="PUT", path="/obj/", times=1, forward=True)
    proxy.add("status", method="PUT", path="/obj/", times=1)
    assert team.push(environment=through).manifest == "created"
