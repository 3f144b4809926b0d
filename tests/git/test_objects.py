"""Both object readers keep one contract (CS-1, CS-2): git and libgit2 say the same of every tree."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitindex.errors import GitError, MissingObjects
from gitindex.git.objects import Objects, TreeChange, TreeEntry, open_objects
from gitindex.git.objects_cli import CliObjects
from gitindex.git.objects_pygit2 import Pygit2Objects, open_pygit2
from gitindex.git.repo import Repo, discover
from gitindex.model.ids import blob_id
from gitindex.userconfig import UserConfig
from tests.support.gitrepo import GitRepo

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
ODD = [
    b"new\nline",
    b"sp ace",
    b"tab\t",
    b"\xff\xfe",
    b'quote"',
    b"back\\slash",
    b":(top)x",
    b"*",
    "é".encode(),
    b"-x",
]
MIB = 1 << 20


def found(where: Path) -> Repo:
    repo = discover(where)
    assert repo is not None
    return repo


def pygit2_objects(repo: Repo) -> Objects:
    opened = open_pygit2(repo)
    assert opened is not None
    return opened


@pytest.fixture(params=[CliObjects, pygit2_objects], ids=["cli", "pygit2"])
def opener(request: pytest.FixtureRequest) -> Callable[[Repo], Objects]:
    made: Callable[[Repo], Objects] = request.param
    return made


@pytest.fixture
def rich(repo: GitRepo, tmp_path: Path) -> GitRepo:
    """Every kind of entry git can hold."""
    for name in ODD:
        repo.write(os.fsdecode(b"odd/" + name), name)
    for name in ("a", "a.b", "a-b", "ab/c", "a0", "deep/er/still/x"):
        repo.write(name, name)
    repo.write("run", "#!/bin/sh\n").chmod(0o755)
    (repo.root / "link").symlink_to("../outside")
    repo.write("empty", "")
    inner = GitRepo.create(tmp_path / "inner")
    inner.commit("inner", x="1")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.root), "sub")
    repo.commit("rich")
    return repo


def tree_of(repo: GitRepo, rev: str = "HEAD") -> str:
    return repo.git("rev-parse", f"{rev}^{{tree}}")


def test_entries_are_all_there_in_raw_order(rich: GitRepo, opener: Callable[[Repo], Objects]) -> None:
    """CS-1: byte-safe paths; EL-4: submodules appear as what they are."""
    with opener(found(rich.root)) as objects:
        entries = list(objects.list_entries(tree_of(rich)))
        assert [entry.path for entry in entries] == sorted(entry.path for entry in entries)
        modes = {entry.path: entry.mode for entry in entries}
        assert {b"odd/" + name for name in ODD} <= modes.keys()
        assert (modes[b"sub"], modes[b"link"], modes[b"run"]) == (0o160000, 0o120000, 0o100755)
        assert modes[b"a"] == 0o100644
        blobs = {entry.path: entry.blob for entry in entries}
        assert blobs[b"odd/" + ODD[0]] == blob_id(ODD[0])
        assert list(objects.list_entries(EMPTY)) == []


def test_one_entry_is_found_by_its_exact_path(rich: GitRepo, opener: Callable[[Repo], Objects]) -> None:
    with opener(found(rich.root)) as objects:
        tree = tree_of(rich)
        for entry in objects.list_entries(tree):
            assert objects.find_entry(tree, entry.path) == entry
        for path in (b"odd", b"deep/er", b"nope", b"a/b", b"deep", b"sub/x", b"AB/c", b"odd/?p ace"):
            assert objects.find_entry(tree, path) is None
        assert objects.find_entry(EMPTY, b"a") is None


def test_diff_lists_each_side(rich: GitRepo, opener: Callable[[Repo], Objects]) -> None:
    """CS-1: adds, deletes, content, mode and type changes; a file that becomes a directory; no renames."""
    old = tree_of(rich)
    rich.git("mv", "a0", "z0")
    (rich.root / "run").chmod(0o644)
    (rich.root / "a").unlink()
    rich.write("a/now/dir", "x")
    (rich.root / "link").unlink()
    rich.write("link", "now a file")
    rich.write("a.b", "changed")
    rich.git("rm", "-q", "-f", "sub")
    rich.write("sub", "now a file")
    rich.commit("changed")
    with opener(found(rich.root)) as objects:
        changes = objects.diff(old, tree_of(rich))
        shape = {change.path: tuple(side and side.mode for side in change[1:]) for change in changes}
        assert list(shape) == sorted(shape)
        assert shape.pop(b".gitmodules")[0] == 0o100644
        assert shape == {
            b"a": (0o100644, None),
            b"a.b": (0o100644, 0o100644),
            b"a/now/dir": (None, 0o100644),
            b"a0": (0o100644, None),
            b"link": (0o120000, 0o100644),
            b"run": (0o100755, 0o100644),
            b"sub": (0o160000, 0o100644),
            b"z0": (None, 0o100644),
        }
        for path, before, after in changes:
            assert before is None or before.path == path
            assert after is None or after == objects.find_entry(tree_of(rich), path)


def test_diff_against_nothing_and_against_itself(rich: GitRepo, opener: Callable[[Repo], Objects]) -> None:
    """CS-2: a clean build is a diff against nothing."""
    tree = tree_of(rich)
    with opener(found(rich.root)) as objects:
        entries = list(objects.list_entries(tree))
        assert objects.diff(tree, tree) == []
        assert objects.diff(None, tree) == objects.diff(EMPTY, tree)
        assert objects.diff(None, tree) == [TreeChange(entry.path, None, entry) for entry in entries]
        assert objects.diff(tree, EMPTY) == [TreeChange(entry.path, entry, None) for entry in entries]


def test_reads_blobs_in_the_order_asked(repo: GitRepo, opener: Callable[[Repo], Objects]) -> None:
    """CS-3: committed content by blob id; a large blob only tells its size."""
    contents = [b"", b"\n", b"missing\n", os.urandom(70_000), b"x" * (2 * MIB)] + [
        b"n%d" % n for n in range(300)
    ]
    for at, content in enumerate(contents):
        repo.write(f"f{at}", content)
    repo.commit("many")
    wanted = [blob_id(content) for content in reversed(contents)] + [blob_id(b"")] * 2
    with opener(found(repo.root)) as objects:
        blobs = list(objects.read(iter(wanted), MIB))
        assert [blob.id for blob in blobs] == wanted
        expected = [*reversed(contents), b"", b""]
        assert [blob.size for blob in blobs] == [len(content) for content in expected]
        assert [blob.data for blob in blobs] == [
            content if len(content) <= MIB else None for content in expected
        ]
        assert list(objects.read([], MIB)) == []


def test_a_reader_that_stops_early_disturbs_nobody(repo: GitRepo, opener: Callable[[Repo], Objects]) -> None:
    repo.commit("two", a="1", b="2")
    one, two = blob_id(b"1"), blob_id(b"2")
    with opener(found(repo.root)) as objects:
        stopped = objects.read([one, two, one], MIB)
        next(stopped)
        other = objects.read([two], MIB)
        assert next(other).data == b"2"
        assert next(stopped).data == b"2"
        stopped.close()  # type: ignore[attr-defined]
        assert [blob.data for blob in objects.read([one], MIB)] == [b"1"]


def test_missing_objects_are_named(repo: GitRepo, opener: Callable[[Repo], Objects]) -> None:
    """CS-2: an object that is not there is an error, never an empty file."""
    commit = repo.commit("one", a="1")
    nowhere = "12" * 20
    with opener(found(repo.root)) as objects:
        assert objects.has(commit)
        assert objects.has(blob_id(b"1"))
        assert objects.has(EMPTY)
        assert not objects.has(nowhere)
        assert not objects.has(nowhere)
        for asked in (nowhere, commit, tree_of(repo)):
            with pytest.raises(GitError, match=asked):
                list(objects.read([blob_id(b"1"), asked], MIB))
        with pytest.raises(GitError, match=nowhere):
            list(objects.list_entries(nowhere))
        with pytest.raises(GitError, match=nowhere):
            objects.diff(nowhere, tree_of(repo))
        with pytest.raises(GitError, match=nowhere):
            objects.diff(tree_of(repo), nowhere)


def test_corrupt_objects_are_errors(repo: GitRepo, opener: Callable[[Repo], Objects]) -> None:
    repo.commit("one", a="some content")
    blob = blob_id(b"some content")
    loose = repo.root / ".git/objects" / blob[:2] / blob[2:]
    loose.chmod(0o644)
    loose.write_bytes(b"garbage")
    with opener(found(repo.root)) as objects, pytest.raises(GitError):
        list(objects.read([blob], MIB))


@pytest.mark.parametrize("kind", ["blob", "tree"])
def test_an_object_that_is_another_is_an_error(repo: GitRepo, kind: str) -> None:
    """Well-formed, but not what its name says: libgit2 is told not to look, so we do."""
    repo.commit("one", a="some content")
    asked = {"blob": blob_id(b"some content"), "tree": tree_of(repo)}[kind]
    repo.commit("two", a="quite another")
    other = {"blob": blob_id(b"quite another"), "tree": tree_of(repo)}[kind]
    loose = repo.root / ".git/objects"
    (loose / asked[:2] / asked[2:]).unlink()
    shutil.copyfile(loose / other[:2] / other[2:], loose / asked[:2] / asked[2:])
    opened = open_pygit2(found(repo.root))
    assert opened is not None
    with opened as objects, pytest.raises(GitError, match="damaged"):
        list(objects.read([asked], MIB) if kind == "blob" else objects.list_entries(asked))


def test_replaced_objects_keep_their_own_bytes(repo: GitRepo, opener: Callable[[Repo], Objects]) -> None:
    """CS-2: an id means its content, whatever refs/replace says on this machine."""
    repo.commit("one", a="old", b="new")
    repo.git("replace", blob_id(b"old"), blob_id(b"new"))
    with opener(found(repo.root)) as objects:
        assert [blob.data for blob in objects.read([blob_id(b"old")], MIB)] == [b"old"]


def test_shallow_packed_worktree_and_bare(
    rich: GitRepo, tmp_path: Path, opener: Callable[[Repo], Objects]
) -> None:
    """CS-2: no history needed; the store of objects may be anywhere."""
    tree = tree_of(rich)
    expected = list(CliObjects(found(rich.root)).list_entries(tree))
    rich.git("gc", "-q")
    rich.git("clone", "-q", "--depth=1", f"file://{rich.root}", str(tmp_path / "shallow"))
    rich.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    rich.git("clone", "-q", "--shared", ".", str(tmp_path / "alternates"))
    rich.git("worktree", "add", "-q", str(tmp_path / "linked"))
    for name in ("repo", "shallow", "bare", "alternates", "linked"):
        with opener(found(tmp_path / name)) as objects:
            assert list(objects.list_entries(tree)) == expected
            assert len(objects.diff(None, tree)) == len(expected)


def test_old_group_writable_modes_read_as_git_prints_them(
    repo: GitRepo, opener: Callable[[Repo], Objects]
) -> None:
    """Early tools stored 100664; the two readers must not disagree about a file's mode."""
    old = repo.commit("one", a="", b="x")
    raw = b"100664 a\0" + bytes.fromhex(blob_id(b"x"))
    command = ["git", "-C", str(repo.root), "hash-object", "-w", "-t", "tree", "--literally", "--stdin"]
    tree = subprocess.run(command, input=raw, capture_output=True, check=True).stdout.decode().strip()
    with opener(found(repo.root)) as objects:
        assert [entry.mode for entry in objects.list_entries(tree)] == [0o100644]
        changed = [change.new.mode for change in objects.diff(tree_of(repo, old), tree) if change.new]
        assert changed == [0o100644]


