"""SE-3, SE-4: the queue under any interleaving of two connections; HEAD moves, crashes, kills at every
step.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gitindex.errors import ExactFactsError, IncompatibleVersion
from gitindex.semantic import control_database, job_queue
from gitindex.semantic.contexts import Context
from gitindex.semantic.job_worker import NoLongerCurrent, Steps, run_next
from gitindex.semantic.mutation import Decision
from gitindex.semantic.refresh_scope import canonical_scope, covers, merge

HEADS = ("h1", "h2", "h3")
SCOPES = st.sampled_from(
    [
        None,
        canonical_scope(("a/x",)),
        canonical_scope(("a/y", "b/z")),
        canonical_scope(packages=("a",)),
        canonical_scope(changed_since=3.0),
    ]
)


def contexts(*roots: str) -> list[Context]:
    return [Context(f"ctx_python_{root}_0", "python", root, "hash", (), ()) for root in roots]


@pytest.fixture
def connection(tmp_path: Path):
    opened = control_database.open_control(tmp_path / "control.sqlite")
    control_database.register_contexts(opened, contexts("one", "two"), {"python": "scip-python 1"})
    yield opened
    opened.close()


class Queue(RuleBasedStateMachine):
    """The model keeps what was asked for at the current HEAD; the table must never cover less."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        path = Path(self.directory.name) / "control.sqlite"
        self.connections = [control_database.open_control(path) for _ in range(2)]
        control_database.register_contexts(self.connections[0], contexts("one", "two"), {})
        self.now = 0.0
        self.head = HEADS[0]
        self.asked: dict[int, object] = {}
        self.held: list[job_queue.RefreshJob] = []  # what live workers believe to be running
        self.was_final: dict[int, str] = {}

    def teardown(self) -> None:
        for connection in self.connections:
            connection.close()
        self.directory.cleanup()

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    @initialize()
    def start(self) -> None:
        self.asked = {}

    @rule(which=st.integers(0, 1), context=st.integers(1, 2), wanted=SCOPES)
    def enqueue(self, which, context, wanted) -> None:
        done = job_queue.enqueue(self.connections[which], context, wanted, self.head, self.tick())
        assert job_queue.get(self.connections[1 - which], done.job_id).status in ("queued", "running")
        self.asked[context] = merge(self.asked[context], wanted) if context in self.asked else wanted

    @rule(which=st.integers(0, 1), head=st.sampled_from(HEADS), told=st.booleans())
    def move_head(self, which, head, told) -> None:
        """Told or not: an enqueue at the new HEAD must find out by itself."""
        if head != self.head:
            self.head = head
            self.asked = {}
        if told:
            job_queue.supersede_other_heads(self.connections[which], head, self.tick())

    @rule(which=st.integers(0, 1), worker=st.sampled_from(["w1", "w2"]))
    def claim(self, which, worker) -> None:
        job = job_queue.claim(self.connections[which], worker, self.tick())
        if job is not None:
            running = job_queue.get(self.connections[1 - which], job.id)
            assert (running.status, running.worker) == ("running", worker)
            self.held.append(job)

    @precondition(lambda self: self.held)
    @rule(
        which=st.integers(0, 1), data=st.data(), end=st.sampled_from(["complete", "fail", "retry", "crash"])
    )
    def end(self, which, data, end) -> None:
        job = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        connection = self.connections[which]
        before = job_queue.get(connection, job.id)
        ours = (
            before.status == "running" and before.worker == job.worker and before.started_at == job.started_at
        )
        if end == "crash":
            return
        if end == "complete":
            won = job_queue.complete(connection, job, self.tick())
        else:
            won = job_queue.fail(connection, job, "boom", self.tick(), retry=end == "retry")
        if before.started_at == job.started_at or before.worker != job.worker:
            assert won == ours
        if won and end == "fail":
            self.asked.pop(job.context_id, None)

    @rule(which=st.integers(0, 1))
    def recover(self, which) -> None:
        """Every worker that is not in `held` is dead; those in it beat first."""
        for job in self.held:
            job_queue.heartbeat(self.connections[which], job.id, job.worker, self.now + 1000)
        touched = job_queue.recover(self.connections[1 - which], self.now + 1000, stale_after=500)
        for job_id in touched:
            job = job_queue.get(self.connections[which], job_id)
            assert job.status in ("queued", "failed")
            if job.status == "failed" and "attempts" in job.error:
                self.asked.pop(job.context_id, None)

    @invariant()
    def never_two_live_of_a_kind(self) -> None:
        rows = self.connections[0].execute(
            "SELECT context_id, status, count(*) n FROM refresh_jobs "
            "WHERE status IN ('queued', 'running') GROUP BY 1, 2"
        )
        assert all(row["n"] == 1 for row in rows)

    @invariant()
    def final_states_are_final(self) -> None:
        for job in job_queue.list_recent(self.connections[1], 1000):
            if job.id in self.was_final:
                assert job.status == self.was_final[job.id]
            elif job.status in ("completed", "superseded", "failed"):
                self.was_final[job.id] = job.status
            assert job.attempts <= job_queue.MAX_ATTEMPTS

    @invariant()
    def what_was_asked_is_covered(self) -> None:
        for context, wanted in self.asked.items():
            able = [
                job.scope
                for job in job_queue.list_recent(self.connections[0], 1000)
                if job.context_id == context
                and job.head == self.head
                and (job.status in ("queued", "running", "completed") or "attempts" in (job.error or ""))
            ]
            assert able
            total = able[0]
            for other in able[1:]:
                total = merge(total, other)
            assert covers(total, wanted)


