"""The working tree against HEAD (CS-3), by `.gitignore` files alone (CF-3)."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitindex.git.objects_cli import CliObjects
from gitindex.git.repo import Repo, discover, read_head
from gitindex.git.status import DirtyPath, list_dirty
from gitindex.model.ids import blob_id
from tests.support.gitrepo import GitRepo


def found(where: Path) -> Repo:
    repo = discover(where)
    assert repo is not None
    return repo


def dirty(repo: GitRepo, *, untracked: bool = True) -> dict[bytes, str]:
    listed = list_dirty(found(repo.root), untracked=untracked)
    assert list(listed) == sorted(listed)
    return dict(listed)


def test_a_clean_tree_has_nothing(repo: GitRepo) -> None:
    assert dirty(repo) == {}
    repo.commit("one", a="1")
    assert dirty(repo) == {}


def test_each_way_to_differ(repo: GitRepo) -> None:
    """CS-3: staged or not, what counts is the file against HEAD."""
    names = (
        "same",
        "edit",
        "gone",
        "rm",
        "staged",
        "staged_then_gone",
        "cached",
        "mode",
        "type",
        "back",
        "mv",
    )
    repo.commit("one", **dict.fromkeys(names, "1\n"))
    repo.write("edit", "2\n")
    (repo.root / "gone").unlink()
    repo.git("rm", "-q", "rm")
    for name in ("staged", "staged_then_gone", "back"):
        repo.write(name, "2\n")
        repo.git("add", name)
    (repo.root / "staged_then_gone").unlink()
    repo.write("back", "1\n")
    repo.git("rm", "-q", "--cached", "cached")
    (repo.root / "mode").chmod(0o755)
    (repo.root / "type").unlink()
    (repo.root / "type").symlink_to("same")
    repo.git("mv", "mv", "moved")
    repo.write("added", "x")
    repo.git("add", "added")
    repo.write("added_then_gone", "x")
    repo.git("add", "added_then_gone")
    (repo.root / "added_then_gone").unlink()
    repo.write("intended", "x")
    repo.git("add", "-N", "intended")
    repo.write("new", "x")
    expected = {
        b"added": "modified",
        b"back": "modified",  # possibly: the index differs from both
        b"cached": "modified",
        b"edit": "modified",
        b"gone": "deleted",
        b"intended": "modified",
        b"mode": "modified",
        b"moved": "modified",
        b"mv": "deleted",
        b"new": "untracked",
        b"rm": "deleted",
        b"staged": "modified",
        b"staged_then_gone": "deleted",
        b"type": "modified",
    }
    assert dirty(repo) == expected
    tracked = {path: kind for path, kind in expected.items() if kind != "untracked"}
    assert dirty(repo, untracked=False) == {**tracked, b"cached": "deleted"}


def test_before_the_first_commit(repo: GitRepo) -> None:
    repo.write("staged", "x")
    repo.git("add", "staged")
    repo.write("new", "x")
    assert dirty(repo) == {b"new": "untracked", b"staged": "modified"}


def test_odd_names(repo: GitRepo) -> None:
    """CS-1: byte-safe."""
    odd = [b"new\nline", b"sp ace", b" lead", b"\xff", b'q"uote', b"a -> b", b"1 .M N..."]
    for name in odd:
        repo.write(os.fsdecode(name), "1")
    assert dirty(repo) == dict.fromkeys(odd, "untracked")
    repo.commit("odd")
    for name in odd:
        repo.write(os.fsdecode(name), "2")
    assert dirty(repo) == dict.fromkeys(odd, "modified")


def test_conflicts_show_the_file_on_disk(repo: GitRepo) -> None:
    repo.commit("base", a="1\n", b="1\n", c="1\n")
    repo.git("switch", "-q", "-c", "side")
    (repo.root / "b").unlink()
    repo.commit("side", a="2\n", c="2\n")
    repo.git("switch", "-q", "main")
    (repo.root / "c").unlink()
    repo.commit("main", a="3\n", b="3\n")
    repo.git("merge", "side", check=False)
    assert dirty(repo) == {b"a": "modified", b"b": "modified", b"c": "modified"}
    for name in "abc":
        (repo.root / name).unlink()
    assert dirty(repo) == {b"a": "deleted", b"b": "deleted"}  # c is neither in HEAD nor here


def test_only_gitignore_files_hide_untracked_files(repo: GitRepo, home: Path) -> None:
    """CF-3: neither info/exclude nor the user's global file has a say."""
    (repo.root / ".git/info").mkdir(exist_ok=True)
    (repo.root / ".git/info/exclude").write_text("*.info\n")
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*.xdg\n")
    (home / "global").write_text("*.global\n")
    (home / ".gitconfig").write_text(f"[core]\n\texcludesFile = {home}/global\n")
    repo.commit("rules", **{".gitignore": "*.local\n", "d/.gitignore": "!keep.local\n"})
    for name in ("a.info", "a.xdg", "a.global", "a.local", "d/keep.local", "d/x.local"):
        repo.write(name, "x")
    assert dirty(repo) == dict.fromkeys([b"a.global", b"a.info", b"a.xdg", b"d/keep.local"], "untracked")


