"""What a segment holds, seen from outside: LanceDB's own client, recomputed hashes, the files' own bytes (SN-1, SN-3)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from gitindex.model import ids, manifest
from gitindex.model.paths import casefold_key
from gitindex.model.rows import Chunk
from gitindex.model.versions import CHUNKER_VERSION
from gitindex.segment import chunk_table
from gitindex.segment.chunk_table import MARKER_KIND
from gitindex.store import manifests
from tests.support import harness
from tests.support.gitrepo import GitRepo

FILES = {
    "Alpha.py": '"""Module."""\n\nimport os\n\n\nclass Alpha:\n    """Doc."""\n\n    def beta(self):\n        return os.name\n',
    "web/app.ts": "export function run(x: number): number {\n  return x + 1;\n}\n",
    "docs/note.md": "---\ntags: [a, b]\ndate: 2024-05-01\nsession: s1\n---\n# Title\n\nSome text with ünïcode.\n",
    "empty.py": "",
}


def test_a_lancedb_client_opens_the_tables(repo: GitRepo):
    """SN-1, C-4: one table per segment, opened by the client; the marker row stands in the newest."""
    import lancedb

    repo.commit("one", **{".gitindex.toml": "[embedding]\nprovider = 'fake'\n", **FILES})
    harness.index(repo.root)
    repo.commit("two", **{"empty.py": "X = 1\n"})
    report = harness.index(repo.root)
    codebase = harness.codebase(repo.root)
    with harness.view(repo.root) as view:
        names = [segment.id for segment in view.manifest.segments]
    database = lancedb.connect(str(codebase.layout.tables))
    for name in names:
        table = database.open_table(name)
        assert table.count_rows() > 0
        assert table.version == 1, "written once, never changed"
    newest = database.open_table(names[-1]).search().where(f"kind = '{MARKER_KIND}'").limit(5).to_list()
    assert len(newest) == 1
    marker = json.loads(newest[0]["text"])
    assert marker["kind"] == MARKER_KIND
    assert marker["runId"] == report.snapshot_id
    assert marker["codebasePath"] == str(repo.root)
    assert marker["totalChunks"] == report.counts["chunks"]
    assert names[0].startswith("seg_")


def test_rows_conform_to_the_schema(repo: GitRepo):
    """SN-3: every id and hash can be computed again from the file; text is the file's own bytes."""
    repo.commit("one", **FILES)
    harness.index(repo.root)
    seen: dict[str, list[int]] = {}
    with harness.view(repo.root) as view:
        for at in range(len(view.manifest.segments)):
            for batch in view.chunk_batches(at):
                for row in batch.to_pylist():
                    seen.setdefault(row["path_key"], []).append(row["ordinal"])
                    check_row(row, FILES[row["path_key"]].encode())
        assert batch.schema.metadata in (None, {b"gitindex:chunk_row_schema": b"1"})
    assert set(seen) == set(FILES)
    assert all(sorted(ordinals) == list(range(len(ordinals))) for ordinals in seen.values())


def check_row(row: dict, data: bytes) -> None:
    text = row["text"]
    assert row["path_key_ci"] == casefold_key(row["path_key"])
    assert row["file_hash"] == hashlib.sha256(data).digest()
    assert row["chunk_hash"] == hashlib.sha256(text.encode()).digest()
    assert row["chunker_version"] == CHUNKER_VERSION
    parts = (row["chunk_hash"].hex(), CHUNKER_VERSION, row["kind"])
    assert row["chunk_id"] == hashlib.sha256("\0".join(parts).encode()).hexdigest()
    parts = (row["path_key"], row["chunk_id"], str(row["ordinal"]))
    assert row["row_id"] == hashlib.sha256("\0".join(parts).encode()).hexdigest()
    assert (row["kind"] == "anchor") == (row["ordinal"] == 0)
    if row["kind"] == "text":
        assert text == data[row["byte_start"] : row["byte_end"]].decode()
        assert row["start_line"] == data[: row["byte_start"]].count(b"\n") + 1
        assert row["end_line"] >= row["start_line"]


def test_a_rename_keeps_chunk_ids_and_embeds_nothing(repo: GitRepo, monkeypatch):
    """SN-3: content identity has no path; the cache answers for every chunk."""
    from gitindex.indexing import vectors

    made: list[vectors.Vectors] = []
    real = vectors.Vectors.__init__

    def remember(self, *arguments, **named):
        real(self, *arguments, **named)
        made.append(self)

    monkeypatch.setattr(vectors.Vectors, "__init__", remember)
    repo.commit(
        "one", **{".gitindex.toml": "[embedding]\nprovider = 'fake'\n", "old/name.py": FILES["Alpha.py"]}
    )
    harness.index(repo.root)
    assert made[-1].embedded > 0
    before = chunk_ids(repo)
    repo.git("mv", "old/name.py", "moved.py")
    report = harness.index(repo.root)
    assert report.changes["rename"] == 1
    assert (made[-1].embedded, made[-1].reused > 0) == (0, True)
    assert chunk_ids(repo) == before


def chunk_ids(repo: GitRepo) -> set[str]:
    with harness.view(repo.root) as view:
        return {
            identity
            for at in range(len(view.manifest.segments))
            for batch in view.chunk_batches(at, ["path_key", "chunk_id"])
            for identity in batch.column("chunk_id").to_pylist()
        }


