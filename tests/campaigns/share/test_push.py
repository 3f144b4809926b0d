"""RE-2: what may leave the machine, how it arrives, and what happens when many push."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.errors import ConfigError, GitindexError, PublishBlocked, UsageError
from gitindex.lifecycle import maintenance_due
from gitindex.ops.codebase import open_codebase
from gitindex.ops.sharing import push_checks
from gitindex.ops.sharing.build import build
from gitindex.ops.sharing.build_area import find_build, open_build_area
from gitindex.ops.sharing.build_options import BuildOptions
from gitindex.ops.sharing.push import push
from gitindex.remote import collection
from gitindex.segment import chunk_table
from gitindex.segment.lexical_index import LexicalIndex
from gitindex.store import manifests
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView
from tests.campaigns.share.team import Team, unpacked

CONTROL = "CONTROL_that_is_committed"
MARKERS = {
    "dirty": "MARKER_dirty_7f3a", "untracked": "MARKER_untracked_91c2", "ignored": "MARKER_ignored_55d0",
    "stashed": "MARKER_stashed_0b7e", "branch": "MARKER_branch_d4d4", "removed": "MARKER_rewritten_8e21",
    "staged": "MARKER_staged_3c3c", "excluded": "MARKER_excluded_aa17",
}  # fmt: skip


def test_nothing_but_the_commit_leaves_the_machine(team: Team):
    """Dirty, staged, untracked, ignored, stashed, other branches, rewritten history: every object is scanned.

    Twice: as bytes, and through each engine, whose own compression would hide a marker; a control must be found.
    """
    repo = team.origin
    team.build()
    repo.git("switch", "-q", "-c", "topic")
    team.commit("topic", **{"topic.py": f"{MARKERS['branch']} = '{MARKERS['branch']}'\n"})
    team.build()  # a build of another branch must not become the base of one on main
    repo.git("switch", "-q", "main")
    team.commit("wrong", **{"wrong.py": f"{MARKERS['removed']} = '{MARKERS['removed']}'\n"})
    team.build()
    repo.git("reset", "-q", "--hard", "HEAD~1")
    head = team.commit(
        "right",
        **{
            ".gitignore": "secret.py\n",
            ".gitindexignore": "private/\n",
            "private/p.txt": MARKERS["excluded"],
            "control.py": f"{CONTROL} = '{CONTROL}'\n",
        },
    )
    repo.write("b.py", f"{MARKERS['stashed']} = '{MARKERS['stashed']}'\n")
    repo.git("stash", "-q")
    repo.write("staged.py", f"{MARKERS['staged']} = '{MARKERS['staged']}'\n")
    repo.git("add", "staged.py")
    repo.write("a.py", f"{MARKERS['dirty']} = '{MARKERS['dirty']}'\n")
    repo.write("untracked.py", f"{MARKERS['untracked']} = '{MARKERS['untracked']}'\n")
    repo.write("secret.py", f"{MARKERS['ignored']} = '{MARKERS['ignored']}'\n")
    team.publish()
    uploaded = team.objects()
    assert len(uploaded) > 10
    whole = b"".join(unpacked(data) for data in uploaded.values())
    assert b"def beta" in whole
    for name, marker in MARKERS.items():
        assert marker.encode() not in whole, name
    for private in (team.where, Path.home()):
        assert str(private).encode() not in whole
    clone = team.clone()
    team.trust(clone)
    assert clone.git("rev-parse", "HEAD") == head
    team.fetch(clone)
    for layer, text in layers(open_codebase(clone.root, team.mate).layout).items():
        assert CONTROL in text, layer
        assert [name for name, marker in MARKERS.items() if marker in text] == [], layer
    assert team.digest(clone) == team.clean(clone)


def layers(layout: Layout) -> dict[str, str]:
    """All that the engines can say about a store that was fetched, dead rows included."""
    tables = [chunk_table.open_table(path).to_table().to_pydict() for path in layout.tables.iterdir()]
    facts = []
    for path in layout.segments.glob("*/*.sqlite"):
        with closing(sqlite3.connect(path)) as db:
            facts += list(db.iterdump())
    words = [
        document for path in layout.lexicals.iterdir() for document in LexicalIndex(path).iter_documents()
    ]
    return {"tables": repr(tables), "facts": "\n".join(facts), "lexical": repr(words)}


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "workflow_run", "issue_comment"])
def test_pull_requests_do_not_push(team: Team, event: str):
    team.build()
    with pytest.raises(PublishBlocked, match="refused"):
        team.push(environment=replace(team.ci, event=event))
    assert not (team.where / "remote").exists()


def test_only_allowed_branches_are_pushed(team: Team):
    team.origin.git("switch", "-q", "-c", "topic")
    team.commit("topic", **{"topic.py": "x = 1\n"})
    team.build()
    with pytest.raises(PublishBlocked, match='is on "topic"; only "main"') as refused:
        team.push()
    assert refused.value.hint == "gitindex push --branch topic"
    assert team.push(branches=("top*",)).manifest == "created"
    team.commit("settings", **{".gitindex.toml": '[remote]\nbranches = ["topic"]\n'})
    team.build()
    assert team.push().manifest == "created"


def test_another_branch_is_allowed_besides_the_usual(team: Team):
    """`--branch` adds; main stays allowed."""
    team.build()
    assert team.push(branches=("release/*",)).manifest == "created"


def test_a_checkout_without_origin_head_is_told_the_default_branch(team: Team):
    """RE-2, RE-9: `actions/checkout` leaves no origin/HEAD, and the default branch has any name."""
    team.origin.git("branch", "-q", "-m", "main", "develop")
    clone = team.clone()
    clone.git("remote", "set-head", "origin", "--delete")
    here = replace(team, origin=clone)
    here.build()
    with pytest.raises(PublishBlocked, match="does not know its default branch") as refused:
        here.push()
    assert refused.value.hint == "gitindex push --branch develop"
    with pytest.raises(PublishBlocked, match=r'only "other" may be pushed$'):
        here.push(default_branch="other")
    assert here.push(default_branch="develop").manifest == "created"
    clone.commit("settings", **{".gitindex.toml": '[remote]\nbranches = ["release"]\n'})
    clone.git("push", "-q", "origin", "develop:develop2")
    clone.git("fetch", "-q")
    here.build()
    with pytest.raises(PublishBlocked, match=r'only "release" may be pushed$'):
        here.push(default_branch="develop2")


def test_a_clone_asks_its_remote_s_branches(team: Team):
    """A local branch of an allowed name is not the remote's branch."""
    clone = team.clone()
    clone.commit("unpushed", **{"x.py": "x = 1\n"})
    build(clone.root, team.ci, BuildOptions(exact_facts=False, workers=1))
    with pytest.raises(PublishBlocked, match='is not on "origin/main"') as refused:
        push(clone.root, team.ci)
    assert refused.value.hint == "git push"
    clone.git("switch", "-q", "--detach")
    clone.git("branch", "-f", "main", "origin/main")
    with pytest.raises(PublishBlocked, match='is not on "origin/main"') as refused:
        push(clone.root, team.ci)
    assert refused.value.hint == "git fetch"
    clone.git("push", "-q", "origin", "HEAD:refs/heads/side")
    with pytest.raises(PublishBlocked, match='is on "side"; only "main"'):
        push(clone.root, team.ci)


