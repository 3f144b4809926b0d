"""Files that refuse, vanish or change while they are indexed (CS-3, SN-5, LE-2)."""

from __future__ import annotations

import os
from pathlib import Path

from tests.campaigns.hostile.test_names import paths_of
from tests.support import harness, plain
from tests.support.gitrepo import GitRepo
from tests.support.midway import during, once_at


def test_an_unreadable_changed_file_blocks_a_strict_publish(repo: GitRepo):
    """SN-5: nothing is published, the file is named; degraded says so, and heals when the file does."""
    repo.commit("first", **{"a.py": "A = 1\n", "b.py": "B = 1\n"})
    assert plain.run("sync", "--path", str(repo.root)).code == 0
    first = harness.digest_of(repo.root)
    repo.write("a.py", "A = 2\n")
    repo.write("b.py", "B = 2\n")
    (repo.root / "a.py").chmod(0)
    ran = plain.run("sync", "--json", "--path", str(repo.root))
    assert ran.code == 1
    assert ran.json["error"]["code"] == "publish_blocked"
    assert "a.py" in ran.json["error"]["message"]
    assert "--allow-degraded" in ran.json["error"]["hint"]
    assert harness.digest_of(repo.root) == first

    ran = plain.run("sync", "--json", "--allow-degraded", "--path", str(repo.root))
    assert ran.code == 0, ran.out
    assert [(e["code"], e["path_key"]) for e in ran.json["errors"]] == [("unreadable_file", "a.py")]
    assert paths_of(repo.root) == {"a.py": "unreadable", "b.py": ""}
    (repo.root / "a.py").chmod(0o644)
    assert plain.run("sync", "--path", str(repo.root)).code == 0
    assert paths_of(repo.root) == {"a.py": "", "b.py": ""}
    assert harness.audited(repo.root).is_clean


def test_a_blocked_sync_leaves_a_trace(repo: GitRepo):
    """`status` says why the next sync is blocked, and that the last one was."""
    where = ("--path", str(repo.root))
    repo.commit("first", **{"a.py": "A = 1\n"})
    assert plain.run("sync", *where).code == 0
    repo.write("a.py", "A = 2\n")
    (repo.root / "a.py").chmod(0)
    assert plain.run("status", "--json", *where).json["last_result"] == "ok"
    assert plain.run("sync", *where).code == 1
    told = plain.run("status", "--json", *where).json
    assert (told["last_result"], told["state"], told["snapshot_id"] is None) == ("failed", "indexed", False)
    text = plain.run("status", *where).out
    assert "1 file; a sync is blocked" in text
    assert "blocked: cannot read a.py: Permission denied\n  next: fix the file" in text
    (repo.root / "a.py").chmod(0o644)
    repo.write("a.py", "A = 1\n")
    assert plain.run("sync", *where).code == 0
    told = plain.run("status", "--json", *where).json
    assert (told["last_result"], told["blocked"]) == ("ok", [])


def test_an_unreadable_committed_file_is_read_from_its_blob(repo: GitRepo):
    """CS-3: what is committed needs no working tree. (git itself cannot tell whether the file differs.)"""
    repo.commit("first", **{"a.py": "A = 1\n"})
    (repo.root / "a.py").chmod(0)
    ran = plain.run("sync", "--json", "--commit-only", "--path", str(repo.root))
    assert ran.code == 0, ran.out
    assert paths_of(repo.root) == {"a.py": ""}


def test_an_unreadable_directory_without_git(tmp_path: Path):
    """EL-1: what cannot be listed is an entry of its own."""
    root = tmp_path / "plain"
    (root / "closed").mkdir(parents=True)
    (root / "closed" / "a.py").write_text("A = 1\n")
    (root / "b.py").write_text("B = 1\n")
    (root / "closed").chmod(0)
    ran = plain.run("sync", "--json", "--allow-degraded", "--path", str(root))
    (root / "closed").chmod(0o755)
    assert ran.code == 0, ran.out
    assert paths_of(root) == {"b.py": "", "closed": "unreadable"}


def closed(where: Path) -> Path:
    (where / "closed").mkdir(parents=True)
    (where / "closed" / "a.py").write_text("A = 1\n")
    (where / "b.py").write_text("B = 1\n")
    return where / "closed"


