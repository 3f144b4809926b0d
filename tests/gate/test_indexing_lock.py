"""The nine test requirements of the indexing lock contract (EN-1, EN-2, EN-3, EN-6; C-3)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitindex import gate
from gitindex.config import load_environment
from gitindex.gate import NonOkReason
from gitindex.mcp.server import Service
from gitindex.model.json_answer import to_json
from gitindex.navigate.remarks import CallGraphRemark, select_remarks
from gitindex.ops.codebase import Codebase
from gitindex.ops.maintain import index_actions
from gitindex.store import state_file, steps
from tests.gate import forge
from tests.gate.conftest import FILES, READS, TOOLS
from tests.support.gitrepo import GitRepo
from tests.support.harness import cli, codebase, index, view


def tool(name: str, path: Path, /, **arguments: Any) -> dict[str, Any]:
    where = {} if name == "list_codebases" else {"path": str(path)}
    rendered = Service(load_environment(), path).call(name, {**where, **arguments})
    answer = json.loads(rendered.text)
    assert rendered.failed == (answer["status"] == "error")
    return answer


def check_not_ready(answer: dict[str, Any], root: Path) -> None:
    assert (answer["status"], answer["reason"]) == ("not_ready", "indexing")
    assert answer["message"]
    assert answer["codebaseRoot"] == str(root)
    assert answer["requestedPath"]
    assert answer["indexing"].keys() == {"progressPct", "lastUpdated", "phase"}
    assert answer["retryAfterMs"] > 0
    assert answer["hints"]["status"]["tool"] == "manage_index"
    assert answer["hints"]["status"]["args"] == {"action": "status", "path": str(root)}


class Stop(Exception):
    pass


@pytest.mark.parametrize("step", ["publish.chunks", "publish.lexical", "publish.manifest"])
def test_1_no_promotion_without_proof(project: GitRepo, step: str) -> None:
    """EN-6: a create that ends before its manifest is written never becomes `indexed`, whatever lies on disk."""

    def stop(name: str) -> None:
        if name == step:
            raise Stop

    steps.observe(stop)
    try:
        with pytest.raises(Stop):
            index(project.root)
    finally:
        steps.observe(None)
    known = state_file.read(codebase(project.root).layout)
    assert known is not None
    assert known.state == "indexfailed"
    answer = cli("search", "start", "--json", "--path", str(project.root))
    assert (answer.code, answer.json["status"]) == (3, "not_indexed")


def test_1_a_killed_create_is_not_indexed(indexed: Codebase) -> None:
    """EN-6: state `indexing` counts only while its writer lives; the last good snapshot then answers again."""
    forge.abandon(indexed)
    assert gate.active_indexing(indexed.layout) is None
    assert cli("symbol", "start", "--json", "--path", str(indexed.root)).code == 0
    told = cli("status", "--json", "--path", str(indexed.root)).json
    assert told["status"] == "ok"
    assert told["state"] != "indexing"


def test_1_a_table_without_marker_is_no_proof(indexed: Codebase) -> None:
    """C-4: that a table exists proves nothing."""
    forge.remark(indexed, forge.NO_MARKER)
    answer = cli("search", "start", "--json", "--path", str(indexed.root))
    assert (answer.code, answer.json["status"]) == (3, "not_indexed")


@pytest.mark.parametrize("read", READS, ids=lambda read: read[0])
def test_2_every_command_is_blocked_while_indexing(indexed: Codebase, read: tuple[str, ...]) -> None:
    """EN-3: not_ready with reason, progress and hints; exit code 3."""
    with forge.rebuilding(indexed):
        ran = cli(*read, "--json", "--path", str(indexed.root))
        assert ran.code == 3
        check_not_ready(ran.json, indexed.root)
        text = cli(*read, "--path", str(indexed.root))
        assert text.code == 3
        assert "next: gitindex status --path" in text.err
    assert cli(*read, "--json", "--path", str(indexed.root)).code == 0


@pytest.mark.parametrize(("name", "arguments"), TOOLS, ids=lambda part: part if isinstance(part, str) else "")
def test_2_every_tool_is_blocked_while_indexing(
    indexed: Codebase, name: str, arguments: dict[str, Any]
) -> None:
    """EN-3 over MCP; with debug the kind of proof is named."""
    with forge.rebuilding(indexed):
        answer = tool(name, indexed.root, debug=True, **arguments)
        check_not_ready(answer, indexed.root)
        assert answer["hints"]["debugIndexing"] == {"completionProof": "marker_doc", "markerPresent": True}
        assert "debugIndexing" not in tool(name, indexed.root, **arguments)["hints"]


@pytest.mark.parametrize(("name", "arguments"), TOOLS, ids=lambda part: part if isinstance(part, str) else "")
def test_2_stale_ok_reads_the_last_good_snapshot(
    indexed: Codebase, name: str, arguments: dict[str, Any]
) -> None:
    """C-3: asked for explicitly, the last good snapshot answers during a rebuild, and the answer says so."""
    with forge.rebuilding(indexed):
        answer = tool(name, indexed.root, allow_stale=True, **arguments)
    assert answer["status"] == "ok"
    assert answer["stale"] is True


def test_2_an_incremental_sync_blocks_nobody(indexed: Codebase) -> None:
    """C-3: readers stay on the pinned snapshot while an incremental sync holds the lease."""
    from gitindex.store import lease
    from gitindex.store.build_progress import mark_indexing

    with lease.hold(indexed.layout, "sync") as held, mark_indexing(indexed.layout, held, rebuild=False):
        assert cli("symbol", "start", "--json", "--path", str(indexed.root)).code == 0


def test_3_stable_reasons(project: GitRepo) -> None:
    """EN-1: each gate's status has its reason, all from one enum."""
    root = str(project.root)
    first = cli("symbol", "start", "--json", "--path", root)
    assert (first.code, first.json["status"], first.json["reason"]) == (3, "not_indexed", "not_indexed")
    index(project.root)
    project.write(".gitindex.toml", "[index]\nchunk_chars = 400\n")
    second = cli("symbol", "start", "--json", "--path", root)
    assert (second.code, second.json["status"], second.json["reason"]) == (
        3,
        "requires_reindex",
        "requires_reindex",
    )
    assert [str(reason) for reason in NonOkReason] == ["indexing", "requires_reindex", "not_indexed"]