def test_a_commit_that_was_not_built_is_not_pushed(team: Team):
    with pytest.raises(UsageError, match="was not built here") as refused:
        team.push()
    assert str(refused.value.hint).startswith("gitindex build --commit")


def test_without_a_key_nothing_is_pushed(team: Team):
    team.build()
    with pytest.raises(ConfigError, match="no signing key") as refused:
        team.push(environment=replace(team.ci, signing_key_file=""))
    assert refused.value.exit_code == 2
    secret = (team.where / "key").read_text()
    assert (
        team.push(environment=replace(team.ci, signing_key_file="", signing_key=secret)).manifest == "created"
    )


def test_a_repository_cannot_choose_where_to_push(team: Team):
    """RE-5: a remote that only the tracked file names gets nothing."""
    team.commit("evil", **{".gitindex.toml": f'[remote]\nurl = "{team.url}"\n'})
    team.build(environment=replace(team.ci, remote=""))
    with pytest.raises(UsageError, match="no remote is known"):
        team.push(environment=replace(team.ci, remote=""))


def test_push_again_uploads_nothing(anywhere: Team):
    team = anywhere
    first = team.publish()
    assert first.manifest == "created"
    again = team.push()
    assert (again.manifest, again.bytes["uploaded"], again.objects["uploaded"]) == ("exists", 0, 0)
    other = team.push(environment=replace(team.ci, ci=False))
    assert other.bytes["uploaded"] == 0


