"""C-2, RE-1, RE-2, RE-3, RE-6: what CI published is what a teammate gets, wherever the teammate stands."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from gitindex.errors import GitError, RemoteMissing, UsageError
from gitindex.gate import validate_completion_proof
from gitindex.lifecycle import compact
from gitindex.model.ids import ulid
from gitindex.model.manifest import Origin
from gitindex.model.proof import ProofOutcome
from gitindex.ops.answers.answer_truths import assess_truth
from gitindex.ops.codebase import open_codebase
from gitindex.ops.maintain.audit import audit
from gitindex.ops.sharing.fetch import FetchOptions, fetch
from gitindex.ops.syncing import sync_locked
from gitindex.ops.syncing.sync import sync
from gitindex.store import manifests
from gitindex.store.integrity import Verifier
from gitindex.userconfig import UserConfig
from gitindex.view.snapshot import open_active
from tests.campaigns.share.team import Team
from tests.support import harness
from tests.support.gitrepo import GitRepo


@pytest.fixture
def history(anywhere: Team) -> Team:
    """Commits A to E, each published."""
    team = anywhere
    team.publish()
    team.commit("B", **{"b.py": "def beta(x):\n    return x * 3\n"})
    team.publish()
    team.origin.git("mv", "a.py", "pkg/a.py")
    team.commit("C")
    team.publish()
    team.origin.git("rm", "-q", "notes.md")
    team.commit("D", **{"new.go": "package main\n\nfunc Main() {}\n", ".gitindexignore": "ignored.py\n"})
    team.publish()
    team.commit("E", **{"ignored.py": "x = 1\n", "b.py": "def beta(x):\n    return x * 4\n"})
    team.publish()
    return team


def test_everywhere_a_teammate_may_stand(history: Team):
    """At the tip, on a branch of D, with a dirty tree, in a shallow clone, after a force-push."""
    team = history
    repo = team.clone()
    team.trust(repo)
    at_tip(team, repo)
    on_a_local_branch(team, repo)
    with_a_dirty_tree(team, repo)
    in_a_shallow_clone(team)
    after_a_force_push(team, repo)


def at_tip(team: Team, repo: GitRepo) -> None:
    done = team.fetch(repo)
    head = repo.git("rev-parse", "HEAD")
    assert (done.status, done.base_commit, done.target_commit, done.distance) == ("ok", head, head, 0)
    assert done.bytes["downloaded"] > 0
    assert done.caught_up == {"add": 0, "modify": 0, "delete": 0, "rename": 0}
    assert team.digest(repo) == team.clean(repo)
    origin = manifests.read(open_codebase(repo.root, team.mate).layout, done.snapshot_id).origin
    assert (origin.kind, origin.base_commit, origin.signer, origin.remote) == (
        "fetched", head, done.signer, team.url,
    )  # fmt: skip
    again = team.fetch(repo)
    assert again.bytes["downloaded"] == 0
    assert again.objects["downloaded"] == 0
    assert again.snapshot_id == done.snapshot_id


def on_a_local_branch(team: Team, repo: GitRepo) -> None:
    repo.git("switch", "-q", "-c", "mine", "HEAD~1")
    repo.commit("mine", **{"mine.py": "def mine(): pass\n", "b.py": "def beta(): return 'mine'\n"})
    done = team.fetch(repo)
    assert done.base_commit == repo.git("rev-parse", "HEAD~1")
    assert done.distance == 1
    assert (done.caught_up["add"], done.caught_up["modify"]) == (1, 1)
    assert team.digest(repo) == team.clean(repo)


def with_a_dirty_tree(team: Team, repo: GitRepo) -> None:
    repo.write("mine.py", "def mine(): return 'dirty'\n")
    repo.write("untracked.py", "def untracked(): pass\n")
    (repo.root / "new.go").unlink()
    done = team.fetch(repo)
    assert team.digest(repo) == team.clean(repo)
    assert done.bytes["downloaded"] == 0
    repo.git("checkout", "-q", "-f", "main")
    (repo.root / "untracked.py").unlink()


def in_a_shallow_clone(team: Team) -> None:
    repo = team.clone("shallow", "--depth=1")
    environment = team.mate
    with pytest.raises(UsageError, match="shallow clone does not know"):
        team.fetch(repo)
    repo.git("config", "gitindex.repository", team.repository)
    team.trust(repo)
    done = team.fetch(repo, environment)
    assert (done.base_commit, done.distance) == (repo.git("rev-parse", "HEAD"), 0)
    assert team.digest(repo) == team.clean(repo)


def after_a_force_push(team: Team, repo: GitRepo) -> None:
    team.origin.git("reset", "-q", "--hard", "HEAD~2")
    team.commit("F", **{"forced.py": "def forced(): pass\n"})
    repo.git("fetch", "-q")
    repo.git("reset", "-q", "--hard", "origin/main")
    done = team.fetch(repo)
    assert (done.base_commit, done.distance) == (repo.git("rev-parse", "HEAD~1"), 1)
    assert team.digest(repo) == team.clean(repo)


def test_another_store_of_the_same_repository_saves_the_download(team: Team):
    """ST-4: a second clone of the same user downloads only what the first one has not kept."""
    team.publish()
    first, second = team.clone("first"), team.clone("second")
    team.trust(first)
    team.trust(second)
    whole = team.fetch(first).bytes["downloaded"]
    done = team.fetch(second)
    assert done.bytes["downloaded"] < whole
    assert done.objects["reused"] > done.objects["downloaded"]
    assert team.digest(second) == team.clean(second)


def test_a_local_index_is_replaced_by_the_fetched_one(team: Team):
    team.publish()
    repo = team.clone()
    team.trust(repo)
    harness.index(repo.root, team.mate.home)
    done = team.fetch(repo)
    layout = open_codebase(repo.root, team.mate).layout
    assert manifests.read(layout, done.snapshot_id).origin != Origin()
    assert team.digest(repo) == team.clean(repo)


def test_readers_need_not_hash_what_a_fetch_has_proven(team: Team):
    """SN-7: the notes that a fetch leaves vouch for every file as it stands."""
    team.publish()
    repo = team.clone()
    team.trust(repo)
    done = team.fetch(repo)
    layout = open_codebase(repo.root, team.mate).layout
    verifier = Verifier(layout)
    assert all(
        verifier.is_cached(artifact) for artifact in manifests.read(layout, done.snapshot_id).artifacts()
    )
    assert {path.stat().st_mode & 0o077 for path in layout.base.rglob("*")} == {0}, "ST-3"
    assert [path.name for path in (team.mate.home / "fetch" / team.repository).iterdir()] == ["lock"]


def test_nothing_published_is_told_with_the_command_that_helps(team: Team):
    repo = team.clone()
    team.trust(repo)
    with pytest.raises(RemoteMissing, match="nothing is published for") as failed:
        team.fetch(repo)
    assert failed.value.exit_code == 6
    assert "gitindex sync" in str(failed.value.hint)
    assert not (team.mate.home / "data").exists()


def test_an_unknown_revision_is_git_s_to_refuse(team: Team):
    repo = team.clone()
    team.trust(repo)
    with pytest.raises(GitError, match="unknown revision"):
        team.fetch(repo, rev="nowhere")


def test_another_revision_chooses_the_base_only(team: Team):
    """`--commit` says whose snapshot to start from; the index is always of the present tree."""
    team.publish()
    old = team.origin.git("rev-parse", "HEAD")
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    team.publish()
    repo = team.clone()
    team.trust(repo)
    done = team.fetch(repo, rev="HEAD~1")
    assert done.base_commit == old
    assert team.digest(repo) == team.clean(repo)


def test_a_signer_vouches_for_what_was_fetched_only(team: Team):
    """QU-6: the line says which commit is signed once others were indexed on top of it."""
    team.publish()
    repo = team.clone()
    team.trust(repo)
    signer = team.fetch(repo).signer
    assert _told(team, repo).endswith(f"fetched, signed by {signer}")
    signed = repo.git("rev-parse", "HEAD")[:7]
    repo.commit("mine", **{"b.py": "def beta(): pass\n"})
    sync(open_codebase(repo.root, team.mate))
    assert _told(team, repo).endswith(f"fetched {signed}, signed by {signer}; changes since built here")
    repo.git("reset", "--hard", "HEAD~1")
    sync(open_codebase(repo.root, team.mate))
    told = _told(team, repo)
    assert told.endswith("changes since built here"), "the commit is the signed one; the segments are not all"


def _told(team: Team, repo: GitRepo) -> str:
    codebase = open_codebase(repo.root, team.mate)
    view = open_active(codebase.layout)
    assert view is not None
    with view:
        return assess_truth(codebase, view).summary_line()


def test_a_proposed_id_serves_shallow_clones(team: Team):
    """`[remote] repository` in the tracked file names the repository where history cannot."""
    team.commit("id", **{".gitindex.toml": f'[remote]\nrepository = "{team.repository}"\n'})
    team.publish()
    repo = team.clone("shallow", "--depth=1")
    team.trust(repo)
    assert team.fetch(repo).distance == 0
    assert team.digest(repo) == team.clean(repo)


def test_a_shared_store_finds_what_ci_published(team: Team):
    """ST-3, RE-3: it leaves untracked files out, which a commit has none of; so the same snapshot serves."""
    team.publish()
    repo = team.clone()
    repo.write("scratch.py", "mine = 1\n")
    team.trust(repo)
    shared = open_codebase(repo.root, team.mate, shared=True)
    assert shared.fingerprint != open_codebase(repo.root, team.mate).fingerprint
    done = fetch(shared, FetchOptions(workers=1))
    assert (done.distance, done.caught_up["add"]) == (0, 0)
    found = audit(shared)
    assert found.problems == ()
    (repo.root / "scratch.py").unlink()
    assert found.digest == team.clean(repo)
    manifest = manifests.read_active(shared.layout)
    assert manifest is not None
    assert manifest.config_fingerprint == shared.fingerprint
    assert team.fetch(repo).bytes["downloaded"] > 0, "a store of the other mode shares nothing"


def test_a_shared_home_publishes_for_everybody(team: Team):
    """ST-3, RE-1: a build knows no untracked files, so it does not matter who made it."""
    built = team.build(environment=replace(team.ci, user=UserConfig(shared=True)))
    team.push(environment=replace(team.ci, user=UserConfig(shared=True)))
    assert built.config_fingerprint == open_codebase(team.origin.root, team.mate).fingerprint
    repo = team.clone()
    team.trust(repo)
    assert team.fetch(repo).distance == 0


def test_a_published_snapshot_serves_as_it_is(team: Team, monkeypatch: pytest.MonkeyPatch):
    """RE-3, C-4, EN-4: at the published commit nothing is written on top; answers, proof and later syncs are as ever."""
    built = team.publish()
    repo = team.clone()
    team.trust(repo)
    done = team.fetch(repo)
    manifest = manifests.read_active(open_codebase(repo.root, team.mate).layout)
    assert manifest is not None
    assert len(manifest.segments) == team.build().segments
    assert (built.commit, manifest.git.head_sha) == (done.base_commit, done.base_commit)
    assert manifest.canonical_root == str(repo.root)
    monkeypatch.setenv("GITINDEX_HOME", str(team.mate.home))
    for _ in range(2):  # by the publisher's note, then by the marker itself
        found = harness.cli("search", "alpha", "--json", "--path", str(repo.root)).json
        assert (found["status"], found["trust"]["origin"]) == ("ok", "fetched")
        open_codebase(repo.root, team.mate).layout.checksum_cache.unlink(missing_ok=True)
    with harness.view(repo.root, team.mate.home) as view:
        assert (
            validate_completion_proof(open_codebase(repo.root, team.mate), view).outcome == ProofOutcome.VALID
        )
    elsewhere = open_codebase(team.origin.root, team.mate)
    with harness.view(repo.root, team.mate.home) as view:
        assert validate_completion_proof(elsewhere, view).outcome == ProofOutcome.STALE_LOCAL
    assert harness.index(repo.root, team.mate.home).noop
    compact.compact_runs(open_codebase(repo.root, team.mate).layout, lambda _: [range(1)])
    assert harness.cli("search", "alpha", "--json", "--path", str(repo.root)).json["status"] == "ok"
    repo.write("b.py", "def beta(): return 'changed'\n")
    assert harness.index(repo.root, team.mate.home).changes["modify"] == 1
    assert team.digest(repo) == team.clean(repo)


def test_an_older_publication_is_a_parent(team: Team):
    """SN-9: ids are times, and gc keeps what is newest; so what is older than a local snapshot is published anew."""
    team.publish()
    repo = team.clone()
    team.trust(repo)
    local = harness.index(repo.root, team.mate.home).snapshot_id
    done = team.fetch(repo)
    assert done.snapshot_id > local
    assert team.digest(repo) == team.clean(repo)


def test_a_publisher_whose_clock_runs_ahead(team: Team, monkeypatch: pytest.MonkeyPatch):
    """SN-9: an id of tomorrow would outlive every snapshot made here today."""
    tomorrow = time.time_ns() // 1_000_000 + 86_400_000
    monkeypatch.setattr(sync_locked, "ulid", lambda: ulid(tomorrow))
    published = team.build().snapshot_id
    team.push()
    monkeypatch.undo()
    repo = team.clone()
    team.trust(repo)
    assert team.fetch(repo).snapshot_id < published
    assert team.digest(repo) == team.clean(repo)