def test_4_freshness_is_skipped_while_indexing(indexed: Codebase, project: GitRepo) -> None:
    """EN-6: beside a rebuild nothing is synced, and the answer says skipped_indexing."""
    project.write("app/new.py", "def added():\n    return 1\n")
    before = view(project.root).manifest.snapshot_id
    with forge.rebuilding(indexed):
        answer = index_actions.catch_up(indexed)
        assert (answer["freshness"], answer["noop"]) == ("skipped_indexing", True)
        assert (
            cli("status", "--json", "--path", str(project.root)).json["freshness_mode"] == "skipped_indexing"
        )
        synced = cli("symbol", "added", "--sync", "--json", "--path", str(project.root))
        assert (synced.code, synced.json["status"]) == (3, "not_ready")
        assert view(project.root).manifest.snapshot_id == before
    assert index_actions.catch_up(indexed)["freshness"] == "synced"


def test_5_read_answers_with_structure(indexed: Codebase) -> None:
    """EN-6: `read` is gated too, and its refusal is JSON on both surfaces."""
    with forge.rebuilding(indexed):
        check_not_ready(cli("read", "app/core.py", "--json", "--path", str(indexed.root)).json, indexed.root)
        check_not_ready(tool("read_file", indexed.root / "app/core.py"), indexed.root)


def test_6_notes_are_relevant_ordered_and_capped() -> None:
    """QU-4: filter, then sort by (file, type, symbolId, startLine, detailHash), then cut and say so."""
    mine = [
        CallGraphRemark("b", "a.py", "x", "s1", 3),
        CallGraphRemark("a", "a.py", "x", None, None),
        CallGraphRemark("a", "a.py", "y", "s1", None),
        CallGraphRemark("a", "a.py", "y", "s1", 9),
        CallGraphRemark("a", "b.py", "z", "s2", 1),
    ]
    noise = [CallGraphRemark("a", "elsewhere.py", "x"), CallGraphRemark("a", "a.py", "x", "unknown", 1)]
    whole = to_json(select_remarks([*reversed(mine), *noise], {"a.py", "b.py"}, {"s1", "s2"}, 10))
    order = [(note["file"], note["type"], note["symbolId"], note["startLine"]) for note in whole["notes"]]
    assert order == [
        ("a.py", "a", "s1", 9),
        ("a.py", "a", "s1", None),
        ("a.py", "a", None, None),
        ("a.py", "b", "s1", 3),
        ("b.py", "a", "s2", 1),
    ]
    assert (whole["notesTruncated"], whole["totalNoteCount"], whole["returnedNoteCount"]) == (False, 5, 5)
    assert whole["warnings"] == []
    cut = to_json(select_remarks([*mine, *noise], {"a.py", "b.py"}, {"s1", "s2"}, 2))
    assert cut["notes"] == whole["notes"][:2]
    assert (cut["notesTruncated"], cut["totalNoteCount"], cut["returnedNoteCount"]) == (True, 5, 2)
    assert cut["warnings"] == ["CALL_GRAPH_NOTES_TRUNCATED"]