def test_an_unreadable_directory_is_told_and_settles(repo: GitRepo, tmp_path: Path):
    """EL-1: with git, which only warns, as without; what is committed there is indexed all the same."""
    closed(repo.root)
    repo.commit("first")
    for root in (repo.root, closed(tmp_path / "plain").parent):
        where = ("--path", str(root))
        (root / "closed").chmod(0)
        first, again = plain.run("sync", *where), plain.run("sync", *where)
        told = plain.run("status", "--json", *where).json
        (root / "closed").chmod(0o755)
        assert "skipped: 1 unreadable" in first.out, first
        assert again.out.startswith("nothing to do"), again
        assert "skipped: 1 unreadable" in again.out
        assert (told["skipped"], told["in_sync"], told["dirty_files"]) == ({"unreadable": 1}, True, 0)
        assert told["skipped_files"] == {"unreadable": ["closed"]}
        assert ("closed/a.py" in paths_of(root)) == (root == repo.root)
        assert plain.run("sync", *where).code == 0
        assert paths_of(root) == {"b.py": "", "closed/a.py": ""}


def test_what_was_indexed_is_not_deleted_because_its_directory_is_shut(tmp_path: Path):
    """CS-3, SN-5: a strict publish is refused; an ignore rule says that nobody wants it."""
    folder = closed(tmp_path / "plain")
    where = ("--path", str(folder.parent))
    assert plain.run("sync", *where).code == 0
    folder.chmod(0)
    refused = plain.run("sync", "--json", *where)
    (folder.parent / ".gitindexignore").write_text("closed/\n")
    ignored = plain.run("sync", "--json", *where)
    folder.chmod(0o755)
    assert (refused.code, refused.json["error"]["code"]) == (1, "publish_blocked")
    assert refused.json["error"]["errors"][0]["path_key"] == "closed"
    assert (ignored.code, ignored.json["unreadable"]) == (0, 0), ignored
    assert "closed/a.py" not in {path for path, skip in paths_of(folder.parent).items() if not skip}


def test_a_file_that_vanishes_during_a_sync_is_a_delete(repo: GitRepo, tmp_path: Path):
    """CS-3: no error, no ghost, and the next sync has nothing to add."""
    repo.commit("first", **{"a.py": "A = 1\n", "b.py": "B = 1\n"})
    harness.index(repo.root)
    repo.write("a.py", "VANISHING = 2\n")
    repo.write("new.py", "VANISHING = 3\n")
    repo.write("b.py", "B = 2\n")

    def vanish() -> None:
        (repo.root / "a.py").unlink()
        (repo.root / "new.py").unlink()

    with once_at("publish.stage", vanish):
        harness.index(repo.root)
    with harness.view(repo.root) as view:
        assert {document.path for document in view.lexical.iter_documents()} == {"b.py"}
        assert not any("VANISHING" in document.text for document in view.lexical.iter_documents())
    assert harness.audited(repo.root).is_clean
    harness.index(repo.root)
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")


def test_a_file_that_changes_during_a_sync_is_right_in_the_next(repo: GitRepo, tmp_path: Path):
    """CS-3, CS-5: at every step of a publish somebody edits; in the end the index is the tree."""
    repo.commit("first", **{"a.py": "A = 0\n"})
    harness.index(repo.root)
    count = 0

    def edit(step: str) -> None:
        nonlocal count
        if step.startswith("publish."):
            count += 1
            repo.write("a.py", f"A = {count}\n")
            repo.write(f"n{count}.py", f"N = {count}\n")

    repo.write("a.py", "A = 99\n")
    with during(edit):
        harness.index(repo.root)
    harness.index(repo.root)
    assert harness.index(repo.root).noop
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")
    assert len(paths_of(repo.root)) == count + 1


def test_same_size_same_mtime_is_still_a_change(repo: GitRepo):
    """CS-3: a dirty file rewritten with its old size and mtime has another ctime."""
    repo.commit("first", **{"a.py": "A = 0\n"})
    target = repo.write("a.py", "A = 1\n")
    old = target.stat().st_mtime_ns - 10**10
    os.utime(target, ns=(old, old))
    harness.index(repo.root)
    target.write_text("A = 2\n")
    os.utime(target, ns=(old, old))
    assert harness.index(repo.root).changes["modify"] == 1


def test_a_commit_during_a_sync_is_not_advanced_past(repo: GitRepo, tmp_path: Path):
    """CS-5: `indexed_commit` names the commit whose tree was indexed."""
    first = repo.commit("first", **{"a.py": "A = 0\n"})
    second = ""

    def commit() -> None:
        nonlocal second
        second = repo.commit("second", **{"a.py": "A = 1\n"})

    with once_at("publish.facts", commit):
        assert harness.index(repo.root).commit == first
    status = harness.cli("status", "--json", "--path", str(repo.root)).json
    assert (status["indexed_commit"], status["head"], status["in_sync"]) == (first, second, False)
    assert harness.index(repo.root).commit == second
    assert harness.digest_of(repo.root) == harness.clean_digest(repo.root, tmp_path / "scratch")
