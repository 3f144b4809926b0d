"""No ghosts (SN-6, IDX.MUST.001): what was deleted, renamed or replaced is unreachable through every door of a view."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitindex.lifecycle import compact
from gitindex.view.snapshot import SnapshotView
from tests.support import harness
from tests.support.gitrepo import GitRepo

GHOST = "ghostly"
NOTE = "---\ntags: [ghostly]\nsession: ghostly\n---\n# ghostly heading\n\nghostly text\n"
CODE = "import ghostly_module\n\ndef ghostly():\n    '''ghostly doc'''\n    return ghostly_call()\n"
TABLES = ("symbol", "import", "call", "callee", "identifier", "entity")


def reachable(view: SnapshotView, word: str) -> set[str]:
    """The doors through which `word` can still be seen."""
    found = set()
    for document in view.lexical.iter_documents():
        if word in document.text or word in document.path or word in document.symbol:
            found.add("lexical")
    for field in ("terms", "idents", "names", "path_terms"):
        hits = view.lexical.search(_query(view, field, f"{word}_call" if field == "idents" else word), 50)
        if any(word in (document.text + document.path) for _, document in hits):
            found.add(f"lexical {field}")
    for at in range(len(view.manifest.segments)):
        for batch in view.chunk_batches(at):
            if any(word in (row["text"] + row["path_key"]) for row in batch.to_pylist()):
                found.add("chunks")
    if view.manifest.dimension:
        _, names = view.load_vectors(["path_key", "text"])
        if any(
            word in text or word in path for path, text in zip(names["path_key"], names["text"], strict=True)
        ):
            found.add("vectors")
    for table in TABLES:
        for row in view.select(f"SELECT f.path, t.* FROM {table} t JOIN file f ON f.id = t.file"):
            if word in row.path or any(word in str(value) for value in row.values):
                found.add(table)
    for record in view.records():
        if word in record.path:
            found.add("records")
    return found


def _query(view: SnapshotView, field: str, word: str):
    import tantivy

    return tantivy.Query.term_query(view.lexical.schema, field, word)


def delete(repo: GitRepo) -> None:
    (repo.root / "ghostly.py").unlink()
    (repo.root / "ghostly.md").unlink()


def replace(repo: GitRepo) -> None:
    delete(repo)
    repo.write("plain.py", "def plain(): pass\n")
    repo.write("note.md", "# plain\n")


def rename(repo: GitRepo) -> None:
    repo.git("mv", "ghostly.py", "renamed.py")
    repo.git("mv", "ghostly.md", "renamed.md")


def ignore(repo: GitRepo) -> None:
    repo.write(".gitindexignore", "gh*\n")


def outgrow(repo: GitRepo) -> None:
    for name in ("ghostly.py", "ghostly.md"):
        repo.write(name, (repo.root / name).read_bytes() + b"\0")


def relink(repo: GitRepo) -> None:
    delete(repo)
    for name in ("ghostly.py", "ghostly.md"):
        (repo.root / name).symlink_to("/etc/hostname")


@pytest.mark.parametrize("provider", [pytest.param("none", marks=pytest.mark.slow), "fake"])
@pytest.mark.parametrize("banish", [delete, rename, ignore, outgrow, relink, replace])
def test_no_ghosts(banish: Callable[[GitRepo], None], provider: str, repo: GitRepo):
    """SN-6: dirty, committed, and after compaction."""
    config = f"[embedding]\nprovider = '{provider}'\n"
    repo.commit(
        "one", **{".gitindex.toml": config, "ghostly.py": CODE, "ghostly.md": NOTE, "keep.py": "K = 1\n"}
    )
    harness.index(repo.root)
    with harness.view(repo.root) as view:
        everything = reachable(view, GHOST)
        assert everything >= {
            "lexical",
            "lexical terms",
            "lexical idents",
            "chunks",
            "symbol",
            "call",
            "callee",
            "identifier",
            "entity",
        }
        assert ("vectors" in everything) == (provider == "fake")
    banish(repo)
    for step in ("dirty", "committed", "compacted"):
        if step == "committed":
            repo.commit("banished")
        if step != "compacted":
            harness.index(repo.root)
        else:
            compact.compact(harness.codebase(repo.root).layout)
        with harness.view(repo.root) as view:
            left = reachable(view, GHOST)
            if banish is rename:
                assert all("ghostly" not in record.path for record in view.records())
                assert view.record("ghostly.py") is None
                assert {d.path for d in view.lexical.iter_documents() if GHOST in d.text} == {
                    "renamed.py",
                    "renamed.md",
                }
            else:
                # A path with a skip is still told about; its content is gone.
                assert left <= ({"records"} if banish in (ignore, outgrow, relink) else set()), step
    assert harness.audited(repo.root).is_clean


def test_replaced_content_leaves_no_old_row(repo: GitRepo):
    """SN-6: the path lives on, its old rows do not; also when it comes back after a deletion."""
    repo.commit("one", **{"a.py": CODE})
    harness.index(repo.root)
    for body in ("def second(): pass\n", None, "def third(): pass\n"):
        if body is None:
            (repo.root / "a.py").unlink()
        else:
            repo.write("a.py", body)
        harness.index(repo.root)
        with harness.view(repo.root) as view:
            assert reachable(view, GHOST) == set()
            assert len(list(view.lexical.iter_documents())) == (0 if body is None else 2)
    compact.compact(harness.codebase(repo.root).layout)
    with harness.view(repo.root) as view:
        assert len(view.manifest.segments) == 1
        assert view.manifest.tombstone_count == 0
        assert reachable(view, GHOST) == set()
        assert [
            row.values[0]
            for row in view.select("SELECT f.path, s.name FROM symbol s JOIN file f ON f.id = s.file")
        ] == ["third"]


def test_a_pinned_view_does_not_change(repo: GitRepo):
    """SN-6: what was open keeps answering as it was, whatever is published meanwhile."""
    repo.commit("one", **{"a.py": CODE})
    harness.index(repo.root)
    with harness.view(repo.root) as pinned:
        before = reachable(pinned, GHOST)
        repo.commit("two", **{"a.py": "def plain(): pass\n"})
        harness.index(repo.root)
        compact.compact(harness.codebase(repo.root).layout)
        assert reachable(pinned, GHOST) == before
        with harness.view(repo.root) as fresh:
            assert reachable(fresh, GHOST) == set()


def test_no_ghosts_on_disk_after_gc(repo: GitRepo):
    """SN-8, SN-9: once compacted and collected, no file of the store holds the bytes any more."""
    from gitindex.lifecycle import gc

    secret = "hunter2hunter2"
    repo.commit("one", **{"a.py": f"password = '{secret}'\n", "b.py": "B = 1\n"})
    harness.index(repo.root)
    repo.commit("two", **{"a.py": "password = None\n"})
    harness.index(repo.root)
    layout = harness.codebase(repo.root).layout
    compact.compact(layout)
    for at in range(5):
        repo.commit(f"more {at}", **{"b.py": f"B = {at + 2}\n"})
        harness.index(repo.root)
    compact.compact(layout)
    gc.collect(layout, now=harness.LATER)
    assert not any(
        secret.encode() in path.read_bytes() for path in Path(layout.base).rglob("*") if path.is_file()
    )
