"""SN-3, RE-3: large lexical segments survive many changes, and the index still holds exactly what it should."""

from __future__ import annotations

import json
from pathlib import Path

from gitindex.extract.extractor import extract
from gitindex.model.settings import IndexSettings
from gitindex.segment import lexical_index
from gitindex.segment.lexical_index import LexicalIndex, LexicalWriter


def write(path: Path, gone: list[str], files: dict[str, str]) -> None:
    writer = LexicalWriter(path, bulk=False)
    for name in [*gone, *files]:
        writer.delete(name)
    for name, text in files.items():
        writer.add(name, "python", extract(name, text.encode(), IndexSettings()).chunks)
    writer.finish()


def stems(path: Path) -> set[str]:
    return {segment["segment_id"] for segment in json.loads((path / "meta.json").read_bytes())["segments"]}


def test_a_large_segment_is_never_merged_away(tmp_path: Path):
    path = tmp_path / "lexical"
    lexical_index.create(path)
    text = {f"base_{n}.py": f"def base_{n}():\n    return {n}\n" for n in range(60)}
    write(path, [], text)
    (base,) = stems(path)
    for turn in range(30):
        changed = {
            f"base_{turn}.py": f"def changed_{turn}():\n    return 'new'\n",
            f"extra_{turn}.py": f"E = {turn}\n",
        }
        gone = [f"base_{turn + 30}.py"] if turn % 3 == 0 else []
        text = {name: body for name, body in {**text, **changed}.items() if name not in gone}
        write(path, gone, changed)
        assert base in stems(path)
        assert len(stems(path)) < 16
        assert not (path / "aside").exists()
    found = sorted((document.path, document.text) for document in LexicalIndex(path).iter_documents())
    expected = sorted(
        (name, chunk.text)
        for name, body in text.items()
        for chunk in extract(name, body.encode(), IndexSettings()).chunks
    )
    assert found == expected
    listed = set(json.loads((path / ".managed.json").read_bytes()))
    assert listed <= {file.name for file in path.iterdir()}
