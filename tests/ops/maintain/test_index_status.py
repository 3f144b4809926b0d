"""EN-4, QU-6: a status for every state of an index; without a snapshot it has the same keys."""

from __future__ import annotations

from gitindex.ops.maintain.index_status import status
from tests.support.gitrepo import GitRepo
from tests.support.harness import codebase, index


def test_keys_do_not_depend_on_the_state(repo: GitRepo):
    repo.commit("one", **{"a.py": "def alpha():\n    pass\n"})
    before = status(codebase(repo.root))
    assert (before.status, before.snapshot_id, before.truth, before.pending) == ("not_indexed", None, None, 0)
    index(repo.root)
    after = status(codebase(repo.root))
    assert (after.status, after.in_sync, after.pending) == ("ok", True, 0)
    only_gated = {"reason", "message", "hints"}
    assert set(before.to_json()) - only_gated == set(after.to_json())


def test_what_is_pending_is_counted_and_named(repo: GitRepo):
    repo.commit("one", **{"a.py": "def alpha():\n    pass\n", "b.py": "x = 1\n"})
    index(repo.root)
    repo.write("b.py", "x = 2\n")
    answer = status(codebase(repo.root))
    assert (answer.in_sync, answer.pending, answer.pending_files) == (False, 1, ("b.py",))
    assert answer.truth is not None
    assert answer.truth.freshness.dirty_files == 1


def test_damage_is_a_status(repo: GitRepo):
    repo.commit("one", **{"a.py": "x = 1\n"})
    index(repo.root)
    layout = codebase(repo.root).layout
    for manifest in layout.base.rglob("manifest.json"):
        manifest.write_text("{")
    answer = status(codebase(repo.root))
    assert answer.status == "corrupt"
    assert answer.problems[0].next
