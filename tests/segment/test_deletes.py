"""SN-6: no delete is lost, whatever Tantivy merges meanwhile."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from gitindex.extract.extractor import extract
from gitindex.model.rows import Chunk
from gitindex.model.settings import IndexSettings
from gitindex.segment import lexical_index, lexicalparts
from gitindex.segment.lexical_index import LexicalIndex, LexicalWriter
from gitindex.segment.lexicalunion import unite
from gitindex.store import atomic

LARGE, SMALL = 6, 8  # segments: those that stand aside, and enough others for a merge


@cache
def chunks(name: str, text: str) -> tuple[Chunk, ...]:
    return tuple(extract(name, text.encode(), IndexSettings()).chunks)


def write(path: Path, deleted: list[str], added: dict[str, str], *, copies: int = 1) -> None:
    writer = LexicalWriter(path, bulk=False)
    for name in deleted:
        writer.delete(name)
    for name, text in added.items():
        writer.add(name, "python", chunks(name, text) * copies)
    writer.finish()


def segments(path: Path) -> list[object]:
    return list(json.loads((path / "meta.json").read_bytes())["segments"])


def segment(path: Path, label: str, files: int, *, delete: bool) -> Path:
    """An index of one segment with `files` files; with `delete`, one more was there until the last commit."""
    lexical_index.create(path)
    write(path, [], {f"{label}_{n}.py": f"OLD = {n}\n" for n in range(files + delete)})
    if delete:
        listing = path / "meta.json"
        # Tantivy numbers operations: all parts reach the same number, as they do after one sync.
        listing.write_text(json.dumps({**json.loads(listing.read_bytes()), "opstamp": 1000}))
        write(path, [f"{label}_{files}.py"], {})
    return path


def threatened(folder: Path) -> Path:
    """Six large segments and eight small ones. All small ones but the largest had deletes in the last commit."""
    parts = [segment(folder / f"large_{n}", f"large_{n}", 60, delete=False) for n in range(LARGE)]
    parts.append(segment(folder / "small_0", "small_0", 12, delete=False))
    parts += [segment(folder / f"small_{n}", f"small_{n}", 4, delete=True) for n in range(1, SMALL)]
    target = folder / "whole"
    unite(parts, target, atomic.link_or_copy)
    return target


def contents(path: Path) -> list[tuple[str, int, str]]:
    return sorted((one.path, one.ordinal, one.text) for one in LexicalIndex(path).iter_documents())


def expected(files: dict[str, str]) -> list[tuple[str, int, str]]:
    return sorted((name, one.ordinal, one.text) for name, text in files.items() for one in chunks(name, text))


def old_files() -> dict[str, str]:
    sizes = (
        {f"large_{n}": 60 for n in range(LARGE)} | {f"small_{n}": 4 for n in range(SMALL)} | {"small_0": 12}
    )
    return {f"{label}_{n}.py": f"OLD = {n}\n" for label, size in sizes.items() for n in range(size)}


@pytest.mark.parametrize("first", [f"small_{n}_0.py" for n in range(SMALL)])
@pytest.mark.parametrize("others", [0, 100])
def test_a_merge_takes_no_delete_away(tmp_path: Path, first: str, others: int):
    path = threatened(tmp_path)
    files = old_files()
    assert contents(path) == expected(files)
    names = [first, *[name for name in files if name != first][:others]]
    changed = dict.fromkeys(names, "NEW = 1\n")
    write(path, list(changed), changed)
    assert contents(path) == expected({**files, **changed})


def test_a_change_of_one_file_after_a_large_one_loses_nothing(tmp_path: Path):
    """The same by ordinary changes: a very large segment joins those that stand aside, so eight others are left."""
    path = tmp_path / "lexical"
    lexical_index.create(path)
    for n in range(LARGE):
        write(path, [], {f"large_{n}.py": "OLD = 1\n"}, copies=2400)
    for n in range(SMALL - 1):
        write(path, [], {f"small_{n}_{k}.py": "OLD = 1\n" for k in range(3)})
    write(path, [f"small_{n}_2.py" for n in range(1, SMALL - 1)], {"huge.py": "OLD = 1\n"}, copies=9000)
    before = LexicalIndex(path).document_count
    write(path, ["small_3_0.py"], {"small_3_0.py": "NEW = 1\n"})
    assert LexicalIndex(path).document_count == before
    assert len(segments(path)) < LARGE + SMALL  # there was a merge


@pytest.mark.parametrize(("committed", "left"), [(6, 7), (7, 1)])
def test_tantivy_merges_eight_segments_and_no_fewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, committed: int, left: int
):
    """Below eight, one commit for deletes and documents is safe: `lexicalparts.may_merge` relies on the number."""
    monkeypatch.setattr(lexicalparts, "move_large_aside", lambda path: None)
    parts = [segment(tmp_path / str(n), f"part_{n}", 2, delete=False) for n in range(committed)]
    path = tmp_path / "whole"
    unite(parts, path, atomic.link_or_copy)
    write(path, [], {"new.py": "NEW = 1\n"})
    assert len(segments(path)) == left


def test_a_delete_after_an_added_document_is_refused(tmp_path: Path):
    path = tmp_path / "lexical"
    lexical_index.create(path)
    writer = LexicalWriter(path, bulk=False)
    writer.add("one.py", "python", chunks("one.py", "ONE = 1\n"))
    with pytest.raises(RuntimeError, match=r"one\.py"):
        writer.delete("one.py")
    writer.finish()
    assert contents(path) == expected({"one.py": "ONE = 1\n"})