Queue.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestQueue = Queue.TestCase


def test_of_many_claimers_each_job_has_one(tmp_path: Path):
    path = tmp_path / "control.sqlite"
    opened = control_database.open_control(path)
    control_database.register_contexts(opened, contexts(*(f"c{n}" for n in range(20))), {})
    for context in range(1, 21):
        job_queue.enqueue(opened, context, None, "h", 0.0)
    won: list[int] = []

    def work(name: str) -> None:
        mine = control_database.open_control(path)
        while (job := job_queue.claim(mine, name, 1.0)) is not None:
            won.append(job.id)
        mine.close()

    threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(1, 21))
    opened.close()


def test_same_head_widens_and_another_head_supersedes(connection):
    first = job_queue.enqueue(connection, 1, canonical_scope(("a",)), "h1", 1.0)
    assert job_queue.enqueue(connection, 1, canonical_scope(("a",)), "h1", 2.0) == (
        first.job_id,
        "covered",
        (),
    )
    assert job_queue.enqueue(connection, 1, canonical_scope(("b",)), "h1", 2.0) == (
        first.job_id,
        "widened",
        (),
    )
    assert job_queue.get(connection, first.job_id).scope == canonical_scope(("a", "b"))
    running = job_queue.claim(connection, "w", 3.0)
    wider = job_queue.enqueue(connection, 1, None, "h1", 4.0)
    assert wider.outcome == "created"
    assert job_queue.get(connection, running.id).status == "running"
    assert job_queue.claim(connection, "w2", 5.0) is None, "the context is busy"
    moved = job_queue.enqueue(connection, 1, None, "h2", 6.0)
    assert set(moved.superseded) == {first.job_id, wider.job_id}


# -- the worker ---------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


class World:
    """A repository with a HEAD and a published state; every step can move HEAD or kill the worker."""

    def __init__(self, *, kill_at: str = "", move_at: str = "") -> None:
        self.head, self.published, self.discarded, self.now = "h1", [], [], 0.0
        self.kill_at, self.move_at = kill_at, move_at

    def steps(self) -> Steps[str]:
        return Steps(
            run=lambda job, alive: f"output of {job.id} at {job.head}" if alive() else "",
            read_head=lambda: self.head,
            publish=self.publish,
            discard=self.discarded.append,
            clock=self.clock,
            on_step=self.reached,
        )

    def clock(self) -> float:
        self.now += 1.0
        return self.now

    def reached(self, step: str) -> None:
        if step == self.kill_at:
            raise Killed
        if step == self.move_at:
            self.head = "h2"

    def publish(self, job, output, current) -> None:
        self.reached("publishing")
        if not current():
            raise NoLongerCurrent("HEAD moved")
        self.published.append((job.head, output))


