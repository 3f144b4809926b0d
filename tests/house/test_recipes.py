"""The changes of .github/CONTRIBUTING.md that are easy to leave half done: each test names the forgotten place.

The filters of a search are in `tests/search/test_filters.py`, versions in `tests/versions`, reasons and errors in
`test_used.py`.
"""

from __future__ import annotations

import ast
import inspect
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from gitindex import config
from gitindex.errors import StoreCorrupt, UsageError
from gitindex.extract import grammars
from gitindex.extract.extractor import extract
from gitindex.files import language as languages
from gitindex.lifecycle import digest
from gitindex.model import manifest as manifests
from gitindex.model import portable
from gitindex.model.manifest import Manifest
from gitindex.model.records import FileRecord
from gitindex.model.settings import IndexSettings
from gitindex.navigate import fact_queries as navigation
from gitindex.navigate import modules, repomap, resolve
from gitindex.remote import connect
from gitindex.segment import chunk_table
from gitindex.segment import facts as segment_facts
from gitindex.segment.facts import FactsWriter
from gitindex.semantic import firstpass
from gitindex.semantic.contexts import FAMILIES
from gitindex.semantic.indexers.registry import INDEXERS
from gitindex.store.layout import Layout
from gitindex.store.manifests import read_active
from tests.house.graph import REPOSITORY, imports, sources
from tests.house.reference import commands
from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.versions.corpus import PROJECT
from tests.versions.stored import full_manifest

# -- a language --------------------------------------------------------------------------------------

# What navigation knows of a language with a grammar. Without a word here its answers are only less exact, so nothing
# else tells that somebody forgot to decide.
IMPLICIT = "members are in scope without a receiver"
PACKAGE = "the files of a directory share one scope"
FILES = "imports lead to files"
MEANING = "a name that was not imported means something else"
TRAITS: dict[str, set[str]] = {
    "python": {FILES, MEANING},
    "javascript": {FILES, MEANING},
    "typescript": {FILES, MEANING},
    "tsx": {FILES, MEANING},
    "go": {PACKAGE, MEANING},
    "java": {IMPLICIT, PACKAGE, FILES, MEANING},
    "kotlin": {IMPLICIT, PACKAGE, FILES, MEANING},
    "scala": {IMPLICIT, PACKAGE, FILES, MEANING},
    "rust": {FILES, MEANING},
    "c": {FILES},
    "cpp": {IMPLICIT, FILES},
    "csharp": {IMPLICIT},
    "swift": {IMPLICIT},
    "ruby": {IMPLICIT, FILES, MEANING},
    "php": {FILES},
    "lua": {FILES},
    "bash": {FILES},
}
PLACES = {
    IMPLICIT: "navigate/resolve.py _IMPLICIT_THIS",
    PACKAGE: "navigate/fact_queries.py PACKAGE_SCOPE",
    FILES: "navigate/modules.py _PATTERN_RULES (by the family that navigate/fact_queries.py _FAMILIES names)",
    MEANING: "navigate/repomap.py _IMPORTING",
}


def known_traits(language: str) -> set[str]:
    sets = {
        IMPLICIT: language in resolve._IMPLICIT_THIS,
        PACKAGE: language in navigation.PACKAGE_SCOPE,
        FILES: navigation.language_family(language) in modules._PATTERN_RULES,
        MEANING: language in repomap._IMPORTING,
    }
    return {trait for trait, holds in sets.items() if holds}


def test_a_language_is_decided_in_every_set_of_the_navigation():
    """QU-3: also its suffixes (files/language.py); EXTRACTOR_VERSION is guarded by tests/versions."""
    new = sorted(grammars.SPECS.keys() - TRAITS.keys())
    assert new == [], f"decide for {', '.join(new)}: {'; '.join(PLACES.values())}; then say so in TRAITS"
    for language, traits in TRAITS.items():
        wrong = [PLACES[trait] for trait in known_traits(language) ^ traits]
        assert wrong == [], f"{language} differs from TRAITS in {'; '.join(wrong)}"
    unknown = sorted(TRAITS.keys() - grammars.SPECS.keys())
    assert unknown == [], f"extract/grammars.py SPECS does not have {', '.join(unknown)}"
    nameless = sorted({*grammars.SPECS, *grammars.DATA_LANGUAGES} - set(languages._BY_SUFFIX.values()))
    assert nameless == [], f"files/language.py has no suffix for {', '.join(nameless)}"
    folder = Path(grammars.__file__).parent / "languages"
    unasked = [name for name in sorted(grammars.SPECS) if not (folder / f"{name}.scm").is_file()]
    assert unasked == [], f"extract/languages has no query for {', '.join(unasked)}"