def test_configuration_cannot_bend_the_listing(repo: GitRepo) -> None:
    """CF-3 in spirit: settings people like for their own `git status` change nothing here."""
    repo.commit("one", a="1", **{"d/b": "1"})
    repo.write("stashed", "x")
    repo.git("stash", "-u", "-q")
    for name, value in {
        "status.showUntrackedFiles": "no",
        "status.relativePaths": "true",
        "status.branch": "true",
        "status.showStash": "true",
        "status.renames": "copies",
        "diff.renames": "copies",
        "diff.ignoreSubmodules": "none",
        "core.quotePath": "true",
        "color.status": "always",
    }.items():
        repo.git("config", name, value)
    repo.git("mv", "a", "z")
    repo.write("d/new", "x")
    assert dirty(repo) == {b"a": "deleted", b"d/new": "untracked", b"z": "modified"}


def test_nested_repositories_are_named_not_entered(repo: GitRepo, tmp_path: Path) -> None:
    """EL-4: with commits, without any, and as a linked worktree."""
    repo.commit("one", a="1")
    GitRepo.create(repo.root / "lib/with").commit("inner", x="1")
    GitRepo.create(repo.root / "lib/unborn").write("x", "1")
    repo.git("worktree", "add", "-q", str(repo.root / "tree"))
    assert dirty(repo) == dict.fromkeys([b"lib/unborn", b"lib/with", b"tree"], "nested")
    repo.write(".gitignore", "/lib\n/tree\n")
    assert dirty(repo) == {b".gitignore": "untracked"}


def test_submodules_are_not_changes(repo: GitRepo, tmp_path: Path) -> None:
    """EL-4: neither their dirt nor their commit; a file in place of one is."""
    inner = GitRepo.create(tmp_path / "inner")
    inner.commit("inner", x="1")
    allow = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root))
    repo.git(*allow, "sub")
    repo.git(*allow, "other")
    repo.commit("with", plain="1")
    assert dirty(repo) == {}
    (repo.root / "sub/x").write_text("dirty")
    (repo.root / "sub/new").write_text("untracked")
    assert dirty(repo) == {}
    GitRepo(repo.root / "sub").commit("moved on")
    assert dirty(repo) == {}
    shutil.rmtree(repo.root / "other")
    repo.write("other", "a file now")
    assert dirty(repo)[b"other"] == "modified"
    (repo.root / "plain").unlink()
    repo.git("rm", "-q", "--cached", "plain")
    repo.git(*allow, "plain")
    assert dirty(repo)[b"plain"] == "deleted"


@pytest.mark.parametrize("sparse_index", ["--sparse-index", "--no-sparse-index"])
def test_sparse_checkouts_miss_files_by_choice(repo: GitRepo, sparse_index: str) -> None:
    """CS-3: what is outside the cone is not deleted, even when the index moved there."""
    first = repo.commit("one", **{"in/a": "1", "out/b": "1", "out/c": "1"})
    repo.commit("two", **{"out/b": "2"})
    repo.git("sparse-checkout", "set", "--cone", sparse_index, "in")
    assert not (repo.root / "out").exists()
    assert dirty(repo) == {}
    repo.git("reset", "-q", "--soft", first)
    assert dirty(repo) == {}
    repo.write("in/a", "2")
    repo.write("in/new", "x")
    assert dirty(repo) == {b"in/a": "modified", b"in/new": "untracked"}


def test_flags_that_hide_files_are_believed(repo: GitRepo) -> None:
    """CS-3: assume-unchanged and skip-worktree."""
    repo.commit("one", a="1", b="1")
    repo.git("update-index", "--assume-unchanged", "a")
    repo.git("update-index", "--skip-worktree", "b")
    (repo.root / "a").unlink()
    (repo.root / "b").unlink()
    assert dirty(repo) == {}


