"""Symbolic links (EL-3): resolved inside the tree, never through the file system."""

from __future__ import annotations

import hashlib
import os
import subprocess
import zlib
from pathlib import Path

from tests.campaigns.hostile.test_names import paths_of
from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.support.midway import during

SECRET = "TOP_SECRET_OUTSIDE"


def texts(root: Path) -> str:
    with harness.view(root) as view:
        return "\n".join(document.text for document in view.lexical.iter_documents())


def test_links_out_of_the_root_show_nothing(repo: GitRepo, tmp_path: Path):
    """EL-3: absolute, relative, through a linked directory, and into .git."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text(f"{SECRET} = 1\n")
    for name, target in {
        "absolute.py": str(outside / "secret.py"),
        "relative.py": "../outside/secret.py",
        "passwd.txt": "/etc/passwd",
        "dotted.py": "sub/../../outside/secret.py",
        "inner": "../outside",
        "config.txt": ".git/config",
    }.items():
        (repo.root / name).symlink_to(target)
    repo.commit("links", **{"sub/a.py": "A = 1\n"})
    harness.index(repo.root)
    found = paths_of(repo.root)
    assert found.pop("sub/a.py") == ""
    assert set(found.values()) <= {"out_of_root", "symlink_broken", "unsupported"}
    assert found["absolute.py"] == found["relative.py"] == found["dotted.py"] == "out_of_root"
    assert SECRET not in texts(repo.root)


def test_loops_chains_and_broken_links(repo: GitRepo):
    """EL-3: loops and more than 32 hops are skips; a chain within the limit is followed."""
    (repo.root / "self.py").symlink_to("self.py")
    (repo.root / "ping.py").symlink_to("pong.py")
    (repo.root / "pong.py").symlink_to("ping.py")
    (repo.root / "broken.py").symlink_to("nowhere.py")
    (repo.root / "folder.py").symlink_to("sub")
    repo.write("sub/real.py", "def real(): pass\n")
    for at in range(40):
        (repo.root / f"hop{at:02}.py").symlink_to(f"hop{at - 1:02}.py" if at else "sub/real.py")
    repo.commit("links")
    harness.index(repo.root)
    found = paths_of(repo.root)
    assert found["self.py"] == found["ping.py"] == found["pong.py"] == "symlink_loop"
    assert found["broken.py"] == "symlink_broken"
    assert found["folder.py"] == "symlink_directory"
    assert [at for at in range(40) if found[f"hop{at:02}.py"]] == list(range(32, 40))
    assert harness.audited(repo.root).is_clean


def test_a_link_follows_its_target(repo: GitRepo):
    """EL-3, SN-6: the link's rows are those of the target, also when only the target changes."""
    repo.write("real.py", "def before(): pass\n")
    (repo.root / "link.py").symlink_to("real.py")
    repo.commit("link")
    harness.index(repo.root)
    repo.write("real.py", "def after(): pass\n")
    harness.index(repo.root)
    assert "before" not in texts(repo.root)
    with harness.view(repo.root) as view:
        assert {d.path for d in view.lexical.iter_documents() if "after" in d.text} == {"real.py", "link.py"}


def test_a_directory_swapped_for_a_link_is_not_followed(repo: GitRepo, tmp_path: Path):
    """EL-3: TOCTOU: between git's report and our read the parent becomes a link out of the root."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text(f"{SECRET} = 1\n")
    repo.commit("first", **{"pkg/a.py": "A = 1\n"})
    harness.index(repo.root)
    repo.write("pkg/a.py", "A = 2\n")

    def swap(step: str) -> None:
        if step == "publish.stage":
            os.rename(repo.root / "pkg", repo.root / "moved")
            (repo.root / "pkg").symlink_to(outside)

    with during(swap):
        harness.index(repo.root, allow_degraded=True)
    assert SECRET not in texts(repo.root)
    harness.index(repo.root)
    assert SECRET not in texts(repo.root)
    assert paths_of(repo.root) == {"pkg": "out_of_root", "moved/a.py": ""}


def test_traversal_in_tree_entries_is_refused(repo: GitRepo):
    """EL-3: a hand-made tree with `..` or an absolute name never leaves the root."""
    repo.write("x.py", "A = 1\n")
    blob = repo.git("hash-object", "-w", "x.py")
    evil = b"".join(b"100644 " + name + b"\0" + bytes.fromhex(blob) for name in (b"..", b".git", b"ok.py"))
    raw = b"tree %d\0" % len(evil) + evil
    oid = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    target = repo.root / ".git" / "objects" / oid[:2] / oid[2:]
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(zlib.compress(raw))
    done = subprocess.run(
        ["git", "-C", str(repo.root), "commit-tree", oid, "-m", "evil"], capture_output=True, check=True
    )
    repo.git("update-ref", "refs/heads/main", done.stdout.decode().strip())
    ran = harness.cli("sync", "--commit-only", "--json", "--path", str(repo.root))
    assert ran.code == 0, ran.out
    found = paths_of(repo.root)
    assert found["ok.py"] == ""
    assert ".." not in {path for path, skip in found.items() if not skip}
