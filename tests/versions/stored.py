"""What the versions of stored files stand for: real files of every kind, written here and read back as plain values.

Read without gitindex's own readers where that is possible: the form on disk is what counts.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gitindex.model import portable, versions
from gitindex.model.manifest import (
    Artifact,
    Counts,
    FileError,
    GitFailure,
    GitState,
    Manifest,
    Origin,
    Segment,
    Tombstones,
)
from gitindex.model.records import FileRecord, OverlayEntry
from gitindex.remote import collection_plan, toc
from gitindex.remote.stored_objects import PackedArtifact
from gitindex.remote.toc import TocEntry
from gitindex.scip import symbol_strings
from gitindex.scip.reader import IndexFile
from gitindex.segment import chunk_table, overlay, scipfacts, tombstones
from gitindex.segment.facts import FactsWriter
from gitindex.segment.lexical_index import LexicalIndex, LexicalWriter, create
from gitindex.segment.scipfacts import ScipWriter
from gitindex.semantic import control_database
from gitindex.semantic.decode import DecodedIndex
from gitindex.store import sealed_json
from gitindex.store.lease import LeaseState
from gitindex.store.state_file import IndexingProgress, StoreState
from gitindex.trust import claim as claims
from gitindex.trust import pinjson
from gitindex.trust.pins import RepositoryTrust, RevokedKey, TrustedKey
from gitindex.trust.scopes import ClonePin, Pins
from tests.campaigns.refresh.project import FILES, scip_of
from tests.trust.made import signing_key, snapshot_claim
from tests.versions.corpus import extract_project_file, plain_chunks
from tests.versions.guard import Guard, Sample

_SHADOWS = "entity_fts_"  # tables of FTS5's own: SQLite's business
_FIELDS = ("terms", "names", "path_terms", "idents", "path", "kind", "language", "symbol_kind")


def in_folder(make: Callable[[Path], Mapping[str, Any]]) -> Callable[[], Mapping[str, Sample]]:
    """A guard's samples from a function that writes files into a folder; the input is fixed where it names none."""

    def samples() -> Mapping[str, Sample]:
        with tempfile.TemporaryDirectory() as folder:
            made = make(Path(folder)).items()
            return {name: item if isinstance(item, Sample) else Sample("", item) for name, item in made}

    return samples


# -- manifest ---------------------------------------------------------------------------------------


def _artifact(path: str) -> Artifact:
    return Artifact(path, 3, "ab" * 32)


def full_manifest() -> Manifest:
    """A manifest in which no field has its default."""
    segment = Segment(
        "seg_1", "delta", "S1", 7, 2, (_artifact("tables/a"),), Tombstones(_artifact("segments/t"), 4)
    )
    return Manifest(
        snapshot_id="S1",
        parent_snapshot_id="S0",
        created_at="2026-01-02",
        canonical_root="/r",
        store_id="store",
        config_fingerprint="c" * 64,
        ignore_fingerprint="i" * 64,
        lease_epoch=9,
        git=GitState(
            "h" * 40, "t" * 40, "main", True, True, GitFailure("git_damaged", "index", "message", "next")
        ),
        segments=(segment,),
        lexical=(_artifact("lexical/S1/meta.json"),),
        overlay=_artifact("snapshots/S1/overlay.jsonl"),
        counts=Counts(1, 2, 3, 4, 5, 6, 7, {"binary": 1}, {"python": 1}, {"time": 1}),
        embedder="fake",
        dimension=8,
        timings_ms={"plan": 1},
        origin=Origin("fetched", "b" * 40, "signer", "s3://b", "toc", True),
        degraded=True,
        errors=(FileError("code", "message", "path"),),
        semantic=({"context": "python:."},),
    )


def manifest(folder: Path) -> Mapping[str, Any]:
    overlay.write(folder / "overlay", [OverlayEntry("a.py", "b" * 40, 1, 2, 3, 4)])
    tombstones.write(folder / "tombstones", [("a.py", "delete"), ("b.py", "replace")])
    full = full_manifest()
    return {
        "fields": replace(full, git=replace(full.git, failure=None)).to_json(),
        "git that failed": full.git.to_json(),
        "overlay": (folder / "overlay").read_text("utf-8"),
        "tombstones": (folder / "tombstones").read_text("utf-8"),
    }


# -- control plane ----------------------------------------------------------------------------------


def index_state(folder: Path) -> Mapping[str, Any]:
    state = StoreState(
        "store", "/r", "c" * 64, "2026-01-02", indexing=IndexingProgress(50.0, "extract", "2026-01-02")
    )
    return {"fields": _sealed(folder, asdict(state))}


def writer_lease(folder: Path) -> Mapping[str, Any]:
    return {"fields": sorted(LeaseState.__dataclass_fields__), "seal": _sealed(folder, {"a": 1})}


def _sealed(folder: Path, value: dict[str, Any]) -> Any:
    sealed_json.write(folder / "sealed.json", value)
    return json.loads((folder / "sealed.json").read_bytes())


def control_file(folder: Path) -> Mapping[str, Any]:
    control_database.open_control(folder / "control.sqlite").close()
    return {"schema": _schema(folder / "control.sqlite")}


# -- segments ---------------------------------------------------------------------------------------


def chunk_rows(folder: Path) -> Mapping[str, Any]:
    return {
        f"schema, {dimension} dimensions": _arrow(chunk_table.table_schema(dimension)) for dimension in (0, 8)
    }