def test_split_index_linked_worktree_bare_and_lock(repo: GitRepo, tmp_path: Path) -> None:
    repo.commit("one", a="1", b="1")
    repo.git("update-index", "--split-index")
    repo.write("a", "2")
    repo.git("add", "a")
    repo.write("b", "2")
    assert dirty(repo) == {b"a": "modified", b"b": "modified"}
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = GitRepo(tmp_path / "linked")
    assert dirty(linked) == {}
    linked.write("c", "x")
    assert dirty(linked) == {b"c": "untracked"}
    (repo.root / ".git/index.lock").touch()
    assert dirty(repo) == {b"a": "modified", b"b": "modified"}
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    assert list_dirty(found(tmp_path / "bare")) == ()


def test_directories_and_files_trading_places(repo: GitRepo) -> None:
    repo.commit("one", **{"f": "1", "d/a": "1", "e/a": "1"})
    (repo.root / "f").unlink()
    repo.write("f/inner", "x")
    shutil.rmtree(repo.root / "d")
    repo.write("d", "x")
    shutil.rmtree(repo.root / "e")
    (repo.root / "e").symlink_to("f")
    assert dirty(repo) == {
        b"d": "untracked",
        b"d/a": "deleted",
        b"e": "untracked",
        b"e/a": "deleted",
        b"f": "deleted",
        b"f/inner": "untracked",
    }


NAME = st.sampled_from(["a", "b", "d/a", "d/b", "d/e/a", "x.o", "d/x.o"])
ACT = st.sampled_from(
    ["write", "rewrite", "unlink", "chmod", "link", "add", "add -A", "rm --cached", "commit", "stash"]
)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(ACT, NAME), min_size=3, max_size=14))
def test_any_history_of_edits(script: list[tuple[str, str]]) -> None:
    """CS-3: HEAD's tree with the listing applied is the working tree, file by file."""
    with tempfile.TemporaryDirectory() as where:
        repo = GitRepo.create(Path(where))
        repo.commit("base", **{"a": "1", "d/a": "1", ".gitignore": "*.o\n"})
        for turn, (act, name) in enumerate(script):
            _perform(repo, act, name, turn)
        listed = list_dirty(found(repo.root))
        assert _applied(repo, listed) == _on_disk(repo)


def _perform(repo: GitRepo, act: str, name: str, turn: int) -> None:
    target = repo.root / name
    there = os.path.lexists(target)
    if act == "write" or (act == "rewrite" and not target.is_symlink()):
        target.unlink(missing_ok=True)
        repo.write(name, f"{turn}" if act == "write" else "1")
    elif act == "unlink" and there:
        target.unlink()
    elif act == "chmod" and there and not target.is_symlink():
        target.chmod(0o755)
    elif act == "link":
        target.unlink(missing_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to("nowhere")
    elif act in ("add", "add -A"):
        repo.git(*act.split(), "--", name, check=False)
    elif act == "rm --cached":
        repo.git("rm", "-q", "--cached", "--", name, check=False)
    elif act == "commit":
        repo.git("commit", "-q", "--allow-empty", "-m", "step")
    elif act == "stash":
        repo.git("stash", "-q", "-u", check=False)


def _applied(repo: GitRepo, listed: tuple[DirtyPath, ...]) -> dict[bytes, tuple[int, str]]:
    here = found(repo.root)
    tree = read_head(here).tree
    assert tree is not None
    files = {entry.path: (entry.mode, entry.blob) for entry in CliObjects(here).list_entries(tree)}
    for path, kind in listed:
        assert kind in ("modified", "deleted", "untracked")
        if kind == "deleted":
            del files[path]
        else:
            files[path] = _file(repo.root / os.fsdecode(path))
    return files


def _on_disk(repo: GitRepo) -> dict[bytes, tuple[int, str]]:
    """Every file that is tracked or not ignored, read without git's index."""
    known = set(repo.git("ls-files", "-z").split("\0"))
    found = {}
    for base, _, names in os.walk(repo.root):
        for name in names:
            path = os.path.relpath(os.path.join(base, name), repo.root)
            if not path.startswith(".git/") and (path in known or not path.endswith(".o")):
                found[os.fsencode(path)] = _file(repo.root / path)
    return found


def _file(path: Path) -> tuple[int, str]:
    if path.is_symlink():
        return 0o120000, blob_id(os.fsencode(os.readlink(path)))
    return (0o100755 if path.stat().st_mode & 0o100 else 0o100644), blob_id(path.read_bytes())
