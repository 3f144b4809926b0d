"""The completion proof and all that can be wrong with it (EN-4, C-4)."""

from __future__ import annotations

import pytest

from gitindex import gate
from gitindex.errors import Gated
from gitindex.model.proof import Proof, ProofOutcome, ProofReason
from gitindex.ops.codebase import Codebase
from tests.gate import forge
from tests.support.harness import index, view


def proof(codebase: Codebase) -> Proof:
    with view(codebase.root) as opened:
        return gate.validate_completion_proof(codebase, opened)


def envelope(codebase: Codebase, **options: bool) -> dict:
    with pytest.raises(Gated) as caught:
        gate.open_gated(codebase, **options)
    return caught.value.detail["envelope"]


def test_a_finished_sync_is_proven(indexed: Codebase) -> None:
    """EN-4: a marker with this root, fingerprint and snapshot id is valid, quickly and thoroughly."""
    assert proof(indexed) == Proof(ProofOutcome.VALID)
    with view(indexed.root) as opened:
        assert opened.is_newest_table_cached()
    with gate.open_gated(indexed) as opened:
        assert opened.record("app/core.py")


def test_every_publish_carries_its_own_proof(indexed: Codebase, project) -> None:
    """C-4: a publish that only deletes still writes a marker whose runId is its snapshot."""
    (project.root / "app/main.py").unlink()
    report = index(project.root)
    assert report.changes["delete"] == 1
    with view(project.root) as opened:
        marker = opened.read_marker()
    assert marker is not None
    assert marker["runId"] == report.snapshot_id
    assert proof(indexed).outcome is ProofOutcome.VALID


def test_a_forged_marker_that_says_the_same_is_valid(indexed: Codebase) -> None:
    """The forge itself is sound: the negative tests below differ from this one in a single field."""
    forge.remark(indexed, forge.good_marker(indexed))
    assert proof(indexed).outcome is ProofOutcome.VALID
    gate.open_gated(indexed).close()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (forge.NO_MARKER, ProofReason.MISSING_MARKER_DOC),
        ({"kind": "gitindex_index_completion_v0"}, ProofReason.INVALID_MARKER_KIND),
        ({"codebasePath": "/somewhere/else"}, ProofReason.PATH_MISMATCH),
        ({"codebasePath": None}, ProofReason.INVALID_PAYLOAD),
        ({"indexedFiles": "many"}, ProofReason.INVALID_PAYLOAD),
        ({"indexedFiles": True}, ProofReason.INVALID_PAYLOAD),
        ({"totalChunks": -1}, ProofReason.INVALID_PAYLOAD),
        ({"completedAt": None}, ProofReason.INVALID_PAYLOAD),
        ({"fingerprint": "x"}, ProofReason.INVALID_PAYLOAD),
        ({"runId": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, ProofReason.INVALID_PAYLOAD),
        ([1, 2], ProofReason.INVALID_PAYLOAD),
    ],
)
def test_stale_local_for_every_flaw(indexed: Codebase, change: object, reason: ProofReason) -> None:
    """EN-4: each flaw has its reason, is `stale_local`, and a read answers not_indexed with the way out."""
    marker = {**forge.good_marker(indexed), **change} if isinstance(change, dict) else change
    forge.remark(indexed, marker)
    found = proof(indexed)
    assert (found.outcome, found.reason) == (ProofOutcome.STALE_LOCAL, reason)
    answer = envelope(indexed)
    assert (answer["status"], answer["reason"]) == ("not_indexed", "not_indexed")
    assert answer["hints"]["staleLocal"] == {
        "completionProof": str(reason),
        "recommendedAction": {
            "tool": "manage_index",
            "args": {"action": "create", "path": str(indexed.root)},
        },
    }


FIELDS = ("embeddingProvider", "embeddingModel", "embeddingDimension", "vectorStoreProvider", "schemaVersion")


@pytest.mark.parametrize("field", FIELDS)
def test_any_part_of_the_fingerprint_counts(indexed: Codebase, field: str) -> None:
    """EN-4: the tuple must be equal in every part; a difference is requires_reindex, not not_indexed."""
    marker = forge.good_marker(indexed)
    marker["fingerprint"] = {**marker["fingerprint"], field: "other"}
    forge.remark(indexed, marker)
    found = proof(indexed)
    assert (found.outcome, found.reason) == (
        ProofOutcome.FINGERPRINT_MISMATCH,
        ProofReason.FINGERPRINT_MISMATCH,
    )
    assert field in found.detail
    assert envelope(indexed)["status"] == "requires_reindex"


def test_a_probe_that_fails_changes_no_answer(indexed: Codebase) -> None:
    """EN-4: an unreadable table is probe_failed; the read goes on and carries a diagnostic."""
    forge.break_probe(indexed)
    found = proof(indexed)
    assert (found.outcome, found.reason) == (ProofOutcome.PROBE_FAILED, ProofReason.PROBE_FAILED)
    admission = gate.admit(indexed)
    admission.view.close()
    assert admission.hints["debugProofCheck"]["reason"] == "probe_failed"
    assert admission.hints["debugProofCheck"]["ok"] is False


def test_the_root_is_compared_canonically(indexed: Codebase, tmp_path) -> None:
    """Policy A: another spelling of the same directory is the same directory."""
    (tmp_path / "link").symlink_to(indexed.root)
    for spelling in (f"{indexed.root}/", str(tmp_path / "link"), f"{indexed.root}/app/.."):
        forge.remark(indexed, {**forge.good_marker(indexed), "codebasePath": spelling})
        assert proof(indexed).outcome is ProofOutcome.VALID, spelling


def test_the_quick_proof_notices_every_touch(indexed: Codebase) -> None:
    """The publisher's note vouches for the very file: rewriting it with equal bytes already ends that."""
    with view(indexed.root) as opened:
        newest = opened.manifest.segments[-1].id
    files = [path for path in indexed.layout.table(newest).rglob("*") if path.is_file()]
    assert files
    for path in files:
        data = path.read_bytes()
        path.write_bytes(data)
        with view(indexed.root) as opened:
            assert not opened.is_newest_table_cached(), path
    gate.open_gated(indexed).close()


def test_quick_reads_load_no_table_engine(indexed: Codebase) -> None:
    """UI-3: a gated read of an untouched store imports neither lance nor pyarrow."""
    import subprocess
    import sys

    code = (
        "import sys; from gitindex.cli.boundary import run_command; from gitindex.cli.main import group;"
        f"code = run_command(group, ['symbol', 'start', '--json', '--path', {str(indexed.root)!r}]);"
        "heavy = {'lance', 'pyarrow', 'lancedb', 'torch', 'boto3', 'mcp'} & set(sys.modules);"
        "sys.exit(code or (f'{heavy}' if heavy else 0))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