def test_a_fresh_runner_builds_on_what_is_published(anywhere: Team):
    """RE-1: no state is kept between CI runs; an unchanged commit is found, not built again."""
    team = anywhere
    team.publish()
    fresh = replace(team.ci, home=team.where / "ci2")
    found = team.build(environment=fresh)
    assert (found.base, found.noop) == ("published", True)
    assert team.push(environment=fresh).bytes["uploaded"] == 0
    team.commit("B", **{"b.py": "def beta(): pass\n"})
    third = replace(team.ci, home=team.where / "ci3")
    made = team.build(environment=third)
    assert (made.base, made.changes["modify"], made.segments) == ("published", 1, 2)
    assert team.push(environment=third).objects["reused"] > 0
    clone = team.clone()
    team.trust(clone)
    team.fetch(clone)
    assert team.digest(clone) == team.clean(clone)


def test_many_publishers_at_once(anywhere: Team):
    """The same commit and different commits, from runners that know nothing of each other."""
    team = anywhere
    commits = [team.origin.git("rev-parse", "HEAD")]
    commits += [team.commit(f"{n}", **{"b.py": f"def beta(): return {n}\n"}) for n in range(2)]
    runners = [
        (replace(team.ci, home=team.where / f"ci{n}"), rev)
        for n, rev in enumerate([*commits, commits[0], commits[-1]])
    ]
    for environment, rev in runners:
        team.build(rev, environment)
    failures: list[BaseException] = []

    def run(environment, rev) -> None:
        try:
            team.push(rev, environment)
        except GitindexError as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=one) for one in runners]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    clone = team.clone()
    team.trust(clone)
    for rev in commits:
        clone.git("checkout", "-q", rev)
        assert team.fetch(clone).base_commit == rev
        assert team.digest(clone) == team.clean(clone)


def test_a_snapshot_that_is_not_the_commit_is_stopped(team: Team):
    """The last look before a push: flags, tree and every file."""
    team.build()
    codebase, at = open_build_area(team.origin.root, team.ci, "HEAD")
    assert at.commit is not None
    manifest = find_build(codebase, at.commit)
    changes = [
        replace(manifest, git=replace(manifest.git, dirty=True)),
        replace(manifest, git=replace(manifest.git, untracked_included=True)),
        replace(manifest, overlay=replace(manifest.overlay, size_bytes=1)),
        replace(manifest, git=replace(manifest.git, tree_sha="0" * 40)),
        replace(manifest, degraded=True),
        replace(manifest, segments=()),
    ]
    for changed in changes:
        with (
            SnapshotView(codebase.layout, changed, None, Verifier(codebase.layout)) as view,
            pytest.raises(PublishBlocked),
        ):
            push_checks.check_snapshot(codebase, view, at.commit)
    with SnapshotView(codebase.layout, manifest, None, Verifier(codebase.layout)) as view:
        push_checks.check_snapshot(codebase, view, at.commit)


def test_condemned_objects_are_written_again(team: Team):
    """RE-7: a publisher that needs what a collection condemned makes it young again."""
    team.publish()
    condemned = frozenset(entry.key for entry in team.transport.list(team.names.objects_prefix))
    team.transport.put(
        team.names.mark_key,
        collection.collection_plan.encode_mark(collection.collection_plan.Mark(1.0, condemned)),
    )
    done = team.push()
    assert done.objects["uploaded"] == len(condemned)


def test_a_damaged_build_is_not_pushed(team: Team):
    team.build()
    codebase, _ = open_build_area(team.origin.root, team.ci, "HEAD")
    victim = next(codebase.layout.lexicals.rglob("*.store"))
    victim.write_bytes(victim.read_bytes()[:-1] + b"x")
    with pytest.raises(GitindexError) as refused:
        team.push()
    assert refused.value.exit_code == 4
    assert list(team.transport.list(team.names.manifests_prefix)) == []


def test_builds_are_compacted_before_readers_have_to(team: Team):
    """A published snapshot leaves room for the reader's own segments (SN-8)."""
    for number in range(26):
        team.commit(f"{number}", **{"b.py": f"def beta(): return {number}\n"})
        made = team.build()
    assert made.segments < 24
    assert made.segments < maintenance_due.OVERDUE_SEGMENTS
    team.push()
    clone = team.clone()
    team.trust(clone)
    team.fetch(clone)
    assert team.digest(clone) == team.clean(clone)
    assert len(manifests.list_ids(open_build_area(team.origin.root, team.ci, "HEAD")[0].layout)) > 0