def _arrow(schema: Any) -> Any:
    metadata = {key.decode(): value.decode() for key, value in schema.metadata.items()}
    return [[field.name, str(field.type), field.nullable] for field in schema], metadata


def facts(folder: Path) -> Mapping[str, Any]:
    """Two files that fill every table. Their extraction is the input: it has a version of its own."""
    writer = FactsWriter(folder / "facts.sqlite", "seg_1")
    extractions = {path: extract_project_file(path) for path in ("shop/payment.py", "docs/refunds.md")}
    for path, found in extractions.items():
        writer.add(FileRecord(path, "b" * 40, "c" * 64, False, 1, "", found.language), found)
    writer.add(FileRecord("x.bin", "b" * 40, "c" * 64, False, 1, "binary"), None)
    writer.finish()
    tables = ("meta", "file", "symbol", "import", "call", "callee", "identifier", "entity")
    rows = _rows(folder / "facts.sqlite", tables)
    given = [found._replace(chunks=()) for found in extractions.values()]
    return {
        "schema": _schema(folder / "facts.sqlite"),
        **{name: Sample(given, table) for name, table in rows.items()},
    }


def scip_facts(folder: Path) -> Mapping[str, Any]:
    (folder / "index.scip").write_bytes(scip_of(FILES))
    blobs = {path: text.encode() for path, text in FILES.items()}
    writer = ScipWriter(folder / "scip.sqlite", "seg_1")
    with IndexFile(folder / "index.scip") as file:
        decoded = DecodedIndex(file, blobs.get)
        named = decoded.symbols_by_name()
        for ready in scipfacts.pack_documents(decoded.documents()):
            writer.add(ready, blob="b" * 40, context="python:.", syntax="s")
    writer.add_tombstone("gone.py", "python:.")
    writer.finish([named])
    tables = ("meta", "scip_symbols", "scip_short", "scip_links", "scip_external")
    found = _rows(folder / "scip.sqlite", tables)
    with closing(sqlite3.connect(folder / "scip.sqlite")) as db:
        # Compressed columns apart: their bytes are the compressor's.
        found["scip_files"] = db.execute(
            "SELECT path, blob, context, interface, syntax, unresolved, demoted, occurrences, definitions, links "
            "FROM scip_files ORDER BY file"
        ).fetchall()
        found["scip_names"] = [
            symbol_strings.unpack_names(row[0])
            for row in db.execute("SELECT data FROM scip_names ORDER BY block")
        ]
    return {"schema": _schema(folder / "scip.sqlite"), **found}


def lexical(folder: Path) -> Mapping[str, Any]:
    path = "shop/payment.py"
    found = extract_project_file(path)
    create(folder / "lexical")
    writer = LexicalWriter(folder / "lexical", bulk=False)
    writer.add(path, "python", found.chunks)
    writer.finish()
    meta = json.loads((folder / "lexical" / "meta.json").read_bytes())
    index = LexicalIndex(folder / "lexical")
    held = {field: sorted(index.terms_with_prefix(field, "", 1000)) for field in _FIELDS}
    return {"schema": meta["schema"], "words": Sample([path, plain_chunks(found)], held)}


def _schema(path: Path) -> Any:
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
        return [(name, " ".join(sql.split())) for name, sql in rows if not name.startswith(_SHADOWS)]


def _rows(path: Path, tables: tuple[str, ...]) -> dict[str, Any]:
    with closing(sqlite3.connect(path)) as db:
        return {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables}


# -- outside a store --------------------------------------------------------------------------------


def published(_: Path) -> Mapping[str, Any]:
    return {
        "manifest": Sample(full_manifest().to_json(), portable.encode(full_manifest())),
        "claim": claims.encode(snapshot_claim(successors=(signing_key("next").public,))),
    }


def table_of_contents(_: Path) -> Mapping[str, Any]:
    packed = PackedArtifact("1" * 64, 10, "2" * 64, 20)
    return {"bytes": toc.encode(toc.make([TocEntry("b", packed), TocEntry("a", packed)]))}


def gc_mark(_: Path) -> Mapping[str, Any]:
    return {"bytes": collection_plan.encode_mark(collection_plan.Mark(5.0, frozenset({"b", "a"})))}


def trust_file(_: Path) -> Mapping[str, Any]:
    first, second = signing_key("first").public, signing_key("second").public
    pin = RepositoryTrust(
        "s3://b/p",
        "https://s3",
        1,
        (TrustedKey(first, "2026-01-02"), TrustedKey(second, "2026-01-03", False, (first.id,))),
        (RevokedKey(signing_key("old").public.id, "old", "2026-01-04", ""),),
    )
    return {"bytes": pinjson.encode(Pins({"r1": pin}, {"a" * 32: ClonePin("r1", "/clone", pin)}))}


_KINDS = {
    "manifest": manifest,
    "index_state": index_state,
    "writer_lease": writer_lease,
    "chunk_rows": chunk_rows,
    "facts": facts,
    "lexical": lexical,
    "scip_facts": scip_facts,
    "control": control_file,
}
_FILES = {
    "PUBLISHED_FORMAT": published,
    "TOC_VERSION": table_of_contents,
    "GC_MARK_VERSION": gc_mark,
    "TRUST_FILE_VERSION": trust_file,
}
GUARDS = (
    *(
        Guard(f'MATRIX["{kind}"]', str(versions.MATRIX[kind].current), in_folder(make))
        for kind, make in _KINDS.items()
    ),
    *(Guard(name, str(getattr(versions, name)), in_folder(make)) for name, make in _FILES.items()),
)
