"""CF-2, ST-6: behaviour, order and form on disk change only together with the version that stands for them."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gitindex.model import versions
from gitindex.search import weights
from gitindex.search.weights import RankWeights
from tests.versions import answers, content, guard
from tests.versions.guard import Entry, Guard
from tests.versions.record import GUARDS

# Guarded where they are used: `tests/model/test_versions.py` compares it with the installed package.
ELSEWHERE = {"GRAMMAR_VERSION"}


@pytest.mark.parametrize("item", GUARDS, ids=lambda item: item.constant)
def test_what_a_version_stands_for_is_recorded(item: Guard):
    """CF-2, ST-6: the message says which constant to raise and which command to run."""
    fault = guard.find_fault(item.constant, guard.read_recorded().get(item.constant), guard.measure(item))
    assert not fault, fault


def test_every_version_has_a_guard():
    """A new constant of the table needs samples in `content.py` or `stored.py`, a new kind of answer a command below."""
    constants = {name for name in vars(versions) if name.isupper() and not name.startswith("_")} - {"MATRIX"}
    kinds = {f'MATRIX["{kind}"]' for kind in versions.stored_versions()}
    missing = sorted((constants | kinds) - {item.constant for item in GUARDS} - ELSEWHERE)
    assert missing == [], (
        f"add samples for {', '.join(missing)} to tests/versions, then run `{guard.COMMAND}`"
    )
    not_stored = {kind for kind in versions.MATRIX if kind not in versions.stored_versions()}
    assert not_stored == {kind for kind, _ in answers.COMMANDS.values()}
    assert set(guard.read_recorded()) == {item.constant for item in GUARDS}, f"run `{guard.COMMAND}`"


# -- the comparison itself ---------------------------------------------------------------------------


def entry(version: str, **digests: tuple[str, str]) -> Entry:
    return Entry(version, digests)


def test_a_change_without_a_version_names_constant_place_and_command():
    told = guard.find_fault("X_VERSION", entry("1", a=("in", "out")), entry("1", a=("in", "other")))
    assert "raise X_VERSION in gitindex/model/versions.py" in told
    assert "python -m tests.versions.record" in told
    assert "(a)" in told


def test_a_raised_version_or_another_sample_is_only_recorded():
    before = entry("1", a=("in", "out"))
    for now in (
        entry("2", a=("in", "other")),
        entry("1", a=("in", "out"), b=("x", "y")),
        entry("1", a=("edited", "z")),
    ):
        told = guard.find_fault("X_VERSION", before, now)
        assert "run `python -m tests.versions.record`" in told
        assert "raise" not in told
    assert guard.find_fault("X_VERSION", before, before) == ""
    assert "not recorded" in guard.find_fault("X_VERSION", None, before)


# -- mutations: each guard notices a small change of what it stands for --------------------------------


def wide_json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


def plain_table(dimension: int) -> pa.Schema:
    return pa.schema([pa.field("row_id", pa.string())], metadata={b"gitindex:chunk_row_schema": b"1"})


MUTATIONS: tuple[tuple[str, str, Any], ...] = (
    ("EXTRACTOR_VERSION", "gitindex.extract.extractor.find_calls", lambda *_: ()),
    ("EXTRACTOR_VERSION", "gitindex.extract.extractor.interface_hash", lambda _: "same"),
    ("EXTRACTOR_VERSION", "gitindex.files.language._BY_SUFFIX", {"py": "python", "gleam": "gleam"}),
    ("CHUNKER_VERSION", "gitindex.extract.chunker._LONG_LINE", 1.4),
    ("CHUNKER_VERSION", "gitindex.extract.extractor.compose_anchor", lambda *_: "anchor"),
    ("TOKENS_VERSION", "gitindex.extract.tokens.MAX_TOKEN", 39),
    ("DOCUMENT_VERSION", "gitindex.extract.embed.document._TIMES", 3),
    ("STATIC_VERSION", "gitindex.extract.embed.static.math.log", lambda count: count),
    ("RANKING_VERSION", "gitindex.search.weights.DEFAULT_WEIGHTS", RankWeights(stem=0.2)),
    ("RANKING_VERSION", "gitindex.search.weights.EQUAL_WEIGHTS", RankWeights(names=0.2)),
    ("RANKING_VERSION", "gitindex.search.weights.PASTED_WEIGHTS", RankWeights(mention=0.5)),
    ("RANKING_VERSION", "gitindex.search.filescore._WANTED", {"test": {"test"}}),
    ("RANKING_VERSION", "gitindex.search.termchoice.TITLE", 5.0),
    ("RANKING_VERSION", "gitindex.search.wordforms._LEAST", 1),
    ("RANKING_VERSION", "gitindex.search.lexical.NAMES", 0.6),
    ("RANKING_VERSION", "gitindex.search.symbols._WEIGHT", {"variable": 0.8}),
    ('MATRIX["manifest"]', "gitindex.model.manifest.canonical_hash", lambda _: ""),
    ('MATRIX["index_state"]', "gitindex.store.sealed_json.write", lambda path, value: path.write_text("{}")),
    ('MATRIX["writer_lease"]', "gitindex.store.sealed_json.write", lambda path, value: path.write_text("{}")),
    ('MATRIX["facts"]', "gitindex.segment.facts._INDEXES", "CREATE INDEX file_ci ON file (path_ci);"),
    ('MATRIX["facts"]', "gitindex.model.callsites._encode", json.dumps),
    ('MATRIX["lexical"]', "gitindex.segment.lexical_index._name_terms", str.lower),
    ('MATRIX["scip_facts"]', "gitindex.scip.symbol_grammar.OWN_VERSION", b"-"),
    (
        'MATRIX["control"]',
        "gitindex.semantic.control_database._SCHEMA",
        "CREATE TABLE semantic_schema (version INTEGER);\n",
    ),
    ('MATRIX["chunk_rows"]', "gitindex.segment.chunk_table.table_schema", plain_table),
    ("PUBLISHED_FORMAT", "gitindex.model.portable.ROOT", "/"),
    ("TOC_VERSION", "gitindex.trust.strictjson.dump", wide_json),
    ("GC_MARK_VERSION", "gitindex.trust.strictjson.dump", wide_json),
    ("TRUST_FILE_VERSION", "gitindex.trust.strictjson.dump", wide_json),
)


@pytest.mark.parametrize(
    ("constant", "place", "value"), MUTATIONS, ids=[f"{item[0]} {item[1]}" for item in MUTATIONS]
)
def test_a_small_change_is_noticed(constant: str, place: str, value: Any, monkeypatch: pytest.MonkeyPatch):
    """CF-2, ST-6: each guard fires for a change that no other test needs to know of."""
    (item,) = [item for item in GUARDS if item.constant == constant]
    monkeypatch.setattr(place, value)
    fault = guard.find_fault(constant, guard.read_recorded()[constant], guard.measure(item))
    assert f"raise {constant} in {guard.TABLE}" in fault


def test_every_guard_is_tried_with_a_change():
    assert {constant for constant, _, _ in MUTATIONS} == {item.constant for item in GUARDS}


def test_a_change_of_the_extractor_is_none_of_the_chunker(monkeypatch: pytest.MonkeyPatch):
    """One version is raised for one change: what depends on it is recorded anew."""
    monkeypatch.setattr("gitindex.extract.extractor.find_calls", lambda *_: ())
    recorded = guard.read_recorded()
    for item in GUARDS:
        if item.constant in ("CHUNKER_VERSION", 'MATRIX["facts"]', "RANKING_VERSION"):
            assert "raise" not in guard.find_fault(
                item.constant, recorded[item.constant], guard.measure(item)
            )


def test_weights_count_wherever_they_stand():
    """Also one that no question of the corpus depends on, and under whatever name."""
    source = inspect.getsource(weights)
    found = content.literal_weights(source)
    assert content.literal_weights(source.replace("says_name:", "tells_name:")) == found
    assert content.literal_weights(source.replace("header: float = 0.8", "header: float = 0.85")) != found


# -- answers -----------------------------------------------------------------------------------------


def test_no_answer_loses_a_field_under_its_version(tmp_path: Path):
    """ST-6: the version of an answer grows when a field goes; a new field needs none."""
    faults = answers.find_faults(answers.read_recorded(), answers.measure(tmp_path))
    assert not faults, "\n".join(faults)


def test_a_lost_field_is_noticed_and_a_new_one_is_not():
    recorded = answers.read_recorded()
    fields = {name: [*item["fields"], "brand_new"] for name, item in recorded.items()}
    assert answers.find_faults(recorded, fields) == []
    fields["status"].remove("in_sync")
    (fault,) = answers.find_faults(recorded, fields)
    assert "in_sync" in fault
    assert 'raise MATRIX["status_answer"]' in fault