# -- a SCIP indexer ----------------------------------------------------------------------------------


@pytest.mark.parametrize("indexer", INDEXERS, ids=lambda item: item.name)
def test_an_indexer_is_known_everywhere(indexer: Any):
    """SE-1, SE-2: without rules its columns are taken for bytes, without a family it never runs."""
    assert indexer.name in firstpass._RULES, (
        f"semantic/firstpass.py _RULES: what columns of {indexer.name} count"
    )
    known = {family.language for family in FAMILIES}
    assert indexer.language in known, (
        f"semantic/contexts.py FAMILIES: what marks a {indexer.language} project"
    )
    page = (REPOSITORY / "docs" / "semantic.md").read_text("utf-8")
    assert re.search(rf"^\| .*\| {re.escape(indexer.name)} \|", page, re.M), (
        "docs/semantic.md: a row of the table"
    )


def test_every_family_has_an_indexer():
    families, indexed = {family.language for family in FAMILIES}, {indexer.language for indexer in INDEXERS}
    assert families - indexed == set(), "semantic/indexers/registry.py INDEXERS has no adapter for it"
    rules, names = set(firstpass._RULES), {indexer.name for indexer in INDEXERS}
    assert rules - names == set(), "semantic/indexers/registry.py INDEXERS does not have it"


# -- a kind of remote ---------------------------------------------------------------------------------


# What the fixture `remote` of tests/remote/conftest.py opens for tests/remote/test_contract.py.
TRIED = {"file", "s3"}


def schemes() -> set[str]:
    """Words of `remote/connect.py` that open a transport."""
    tree = ast.parse(inspect.getsource(connect))
    words = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    found = set()
    for word in words:
        if re.fullmatch(r"[a-z][a-z0-9+.-]*", word):
            try:
                connect.open_transport(f"{word}:///a" if word == "file" else f"{word}://host.example/a")
            except UsageError:
                continue
            found.add(word)
    return found


def test_a_kind_of_remote_is_known_everywhere():
    """RE-7, RE-10: a repository may propose it, `fetch` names it, the page on sharing explains it."""
    assert schemes() == TRIED, (
        "open it in remote/connect.py, try it in tests/remote/conftest.py (remote), then name it in TRIED"
    )
    page = (REPOSITORY / "docs" / "sharing.md").read_text("utf-8")
    for scheme in sorted(schemes()):
        url = f"{scheme}:///a" if scheme == "file" else f"{scheme}://host.example/a"
        try:
            proposed = config.parse(f'[remote]\nurl = "{url}"\n'.encode()).remote.url
        except UsageError as error:
            pytest.fail(
                f"config.py _parse_remote refuses {scheme}://, which remote/connect.py opens: {error}"
            )
        assert proposed == url
        with pytest.raises(UsageError) as caught:
            connect.open_transport("nonesuch://x")
        assert f"{scheme}://" in (caught.value.hint or ""), (
            f"remote/connect.py: the hint does not name {scheme}://"
        )
        for command in ("fetch", "verify", "push", "remote gc"):
            texts = [getattr(option, "help", "") or "" for option in commands()[command].params]
            assert any(f"{scheme}://" in text for text in texts), (
                f"cli/cmd_{command.partition(' ')[0]}.py: no option names {scheme}://"
            )
        assert f"{scheme}://" in page, f"docs/sharing.md does not name {scheme}://"


def test_every_transport_is_opened():
    folder = Path(connect.__file__).parent / "transports"
    for name in sorted(path.stem for path in folder.glob("[a-z]*.py")):
        used = imports().find_modules_that_directly_import(f"gitindex.remote.transports.{name}")
        assert used, f"remote/connect.py does not open remote/transports/{name}.py"


# -- a field of the manifest --------------------------------------------------------------------------