def test_the_vector_cache_is_bounded_and_forgets_the_least_recent(tmp_path):
    """SN-3: LRU; a damaged vector counts as missing."""
    import sqlite3

    import numpy as np

    from gitindex.indexing.vectors import VectorCache

    cache = VectorCache(tmp_path, "model@1", max_vectors=3)
    names = [ids.sha256_hex(bytes([at])) for at in range(5)]
    for at, name in enumerate(names[:3]):
        cache.put({name: np.full(4, at, np.float32)})
    with sqlite3.connect(next(tmp_path.glob("*.sqlite"))) as db:  # time passes
        db.executemany("UPDATE vector SET used = used - ?", [(100,)])
    db.close()
    assert set(cache.get(names[:1])) == {names[0]}
    cache.put({names[3]: np.zeros(4, np.float32)})
    found = cache.get(names)
    assert len(found) == 3
    assert names[0] in found
    assert names[3] in found
    assert (found[names[0]] == np.zeros(4, np.float32)).all()
    cache.close()
    with sqlite3.connect(next(tmp_path.glob("*.sqlite"))) as db:
        db.execute("UPDATE vector SET row = zeroblob(length(row))")
    db.close()
    assert VectorCache(tmp_path, "model@1", max_vectors=3).get(names) == {}
    assert VectorCache(tmp_path, "model@2", max_vectors=3).get(names) == {}, "another model, another cache"


def test_a_manifest_reads_back_as_written(repo: GitRepo):
    """SN-2: self-contained: every artifact with size and hash, git state, counts, lease epoch, errors."""
    commit = repo.commit("one", **FILES)
    harness.index(repo.root)
    repo.commit("two", **{"Alpha.py": "A = 1\n"})
    harness.index(repo.root)
    layout = harness.codebase(repo.root).layout
    with harness.view(repo.root) as view:
        found = view.manifest
    data = json.loads(layout.manifest(found.snapshot_id).read_bytes())
    assert manifest.from_json(data, "here") == found
    assert manifests.read(layout, found.snapshot_id) == found
    assert data["schema_version"] == 1
    assert data["chunk_row_schema_version"] == 1
    assert data["git"]["head_sha"] != commit
    assert data["lease_epoch"] >= 2
    assert [segment["ref_type"] for segment in data["segments"]] == ["lancedb_table"] * 2
    for artifact in found.artifacts():
        path = layout.base / artifact.path
        assert path.stat().st_size == artifact.size_bytes
        assert hashlib.sha256(path.read_bytes()).hexdigest() == artifact.sha256
    on_disk = {
        str(path.relative_to(layout.base))
        for segment in found.segments
        for folder in (layout.table(segment.id), layout.segment(segment.id))
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert on_disk <= {artifact.path for artifact in found.artifacts()}, "no file outside the manifest"


@pytest.mark.parametrize("dimension", [0, 2])
@pytest.mark.parametrize("batch", [1, 3, 4096])
def test_every_chunk_keeps_what_its_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, dimension: int
):
    """SN-1, SN-3: wherever a batch ends, and with files between that have no chunk; the marker comes last."""
    monkeypatch.setattr(chunk_table, "_BATCH_ROWS", batch)
    writer = chunk_table.ChunkTableWriter(tmp_path / "t.lance", dimension, "v1")
    expected = []
    for file, count in enumerate([2, 0, 5, 1, 0]):
        path, digest = f"Pfad/Ä{file}.py", ids.sha256_hex(b"%d" % file)
        made = [_chunk(f"{path} {at}", at) for at in range(count)]
        writer.add(
            path, digest, f"language{file}", made, [[file, at] for at in range(count)] if dimension else []
        )
        for chunk in made:
            identity = ids.chunk_id(chunk.chunk_hash, "v1", chunk.kind)
            row = {
                "row_id": ids.row_id(path, identity, chunk.ordinal),
                "chunk_id": identity,
                "path_key": path,
                "path_key_ci": casefold_key(path),
                "file_hash": bytes.fromhex(digest),
                "chunker_version": "v1",
                "language": f"language{file}",
                **{name: value for name, value in chunk._asdict().items() if name not in ("terms", "idents")},
                "chunk_hash": bytes.fromhex(chunk.chunk_hash),
            }
            expected.append(row | ({"embedding": [file, chunk.ordinal]} if dimension else {}))
    writer.finish({"runId": "r"})
    table = chunk_table.open_table(tmp_path / "t.lance").to_table()
    assert table.schema == chunk_table.table_schema(dimension)
    *rows, marker = table.to_pylist()
    assert rows == expected
    assert writer.rows == len(expected)
    assert (marker["row_id"], marker["kind"], marker["chunker_version"]) == (MARKER_KIND, MARKER_KIND, "v1")
    assert json.loads(marker["text"]) == {"runId": "r"}
    assert not any(marker["file_hash"] + marker["chunk_hash"])
    assert chunk_table.read_marker(tmp_path / "t.lance") == {"runId": "r"}


def _chunk(text: str, at: int) -> Chunk:
    return Chunk(
        at,
        "text" if at else "anchor",
        text,
        ids.chunk_hash(text),
        at + 1,
        at + 2,
        at,
        at + 9,
        "s",
        "k",
        "n",
        "t",
        "i",
    )


def test_the_path_map_names_every_blob(repo: GitRepo):
    """SN-2, CS-2: path → blob id, as git knows them."""
    repo.commit("one", **FILES)
    harness.index(repo.root)
    layout = harness.codebase(repo.root).layout
    with harness.view(repo.root) as view:
        (segment,) = view.manifest.segments
    lines = [json.loads(line) for line in layout.file_index(segment.id).read_text().splitlines()]
    assert {line["path_key"]: line["blob"] for line in lines} == {
        path: repo.git("rev-parse", f"HEAD:{path}") for path in FILES
    }
