"""EL-2: paths that a case-insensitive or normalising file system cannot both hold."""

from __future__ import annotations

from gitindex.ops.syncing.collisions import Collision, find_pending_collisions, find_stored_collisions
from tests.support import harness
from tests.support.gitrepo import GitRepo

NFC, NFD = "caf\u00e9.py", "cafe\u0301.py"


def test_names_that_differ_in_case_collide(repo: GitRepo):
    repo.commit("A", **{"A.py": "A = 1\n", "a.py": "A = 2\n", "b.py": "B = 1\n", "sub/A.py": "A = 3\n"})
    repo.commit("B", **{"B.PY": "B = 2\n"})
    assert find_pending_collisions(harness.codebase(repo.root)) == [
        Collision("case", ("A.py", "a.py"), stored=False),
        Collision("case", ("B.PY", "b.py"), stored=False),
    ]


def test_skipped_files_do_not_collide(repo: GitRepo):
    repo.commit("A", **{"A.py": "A = 1\n", "a.py": "A = 2\n", ".gitindexignore": "/a.py\n"})
    assert find_pending_collisions(harness.codebase(repo.root)) == []


def test_two_spellings_of_one_name(repo: GitRepo):
    repo.git("config", "core.precomposeunicode", "false")
    repo.commit("A", **{NFC: "A = 1\n", NFD: "A = 2\n"})
    (collision,) = find_pending_collisions(harness.codebase(repo.root))
    assert (collision.kind, collision.stored) == ("normalisation", False)
    assert set(collision.paths) == {NFC, NFD}
    assert collision.describe().endswith("are two spellings of one name")


def test_a_degraded_publish_stores_them(repo: GitRepo):
    repo.commit("A", **{"A.py": "A = 1\n", "a.py": "A = 2\n", "b.py": "B = 1\n"})
    harness.index(repo.root, allow_degraded=True)
    with harness.view(repo.root) as view:
        stored = find_stored_collisions(view)
    assert stored == [Collision("case", ("A.py", "a.py"), stored=True)]
    assert stored[0].to_json() == {"kind": "case", "paths": ["A.py", "a.py"], "stored": True}