# Fields that only this machine knows: `model/portable.py` strips them before anything is published.
LOCAL = {"parent_snapshot_id", "canonical_root", "store_id", "lease_epoch", "git", "overlay", "origin"}
PUBLISHED = {
    "snapshot_id", "created_at", "config_fingerprint", "ignore_fingerprint", "segments", "lexical", "counts",
    "embedder", "dimension", "timings_ms", "degraded", "errors", "semantic",
}  # fmt: skip


def test_every_field_of_a_manifest_comes_back():
    """SN-2: written by `to_json`, read by `from_json`; a default would hide that it is not."""
    full = full_manifest()
    plain = sorted(_at_default(full))
    assert plain == [], f"give {', '.join(plain)} a value in tests/versions/stored.py full_manifest"
    try:
        back = manifests.from_json(full.to_json(), "here")
    except StoreCorrupt as error:
        pytest.fail(f"model/manifest.py: to_json or _parse_manifest forgets a field: {error}")
    lost = [
        field.name for field in fields(Manifest) if getattr(back, field.name) != getattr(full, field.name)
    ]
    assert lost == [], f"model/manifest.py: to_json or _parse_manifest forgets {', '.join(lost)}"


def _at_default(value: Any, above: str = "") -> Iterator[str]:
    for field in fields(value):
        held = getattr(value, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if held == default:
            yield f"{above}{field.name}"
        for item in held if isinstance(held, tuple) else (held,):
            if is_dataclass(item):
                yield from _at_default(item, f"{above}{field.name}.")


def test_a_field_of_a_manifest_is_local_or_published():
    """RE-2: what is published names nothing of the machine that built it."""
    names = {field.name for field in fields(Manifest)}
    new, gone = sorted(names - LOCAL - PUBLISHED), sorted((LOCAL | PUBLISHED) - names)
    assert new == [], (
        f"decide for {', '.join(new)} in model/portable.py strip, then add it to LOCAL or PUBLISHED"
    )
    assert gone == [], f"model/manifest.py Manifest does not have {', '.join(gone)}"
    full, bare = full_manifest(), portable.strip(full_manifest())
    changed = {name for name in names if getattr(full, name) != getattr(bare, name)}
    assert changed == LOCAL, f"model/portable.py strip: {', '.join(sorted(changed ^ LOCAL))}"


def test_every_field_of_a_manifest_gets_a_value():
    """A default would hide that no sync gives it one."""
    calls = [
        node
        for node in ast.walk(sources()["gitindex.ops.syncing.sync_locked"][1])
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Manifest"
    ]
    given = {keyword.arg for call in calls for keyword in call.keywords}
    missing = sorted({field.name for field in fields(Manifest)} - given)
    assert missing == [], f"ops/syncing/sync_locked.py gives no value to {', '.join(missing)}"


def test_every_field_of_a_manifest_is_documented():
    told = section_of_format("Manifest")
    missing = [name for name in full_manifest().to_json() if not re.search(rf"`{name}(?:\[\])?`", told)]
    assert missing == [], f"docs/format.md, Manifest: no row for {', '.join(missing)}"


def section_of_format(title: str) -> str:
    page = (REPOSITORY / "docs" / "format.md").read_text("utf-8")
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


# -- a layer -------------------------------------------------------------------------------------------

# Derived from other tables: `callee` names the files whose `call` rows hold a name.
DERIVED = {"meta", "callee"}
# Columns of a chunk row that others determine: ids by hashes and paths, the text by its hash.
DETERMINED = {"chunk_id", "path_key_ci", "chunker_version", "text", "embedding"}


@pytest.fixture
def facts_file(tmp_path: Path) -> Path:
    writer = FactsWriter(tmp_path / "facts.sqlite", "seg_1")
    for path, text in PROJECT.items():
        found = extract(path, text.encode(), IndexSettings())
        writer.add(FileRecord(path, "b" * 40, "c" * 64, False, 1, "", found.language), found)
    writer.finish()
    return tmp_path / "facts.sqlite"


def columns_of(path: Path) -> dict[str, list[str]]:
    """Every table of facts but those of FTS5."""
    with closing(sqlite3.connect(path)) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            for table in tables
            if not table.startswith("entity_fts")
        }


