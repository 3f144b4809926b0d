"""A second worktree or clone starts from its sibling's files (ST-4)."""

from __future__ import annotations

from pathlib import Path

from tests.support import harness
from tests.support.gitrepo import GitRepo


def inodes(root: Path) -> dict[str, int]:
    """Every artifact of the active snapshot → inode."""
    layout = harness.codebase(root).layout
    with harness.view(root) as view:
        return {
            artifact.path: (layout.base / artifact.path).stat().st_ino
            for artifact in view.manifest.artifacts()
        }


def test_a_second_worktree_copies_nothing(repo: GitRepo, tmp_path: Path):
    """ST-4: every file of the sibling's snapshot is the same inode; only the new segment is new."""
    repo.commit("one", **{f"m{at}.py": f"def f{at}(): pass\n" for at in range(20)})
    harness.index(repo.root)
    first = inodes(repo.root)
    side = tmp_path / "side"
    repo.git("worktree", "add", "-q", "-b", "side", str(side))
    (side / "only_here.py").write_text("HERE = 1\n")
    report = harness.index(side)
    assert report.seeded_from == harness.codebase(repo.root).layout.id
    assert report.changes == {"add": 1, "modify": 0, "delete": 0, "rename": 0}
    second = inodes(side)
    shared = {path for path in first if path.startswith(("tables/", "segments/"))}
    assert shared
    assert all(second[path] == first[path] for path in shared)
    linked = {inode for path, inode in second.items() if path.startswith("lexical/")} & set(first.values())
    assert len(linked) >= 5, "the lexical index is a clone too"
    assert harness.audited(side).is_clean
    assert harness.digest_of(side) == harness.clean_digest(side, tmp_path / "scratch")
    assert harness.audited(repo.root).is_clean
    assert harness.cli("status", "--json", "--path", str(side)).json["trust"]["origin"] == "seeded"


def test_a_clone_is_a_sibling_another_repository_is_not(repo: GitRepo, tmp_path: Path):
    """ST-4: the same root commits make siblings."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "clone"))
    assert harness.index(tmp_path / "clone").seeded_from
    other = GitRepo.create(tmp_path / "other")
    other.commit("different", **{"a.py": "A = 1\n", "z.py": "Z = 1\n"})
    assert harness.index(other.root).seeded_from is None


def test_a_damaged_sibling_is_not_used(repo: GitRepo, tmp_path: Path):
    """ST-4, SN-7: building from nothing is always possible."""
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    layout = harness.codebase(repo.root).layout
    with harness.view(repo.root) as view:
        victim = layout.base / view.manifest.lexical[0].path
    data = bytearray(victim.read_bytes())
    data[0] ^= 1
    victim.write_bytes(data)
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    report = harness.index(tmp_path / "side")
    assert report.seeded_from is None
    assert harness.audited(tmp_path / "side").is_clean


def test_stores_live_apart_after_seeding(repo: GitRepo, tmp_path: Path):
    """ST-4: compaction, gc and removal of one store never touch the other's bytes."""
    repo.commit("one", **{"a.py": "A = 1\n", "b.py": "B = 1\n"})
    harness.index(repo.root)
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    harness.index(tmp_path / "side")
    before = harness.digest_of(tmp_path / "side")
    repo.commit("two", **{"a.py": "A = 2\n"})
    harness.index(repo.root)
    assert harness.cli("compact", "--path", str(repo.root)).code == 0
    assert harness.cli("gc", "--stores", "--days", "0", "--path", str(tmp_path / "side")).code == 0
    assert not harness.codebase(repo.root).layout.base.exists()
    assert harness.digest_of(tmp_path / "side") == before
    assert harness.audited(tmp_path / "side").is_clean
