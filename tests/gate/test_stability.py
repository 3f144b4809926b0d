"""Tests A to G of the index state stability contract (EN-4, EN-5, EN-7)."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from gitindex import gate
from gitindex.config import load_environment
from gitindex.mcp.server import Service
from gitindex.model.proof import ProofOutcome
from gitindex.ops.codebase import Codebase
from gitindex.ops.maintain import index_actions
from tests.gate import forge
from tests.gate.conftest import FILES, READS, TOOLS
from tests.support.gitrepo import GitRepo
from tests.support.harness import cli, codebase, index, view


def tool(name: str, path: Path, /, **arguments: Any) -> dict[str, Any]:
    where = {} if name == "list_codebases" else {"path": str(path)}
    return json.loads(Service(load_environment(), path).call(name, {**where, **arguments}).text)


def roots() -> list[str]:
    return [entry["root"] for entry in cli("list", "--json").json["codebases"]]


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A remote is configured and every connection fails: whoever tries one is caught."""
    monkeypatch.setenv("GITINDEX_REMOTE", "s3://nowhere/prefix")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a foreground read contacted the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


@pytest.mark.usefixtures("unreachable")
def test_a_foreground_reads_reconcile_nothing(indexed: Codebase) -> None:
    """A (EN-5): reads contact no remote and leave every byte of every store as it was."""
    before = forge.stamps(indexed.home)
    for read in (*READS, ("status",), ("list",), ("health",), ("stores",)):
        assert cli(*read, "--json", "--path", str(indexed.root)).code == 0, read
    for name, arguments in (*TOOLS, ("list_codebases", {}), ("manage_index", {"action": "status"})):
        assert tool(name, indexed.root, **arguments)["status"] == "ok", name
    assert forge.stamps(indexed.home) == before


def test_b_create_repairs_a_stale_index(indexed: Codebase) -> None:
    """B (EN-7): without proof `create` proceeds and says so; with proof it answers already indexed."""
    assert index_actions.create(indexed)["message"].endswith("is already indexed")
    forge.remark(indexed, forge.NO_MARKER)
    assert tool("find_symbol", indexed.root, name="start")["status"] == "not_indexed"
    answer = tool("manage_index", indexed.root, action="create", wait=True)
    assert answer["status"] == "ok"
    assert "noop" not in answer
    assert answer["notes"][0].startswith(index_actions.STALE_WARNING)
    assert "missing_marker_doc" in answer["notes"][0]
    assert tool("find_symbol", indexed.root, name="start")["status"] == "ok"
    again = tool("manage_index", indexed.root, action="create", wait=True)
    assert (again["noop"], again["message"]) == (True, f"{indexed.root} is already indexed")


def test_b_a_failed_probe_is_no_proof_for_create(indexed: Codebase) -> None:
    """B: `create` returns early for a valid proof only; an unreadable one is built anew."""
    forge.break_probe(indexed)
    needed, notes = index_actions.needs_create(indexed)
    assert needed
    assert "probe_failed" in notes[0]


def test_c_status_reports_a_stale_index(indexed: Codebase) -> None:
    """C (EN-4): status names the flaw, the way out, and changes nothing."""
    forge.remark(indexed, forge.NO_MARKER)
    before = forge.stamps(indexed.home)
    ran = cli("status", "--path", str(indexed.root))
    assert ran.code == 3
    assert "completion proof is missing or invalid (missing_marker_doc" in ran.out
    assert f"next: gitindex sync --full --path {indexed.root}" in ran.out
    told = cli("status", "--json", "--path", str(indexed.root)).json
    assert (told["status"], told["gate"], told["reason"]) == ("not_indexed", "not_indexed", "not_indexed")
    assert told["completionProof"]["reason"] == "missing_marker_doc"
    assert told["hints"]["staleLocal"]["completionProof"] == "missing_marker_doc"
    assert told["counts"]["files_indexed"] == len(FILES)  # what is there is still described
    assert forge.stamps(indexed.home) == before


def test_c_status_reports_a_mismatch_as_requires_reindex(indexed: Codebase) -> None:
    """C: a fingerprint mismatch is guidance to reindex, a failed probe only a note."""
    marker = forge.good_marker(indexed)
    marker["fingerprint"] = {**marker["fingerprint"], "embeddingModel": "other"}
    forge.remark(indexed, marker)
    told = cli("status", "--json", "--path", str(indexed.root)).json
    assert (told["status"], told["reason"]) == ("requires_reindex", "requires_reindex")
    assert told["hints"]["reindex"]["args"]["action"] == "reindex"


def test_c_status_treats_a_failed_probe_as_a_note(indexed: Codebase) -> None:
    forge.break_probe(indexed)
    told = cli("status", "--json", "--path", str(indexed.root)).json
    assert told["status"] == "ok"
    assert told["completionProof"]["outcome"] == "probe_failed"
    assert told["hints"]["debugProofCheck"]["ok"] is False