def test_a_compaction_copies_every_table(facts_file: Path, tmp_path: Path):
    """SN-8: a table that `_DEPENDENT_COLUMNS` does not name is lost at the first compaction."""
    writer = FactsWriter(tmp_path / "copy.sqlite", "seg_2")
    writer.copy(facts_file, list(PROJECT))
    writer.finish()
    for table in columns_of(facts_file).keys() - {"meta"}:
        before, after = rows_of(facts_file, table), rows_of(tmp_path / "copy.sqlite", table)
        assert before, f"no file of tests/versions/corpus.py PROJECT puts a row into {table}"
        assert after == before, f"segment/facts.py _DEPENDENT_COLUMNS loses rows or columns of {table}"


def rows_of(path: Path, table: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as db:
        return sorted(db.execute(f"SELECT * FROM {table}").fetchall())


def test_the_digest_reads_every_table_and_column(facts_file: Path):
    """SN-10: what the digest does not read may differ between an incremental and a clean build, and nobody notices."""
    asked = {**digest._FACT_QUERIES, "call": digest._CALL_QUERY}
    for table, columns in columns_of(facts_file).items():
        if table in DERIVED or table == "file":
            continue
        assert table in asked, f"lifecycle/digest.py _FACT_QUERIES does not read {table}"
        missing = [name for name in columns if name != "file" and not re.search(rf"\b{name}\b", asked[table])]
        assert missing == [], f"lifecycle/digest.py does not read {', '.join(missing)} of {table}"
    names = set(chunk_table.table_schema(8).names)
    assert names == {*digest._CHUNK_COLUMNS, *DETERMINED}, (
        "lifecycle/digest.py _CHUNK_COLUMNS, or DETERMINED if another column says it"
    )
    named = set(segment_facts._DEPENDENT_COLUMNS) | {"meta", "file"}
    differing = sorted(named ^ columns_of(facts_file).keys())
    assert differing == [], (
        f"{', '.join(differing)}: only in one of segment/facts.py _SCHEMA and _DEPENDENT_COLUMNS"
    )


def test_every_table_is_documented(facts_file: Path):
    told = section_of_format("Facts")
    missing = [table for table in columns_of(facts_file) if f"`{table}`" not in told]
    assert missing == [], f"docs/format.md, Facts: no row for {', '.join(missing)}"


def test_a_file_of_a_segment_is_merged_and_documented(repo: GitRepo):
    """SN-8: compaction writes segments anew, so `lifecycle/merging.py` must know each file that a segment has."""
    layout = harness.codebase(repo.root).layout
    held = {
        made.name
        for name, function in inspect.getmembers(Layout, inspect.isfunction)
        if not name.startswith("_") and list(inspect.signature(function).parameters) == ["self", "segment_id"]
        if (made := function(layout, "S")).parent == layout.segment("S")
    }
    known = {"facts.sqlite", "segment_file_index.jsonl", "tombstones.jsonl", "scip.sqlite"}
    assert held == known, (
        f"{', '.join(sorted(held ^ known))}: name it in store/layout.py, write it in segment/writer.py, merge it in "
        "lifecycle/merging.py, read it in lifecycle/digest.py, and decide in lifecycle/repair_planner.py what its loss means"
    )
    page = (REPOSITORY / "docs" / "format.md").read_text("utf-8")
    missing = sorted(name for name in held if f"segments/<segment>/{name}" not in page)
    assert missing == [], f"docs/format.md does not list {', '.join(missing)}"
    repo.commit("one", **{"a.py": "A = 1\n"})
    harness.index(repo.root)
    repo.commit("two", **{"a.py": "A = 2\n", "b.py": "B = 2\n"})
    harness.index(repo.root)
    before = {path.name for path in layout.segments.glob("*/*")}
    unwritten = sorted(held - before - {"scip.sqlite"})  # only an exact segment has that one
    assert unwritten == [], f"segment/writer.py does not write {', '.join(unwritten)}"
    assert harness.cli("compact", "--json", "--path", str(repo.root)).code == 0
    manifest = read_active(layout)
    assert manifest is not None
    (merged,) = manifest.segments
    lost = sorted(before - {path.name for path in layout.segment(merged.id).iterdir()} - {"tombstones.jsonl"})
    assert lost == [], f"lifecycle/merging.py loses {', '.join(lost)}"