def test_chooses_libgit2_only_where_it_can(repo: GitRepo, tmp_path: Path) -> None:
    """SHA-256 and partial clones are read by the git program, in bulk too."""
    repo.commit("one", a="1")
    with open_objects(found(repo.root)) as quick, open_objects(found(repo.root), bulk=True) as bulk:
        assert isinstance(quick, CliObjects)
        assert isinstance(bulk, Pygit2Objects)
    modern = GitRepo.create(tmp_path / "modern", "--object-format=sha256")
    modern.commit("one", a="1", **{"d/b": "2"})
    with open_objects(found(modern.root), bulk=True) as objects:
        assert isinstance(objects, CliObjects)
        entries = list(objects.list_entries(tree_of(modern)))
        assert entries == [
            TreeEntry(b"a", 0o100644, blob_id(b"1", "sha256")),
            TreeEntry(b"d/b", 0o100644, blob_id(b"2", "sha256")),
        ]
        assert [
            change.new
            for change in objects.diff(modern.git("hash-object", "-t", "tree", "/dev/null"), tree_of(modern))
        ] == entries
        assert [blob.data for blob in objects.read([entries[1].blob], MIB)] == [b"2"]


def test_partial_clones_fetch_only_where_the_user_allows_it(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CF-5: `has` answers for this machine alone; `read` asks the promisor when allowed, else names the next step."""
    repo.commit("one", a="1")
    repo.git("config", "uploadpack.allowFilter", "true")
    repo.git("config", "uploadpack.allowAnySHA1InWant", "true")
    clone = tmp_path / "partial"
    repo.git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo.root}", str(clone))
    with open_objects(found(clone), bulk=True) as objects:
        assert isinstance(objects, CliObjects)
        assert [entry.path for entry in objects.list_entries(tree_of(repo))] == [b"a"]
        assert not objects.has(blob_id(b"1"))
        assert not objects.has(blob_id(b"1"))
        assert objects.has(tree_of(repo))
        with pytest.raises(MissingObjects) as caught:
            list(objects.read([blob_id(b"1")], MIB))
        assert caught.value.hint is not None
        assert "lazy_fetch = true" in caught.value.hint
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")
    allowed = discover(clone, user=UserConfig(lazy_fetch=True))
    assert allowed is not None
    with open_objects(allowed) as objects:
        assert [blob.data for blob in objects.read([blob_id(b"1")], MIB)] == [b"1"]
    with open_objects(found(clone)) as objects:
        assert objects.has(blob_id(b"1"))


NAME = st.sampled_from([b"a", b"b", b"a.", b"a-", b"c\n", b"\xff"])
FILES = st.dictionaries(
    st.lists(NAME, min_size=1, max_size=3).map(b"/".join),
    st.tuples(st.sampled_from([0o100644, 0o100755, 0o120000, 0o160000]), st.sampled_from([b"", b"x", b"y"])),
    max_size=8,
)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(FILES, FILES)
def test_any_two_trees_read_and_diff_alike(
    old: dict[bytes, tuple[int, bytes]], new: dict[bytes, tuple[int, bytes]]
) -> None:
    """CS-2: equal results from both readers, and the diff is exactly the difference of the listings."""
    made = GitRepo.create(_scratch())
    trees = [_plant(made, files) for files in (old, new)]
    here = found(made.root)
    with CliObjects(here) as cli, pygit2_objects(here) as bulk:
        listings = [[list(objects.list_entries(tree)) for tree in trees] for objects in (cli, bulk)]
        assert listings[0] == listings[1]
        changes = cli.diff(trees[0], trees[1])
        assert changes == bulk.diff(trees[0], trees[1])
        assert changes == list(_difference(*listings[0]))


@cache
def _scratch() -> Path:
    """One repository for all examples: trees do not disturb each other."""
    where = tempfile.TemporaryDirectory()
    atexit.register(where.cleanup)
    return Path(where.name)


def _plant(made: GitRepo, files: dict[bytes, tuple[int, bytes]]) -> str:
    """Write a tree through the index; where names clash as file and directory, the later one wins."""
    lines = [
        b"%o %s\t%s\0" % (mode, (b"1" * 40 if mode == 0o160000 else blob_id(content).encode()), path)
        for path, (mode, content) in files.items()
    ]
    made.git("read-tree", "--empty")
    command = ["git", "-C", str(made.root), "update-index", "-z", "--add", "--replace", "--index-info"]
    subprocess.run(command, input=b"".join(lines), check=True)
    return made.git("write-tree", "--missing-ok")


def _difference(old: list[TreeEntry], new: list[TreeEntry]) -> Iterator[TreeChange]:
    before, after = ({entry.path: entry for entry in side} for side in (old, new))
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            yield TreeChange(path, before.get(path), after.get(path))