@pytest.mark.usefixtures("unreachable")
def test_d_list_is_stable_under_failures(indexed: Codebase, tmp_path: Path) -> None:
    """D (EN-5): damaged stores, missing roots and a dead remote never drop an entry, call after call."""
    others = {}
    for name in ("gone", "state", "pointer", "manifest", "lease"):
        made = GitRepo.create(tmp_path / name)
        made.commit("first", **FILES)
        index(made.root)
        others[name] = codebase(made.root)
    listed = roots()
    assert len(listed) == 6
    shutil.rmtree(others["gone"].root)
    others["state"].layout.state.write_bytes(b"\xff{")
    others["pointer"].layout.active_pointer.write_text("nonsense")
    damaged = others["manifest"].layout
    damaged.manifest(damaged.active_pointer.read_text().strip()).write_text('{"schema_version": 99}')
    others["lease"].layout.lease.write_text("torn")
    for _ in range(3):
        assert roots() == listed
        assert [entry["root"] for entry in tool("list_codebases", tmp_path)["codebases"]] == listed
    problems = {entry["root"]: entry["problems"] for entry in cli("list", "--json").json["codebases"]}
    assert problems[str(indexed.root)] == []
    for name in ("gone", "state", "pointer", "manifest"):
        assert problems[str(others[name].root)], name


def test_d_an_unknown_store_is_still_listed(indexed: Codebase) -> None:
    """D: a store that says nothing about itself is an entry with a problem, not a crash."""
    (indexed.home / "data" / "what__0123456789abcdef__0123456789abcdef").mkdir()
    entries = cli("list", "--json").json["codebases"]
    assert [entry["root"] for entry in entries] == [str(indexed.root), None]
    assert entries[1]["problems"]
    assert "unknown (what__" in cli("list").out


@pytest.mark.usefixtures("unreachable")
def test_e_a_failing_remote_changes_nothing(indexed: Codebase) -> None:
    """E (EN-5, RE-6): with a proven local index, search, status and list stay as they were, round after round."""
    seen = set()
    for _ in range(3):
        found = cli("search", "start", "--json", "--path", str(indexed.root))
        told = cli("status", "--json", "--path", str(indexed.root))
        seen.add(
            (found.code, found.json["snapshot_id"], len(found.json["results"]), told.json["status"], *roots())
        )
    assert len(seen) == 1
    assert next(iter(seen))[0] == 0


def test_f_stale_local_is_an_answer_not_a_failure(indexed: Codebase) -> None:
    """F: the same JSON each time, membership untouched, and no protocol error that would invite a retry."""
    forge.remark(indexed, forge.NO_MARKER)
    before = forge.stamps(indexed.home)
    service = Service(load_environment(), indexed.root)
    for name, arguments in TOOLS:
        answers = {service.call(name, {"path": str(indexed.root), **arguments}) for _ in range(2)}
        assert len(answers) == 1, name
        rendered = answers.pop()
        assert not rendered.failed
        answer = json.loads(rendered.text)
        assert (answer["status"], answer["reason"]) == ("not_indexed", "not_indexed")
    assert roots() == [str(indexed.root)]
    assert forge.stamps(indexed.home) == before


def test_g_an_intermittent_probe_never_flips_the_answer(indexed: Codebase) -> None:
    """G: reads answer ok while the probe fails and after it recovers; only the diagnostic comes and goes."""
    with view(indexed.root) as opened:
        table = indexed.layout.table(opened.manifest.segments[-1].id)
    hidden = table.with_name("hidden")
    for _ in range(3):
        table.rename(hidden)
        broken = tool("find_symbol", indexed.root, name="start")
        hidden.rename(table)
        whole = tool("find_symbol", indexed.root, name="start")
        assert broken["status"] == whole["status"] == "ok"
        assert broken["results"] == whole["results"]
        assert broken["hints"]["debugProofCheck"]["reason"] == "probe_failed"


def test_g_an_empty_probe_is_stale_local_not_a_failed_probe(indexed: Codebase) -> None:
    """G: `missing_marker_doc` means the table was read and holds no marker; nothing else means that."""
    forge.remark(indexed, forge.NO_MARKER)
    with view(indexed.root) as opened:
        assert gate.validate_completion_proof(indexed, opened).outcome is ProofOutcome.STALE_LOCAL
    forge.break_probe(indexed)
    with view(indexed.root) as opened:
        assert gate.validate_completion_proof(indexed, opened).outcome is ProofOutcome.PROBE_FAILED


def test_create_status_search_list_never_flap(project: GitRepo) -> None:
    """Acceptance 1: a real transition is the only way to another answer."""
    assert tool("manage_index", project.root, action="create", wait=True)["status"] == "ok"
    for _ in range(3):
        assert tool("manage_index", project.root, action="create")["noop"] is True
        assert tool("manage_index", project.root, action="status")["status"] == "ok"
        assert tool("search_codebase", project.root, query="start")["status"] == "ok"
        assert roots() == [str(project.root)]
    assert tool("manage_index", project.root, action="clear")["bytes_freed"] > 0
    assert tool("search_codebase", project.root, query="start")["status"] == "not_indexed"
    assert roots() == []
