"""`semantic.job_queue`: a HEAD that moved ends what was asked for before (SE-3)."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from gitindex.semantic import control_database, job_queue
from gitindex.semantic.contexts import Context


def test_jobs_of_another_head_are_superseded_at_once(tmp_path: Path):
    """SE-3: of every context, queued or running; those of this HEAD go on."""
    contexts = [
        Context(f"ctx_python_{root}_0", "python", root, "hash", (), ()) for root in ("one", "two", "three")
    ]
    with closing(control_database.open_control(tmp_path / "control.sqlite")) as connection:
        control_database.register_contexts(connection, contexts, {})
        running = job_queue.enqueue(connection, 1, None, "old", 1.0).job_id
        assert job_queue.claim(connection, "worker", 2.0).id == running
        queued = job_queue.enqueue(connection, 2, None, "old", 3.0).job_id
        current = job_queue.enqueue(connection, 3, None, "new", 4.0).job_id
        assert sorted(job_queue.supersede_other_heads(connection, "new", 5.0)) == [running, queued]
        states = {number: job_queue.get(connection, number).status for number in (running, queued, current)}
        assert states == {running: "superseded", queued: "superseded", current: "queued"}
        assert job_queue.supersede_other_heads(connection, "new", 6.0) == ()
