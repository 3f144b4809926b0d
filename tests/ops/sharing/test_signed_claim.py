"""RE-4: what a publisher signs about a build."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitindex.config import Environment
from gitindex.errors import Untrusted
from gitindex.ops.sharing import signed_claim
from gitindex.ops.sharing.remote_session import RemoteSession
from gitindex.remote.transports.file import FileTransport
from gitindex.trust.claim import TocReference, Totals
from gitindex.trust.scopes import Clone
from gitindex.trust.verify import TrustPolicy, verify
from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.trust.made import signing_key

CI, OTHER = signing_key("ci"), signing_key("other")


@pytest.fixture
def session(repo: GitRepo) -> RemoteSession:
    commit = repo.commit("A", **{"a.py": "A = 1\n"})
    codebase = harness.codebase(repo.root)
    assert codebase.repo is not None
    return RemoteSession(
        repo=codebase.repo,
        repository=commit,
        fingerprint=codebase.fingerprint,
        url="file:///remote",
        endpoint="",
        transport=FileTransport(repo.root.parent / "remote"),
        policy=TrustPolicy((CI.public,)),
        clone=Clone("", ""),
    )


def make_claim(session: RemoteSession, repo: GitRepo, *, ci: bool = False):
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        manifest = replace(
            view.manifest, created_at="2026-01-02T04:04:05+01:00", timings_ms={"total": 7, "plan": 100}
        )
    return signed_claim.make_claim(
        session=session,
        manifest=replace(manifest, semantic=({"elapsed_ms": 20}, {"elapsed_ms": 300}, {})),
        reference=TocReference("a" * 64, 1, "b" * 64, 2),
        totals=Totals(3, 4, 5),
        environment=Environment(repo.root, ci=ci),
        successors=[OTHER.public],
    )


def test_a_claim_describes_the_build(session: RemoteSession, repo: GitRepo):
    claim = make_claim(session, repo)
    assert claim.commit == repo.git("rev-parse", "HEAD")
    assert claim.tree == repo.git("rev-parse", "HEAD^{tree}")
    assert claim.built_at == "2026-01-02T03:04:05Z", "in UTC"
    assert claim.build_ms == 327, "the syncs in all, and the last run of each indexer"
    assert not claim.builder.endswith(" in CI")
    assert make_claim(session, repo, ci=True).builder.endswith(" in CI")


def test_a_signed_claim_verifies_by_its_key_alone(session: RemoteSession, repo: GitRepo):
    claim = make_claim(session, repo)
    binding = session.binding(claim.commit)
    assert verify(signed_claim.sign(claim, [CI]), session.policy, binding).claim == claim
    with pytest.raises(Untrusted):
        verify(signed_claim.sign(claim, [OTHER]), session.policy, binding)
