"""What is stored against what is said of it: the schema of chunk rows, rows and files of segments, totals (SN-2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pytest

from gitindex.errors import WriteVerificationFailed
from gitindex.model.manifest import Manifest
from gitindex.segment.chunk_table import MARKER_KIND
from gitindex.store import manifests
from tests.gate import forge
from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.support.midway import during

Change = Callable[[pa.Table], pa.Table]


def shorten_vectors(table: pa.Table) -> pa.Table:
    at = table.schema.get_field_index("embedding")
    short = pa.array([[0.5, 0.5]] * table.num_rows, pa.list_(pa.float32(), 2))
    return table.set_column(at, pa.field("embedding", short.type, nullable=False), short)


def drop_language(table: pa.Table) -> pa.Table:
    return table.drop_columns(["language"])


def widen_ordinals(table: pa.Table) -> pa.Table:
    at = table.schema.get_field_index("ordinal")
    wide = table.column("ordinal").cast(pa.uint64())
    return table.set_column(at, pa.field("ordinal", pa.uint64(), nullable=False), wide)


def add_column(table: pa.Table) -> pa.Table:
    return table.append_column("extra", pa.array([1] * table.num_rows))


def lose_version(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None)


WRONG_SCHEMAS: dict[Change, str] = {
    drop_language: "has no column language",
    shorten_vectors: "embedding",
    widen_ordinals: "ordinal",
    add_column: "extra",
    lose_version: "metadata",
}


def lose_row(table: pa.Table) -> pa.Table:
    """The first chunk goes, the marker stays."""
    kinds = table.column("kind").to_pylist()
    first = next(at for at, kind in enumerate(kinds) if kind != MARKER_KIND)
    return table.take([at for at in range(table.num_rows) if at != first])


def repeat_row(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(0, 1)])


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    """Two segments with vectors; the second replaces a file of the first."""
    repo.write(".gitindex.toml", "[embedding]\nprovider = 'fake'\n")
    repo.commit(
        "one", **{"a.py": "def alpha():\n    return 1\n", "b.py": "def beta():\n    return alpha()\n"}
    )
    harness.index(repo.root)
    repo.commit("two", **{"b.py": "def beta():\n    return 2\n", "c.py": "C = 3\n"})
    harness.index(repo.root)
    return repo


def health(repo: GitRepo) -> harness.Ran:
    return harness.cli("health", "--json", "--path", str(repo.root))


def codes(ran: harness.Ran) -> set[str]:
    return {problem["code"] for problem in ran.json["problems"]}


@pytest.mark.parametrize("change", WRONG_SCHEMAS, ids=lambda change: change.__name__)
def test_health_checks_tables_against_the_schema(change: Change, indexed: GitRepo):
    """SN-1: rows of another shape are named, with the table that holds them; `repair` writes them anew."""
    forge.rewrite_table(harness.codebase(indexed.root), change, at=0)
    ran = health(indexed)
    assert (ran.code, codes(ran)) == (4, {"schema_mismatch"}), ran.out
    problem = ran.json["problems"][0]
    assert WRONG_SCHEMAS[change] in problem["message"]
    assert problem["artifact"].startswith("tables/seg_")
    assert harness.cli("repair", "--json", "--path", str(indexed.root)).json["scope"] == "full"
    assert health(indexed).code == 0


@pytest.mark.parametrize("change", [drop_language, shorten_vectors], ids=lambda change: change.__name__)
def test_readers_of_a_wrong_table_name_it(change: Change, indexed: GitRepo):
    """SN-1: a store of the wrong shape is corrupt, not a defect of gitindex; search reads the files instead (QU-5)."""
    forge.rewrite_table(harness.codebase(indexed.root), change, at=0)
    for command in ("audit", "compact"):
        ran = harness.cli(command, "--json", "--path", str(indexed.root))
        assert ran.code == 4, ran.out
        told = ran.json["error"] if "error" in ran.json else ran.json["problems"][0]
        assert told["code"] in ("store_corrupt", "schema_mismatch")
    ran = harness.cli("search", "alpha", "--mode", "semantic", "--json", "--path", str(indexed.root))
    assert (ran.code, ran.json["degraded"]) == (0, True), ran.out
    assert ran.json["hints"]["repair"]["command"] == "gitindex repair"


@pytest.mark.parametrize("change", [*WRONG_SCHEMAS, lose_row, repeat_row], ids=lambda change: change.__name__)
def test_a_publish_checks_what_it_wrote(change: Change, indexed: GitRepo):
    """SN-4: a new table of another shape or length is refused; the snapshot before it stays active."""
    layout = harness.codebase(indexed.root).layout
    before = manifests.list_ids(layout)
    indexed.write("d.py", "def delta():\n    return 4\n")

    def damage(step: str) -> None:
        if step == "publish.flush":
            (table,) = layout.staging.glob("*/*/*.lance")
            forge.rewrite_rows(table, change)

    with during(damage), pytest.raises(WriteVerificationFailed):
        harness.index(indexed.root)
    assert manifests.list_ids(layout) == before
    harness.index(indexed.root)
    assert harness.audited(indexed.root).is_clean


def recount(repo: GitRepo, change: Callable[[Manifest], Manifest]) -> None:
    layout = harness.codebase(repo.root).layout
    manifest = manifests.read_active(layout)
    assert manifest is not None
    manifests.write(layout, change(manifest))


def recount_segment(**values: int) -> Callable[[Manifest], Manifest]:
    def change(manifest: Manifest) -> Manifest:
        first, *rest = manifest.segments
        moved = replace(first, **{name: getattr(first, name) + by for name, by in values.items()})
        return replace(manifest, segments=(moved, *rest))

    return change


def recount_tombstones(manifest: Manifest) -> Manifest:
    *rest, last = manifest.segments
    assert last.tombstones is not None
    graves = replace(last.tombstones, count=last.tombstones.count + 1)
    return replace(manifest, segments=(*rest, replace(last, tombstones=graves)))


def recount_total(name: str) -> Callable[[Manifest], Manifest]:
    def change(manifest: Manifest) -> Manifest:
        counts = manifest.counts
        return replace(manifest, counts=replace(counts, **{name: getattr(counts, name) + 1}))

    return change


WRONG_COUNTS = {
    "segment rows": recount_segment(rows=1),
    "segment files": recount_segment(files=1),
    "tombstones": recount_tombstones,
    **{
        name: recount_total(name)
        for name in ("files_indexed", "chunks_indexed", "symbols", "edges", "entities", "text_bytes")
    },
    "languages": lambda one: replace(one, counts=replace(one.counts, languages={"python": 99})),
}


@pytest.mark.parametrize("wrong", WRONG_COUNTS)
def test_health_and_audit_compare_every_count(wrong: str, indexed: GitRepo):
    """SN-2, SN-10: a manifest whose seal is right and whose numbers are not."""
    recount(indexed, WRONG_COUNTS[wrong])
    for command in ("health", "audit"):
        ran = harness.cli(command, "--json", "--path", str(indexed.root))
        assert (ran.code, codes(ran)) == (4, {"count_drift"}), ran.out


@pytest.mark.parametrize("change", [lose_row, repeat_row], ids=lambda change: change.__name__)
def test_health_and_audit_count_the_rows(change: Change, indexed: GitRepo):
    """SN-2: rows that came or went are missed, though every checksum is right."""
    forge.rewrite_table(harness.codebase(indexed.root), change, at=0)
    for command in ("health", "audit"):
        ran = harness.cli(command, "--json", "--path", str(indexed.root))
        assert ran.code == 4, ran.out
        assert "count_drift" in codes(ran)


def test_a_whole_store_passes(indexed: GitRepo):
    assert health(indexed).code == 0
    assert harness.cli("audit", "--path", str(indexed.root)).code == 0