def test_6_notes_of_a_real_graph(project: GitRepo) -> None:
    """QU-4: an answer about one function carries no note about another, and the cap holds end to end."""
    calls = "".join(f"    thing{at}.run()\n" for at in range(9))
    classes = "".join(f"class C{at}:\n    def run(self):\n        pass\n\n\n" for at in range(3))
    project.write("app/many.py", f"{classes}def busy():\n{calls}\n\ndef other():\n    elsewhere.run()\n")
    index(project.root)
    run = ("callgraph", "busy", "--direction", "callees", "--json", "--path", str(project.root))
    whole = cli(*run).json
    assert whole["totalNoteCount"] == whole["returnedNoteCount"] == 9
    assert {note["type"] for note in whole["notes"]} == {"ambiguous_call"}
    assert whole["edges"] == []  # QU-3: a guess is never an edge
    assert all(
        edge["precision"] == "text" and edge["candidate_count"] == 3 for edge in whole["candidate_edges"]
    )
    cut = cli(*run, "--notes", "4").json
    assert cut["notes"] == whole["notes"][:4]
    assert (cut["notesTruncated"], cut["totalNoteCount"]) == (True, 9)
    assert cut["warnings"] == ["CALL_GRAPH_NOTES_TRUNCATED"]


def test_7_only_the_indexing_codebase_is_blocked(indexed: Codebase, tmp_path: Path) -> None:
    """EN-6: gates are per codebase."""
    second = GitRepo.create(tmp_path / "second")
    second.commit("first", **FILES)
    index(second.root)
    with forge.rebuilding(indexed):
        assert tool("find_symbol", indexed.root, name="start")["status"] == "not_ready"
        assert tool("find_symbol", second.root, name="start")["status"] == "ok"
        states = {entry["root"]: entry["state"] for entry in tool("list_codebases", tmp_path)["codebases"]}
    assert states.pop(str(indexed.root)) == "indexing"
    assert set(states.values()) <= {"indexed", "sync_completed"}  # the twin may have been seeded
    assert list(states) == [str(second.root)]


def test_8_requires_reindex_wins_over_indexing(indexed: Codebase, project: GitRepo) -> None:
    """EN-2: the lock never hides that the index does not fit the configuration."""
    with forge.rebuilding(indexed):
        project.write(".gitindex.toml", "[index]\nchunk_chars = 400\n")
        answer = tool("find_symbol", project.root, name="start")
        assert (answer["status"], answer["reason"]) == ("requires_reindex", "requires_reindex")
        assert answer["hints"]["reindex"]["args"] == {"action": "reindex", "path": str(project.root)}


def test_8_a_mismatching_marker_wins_over_indexing(indexed: Codebase) -> None:
    """EN-2 once more, with the mismatch in the marker itself."""
    marker = forge.good_marker(indexed)
    marker["fingerprint"] = {**marker["fingerprint"], "schemaVersion": 0}
    forge.remark(indexed, marker)
    with forge.rebuilding(indexed):
        assert tool("read_file", indexed.root, file="README.md")["status"] == "requires_reindex"
        assert (
            tool("read_file", indexed.root, file="README.md", allow_stale=True)["status"]
            == "requires_reindex"
        )


def test_8_not_ready_wins_over_not_indexed(project: GitRepo) -> None:
    """EN-2: the first create of a codebase is `not_ready`, not `not_indexed`, and allow_stale has nothing to read."""
    from gitindex.ops.codebase import initial_store_state
    from gitindex.store import stores

    made = codebase(project.root)
    stores.create(made.layout, initial_store_state(made))
    with forge.rebuilding(made):
        assert tool("find_symbol", project.root, name="start")["status"] == "not_ready"
        assert tool("find_symbol", project.root, name="start", allow_stale=True)["status"] == "not_ready"
    assert tool("find_symbol", project.root, name="start")["status"] == "not_indexed"


def test_9_hints_name_the_effective_root(indexed: Codebase) -> None:
    """EN-3: a request for a subdirectory is answered for the codebase it lies in."""
    below = indexed.root / "app"
    with forge.rebuilding(indexed):
        answer = tool("search_codebase", below, query="start")
        check_not_ready(answer, indexed.root)
        assert answer["requestedPath"] == str(below)
        told = cli("search", "start", "--json", "--path", str(below)).json
        check_not_ready(told, indexed.root)


def test_progress_is_told_as_it_is(indexed: Codebase) -> None:
    """EN-3: the numbers come from the writer; without any they are null."""
    with forge.rebuilding(indexed):
        known = state_file.read(indexed.layout)
        assert known is not None
        state_file.write(
            indexed.layout,
            replace(known, indexing=state_file.IndexingProgress(40.0, "extract", "2024-01-01T00:00:00Z")),
        )
        answer = tool("find_symbol", indexed.root, name="start")
        assert answer["indexing"] == {
            "progressPct": 40.0,
            "phase": "extract",
            "lastUpdated": "2024-01-01T00:00:00Z",
        }
        assert 500 <= answer["retryAfterMs"] <= 60_000
        state_file.write(indexed.layout, replace(known, indexing=None))
        answer = tool("find_symbol", indexed.root, name="start")
        assert answer["indexing"] == {"progressPct": None, "phase": None, "lastUpdated": None}