def test_a_job_runs_to_completion(connection):
    world = World()
    job_queue.enqueue(connection, 1, None, "h1", 0.0)
    done = run_next(connection, "w", world.steps())
    assert done.status == "completed"
    assert world.published == [("h1", f"output of {done.id} at h1")]
    assert world.discarded
    assert control_database.read_contexts(connection)[0].refreshed_head == "h1"
    assert run_next(connection, "w", world.steps()) is None


@pytest.mark.parametrize("move_at", ["claimed", "indexed", "checked", "publishing"])
def test_head_moved_before_the_import_discards_the_output(connection, move_at):
    world = World(move_at=move_at)
    job_queue.enqueue(connection, 1, None, "h1", 0.0)
    done = run_next(connection, "w", world.steps())
    assert done.status == "superseded"
    assert world.published == []
    assert len(world.discarded) == 1


@pytest.mark.parametrize("kill_at", ["claimed", "indexed", "checked", "publishing", "published", "completed"])
def test_killed_anywhere_the_next_worker_finishes(connection, kill_at):
    """`completed` never stands without a publish; a job killed after its publish is only done again."""
    world = World(kill_at=kill_at)
    job_id = job_queue.enqueue(connection, 1, None, "h1", 0.0).job_id
    with pytest.raises(Killed):
        run_next(connection, "dead", world.steps())
    status = job_queue.get(connection, job_id).status
    assert status == ("completed" if kill_at == "completed" else "running")
    world.kill_at = ""
    world.now += 10_000
    again = run_next(connection, "next", world.steps())
    if kill_at == "completed":
        assert again is None
    else:
        assert (again.id, again.status, again.attempts) == (job_id, "completed", 2)
    assert {head for head, _ in world.published} == {"h1"}


def test_dead_workers_stop_being_tried(connection):
    job_id = job_queue.enqueue(connection, 1, None, "h1", 0.0).job_id
    for attempt in range(job_queue.MAX_ATTEMPTS):
        assert job_queue.claim(connection, "w", attempt * 1000.0).attempts == attempt + 1
        assert job_queue.recover(connection, attempt * 1000.0 + 999) == (job_id,)
    failed = job_queue.get(connection, job_id)
    assert (failed.status, failed.error) == ("failed", "the worker died (3 attempts)")


@pytest.mark.parametrize(("retry", "status"), [(False, "failed"), (True, "queued")])
def test_a_failing_indexer(connection, retry, status):
    def run(job, alive):
        raise ExactFactsError("scip-x crashed", retry=retry, diagnosis="crashed", log="last words")

    world = World()
    job_queue.enqueue(connection, 1, None, "h1", 0.0)
    steps = Steps(run, lambda: "h1", world.publish, world.discarded.append, world.clock)
    done = run_next(connection, "w", steps)
    assert done.status == status
    assert done.error == "crashed: scip-x crashed\nlast words"


# -- the rest of the control file ---------------------------------------------------------------------


def test_contexts_that_vanish_are_disabled(connection):
    rows = control_database.register_contexts(connection, contexts("two"), {"python": "scip-python 2"})
    assert [(row.root, row.tool_version) for row in rows] == [("two", "scip-python 2")]
    assert [row.enabled for row in control_database.read_contexts(connection, enabled_only=False)] == [
        False,
        True,
    ]


def test_decisions_come_back_whole(connection):
    decision = Decision("sig", "h1", {"a": "1"}, '["x"]', "proof")
    control_database.save_decision(connection, decision, 1.0)
    assert control_database.find_decision(connection, "sig", "h1") == decision
    assert control_database.find_decision(connection, "sig", "h2") is None


def test_a_control_file_of_a_newer_release_is_refused(tmp_path: Path):
    opened = control_database.open_control(tmp_path / "c.sqlite")
    opened.execute("UPDATE semantic_schema SET version = 99")
    opened.close()
    with pytest.raises(IncompatibleVersion, match="99"):
        control_database.open_control(tmp_path / "c.sqlite")
