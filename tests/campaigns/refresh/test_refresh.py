"""`refresh` from commit to published documents: deltas, scopes, compaction, other writers (SE-3, SE-4, SE-7)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from gitindex.errors import ExactFactsError, UsageError
from gitindex.lifecycle import check
from gitindex.lifecycle.compact import compact, compact_runs
from gitindex.lifecycle.digest import compute_digest
from gitindex.model.ids import ulid
from gitindex.ops.exact import refresh_jobs
from gitindex.scip.symbol_grammar import hash64
from gitindex.semantic.job_queue import MAX_ATTEMPTS
from gitindex.store import lease, steps
from gitindex.view.snapshot import EXACT_KIND, open_active
from tests.campaigns.refresh.crashing import kill_at
from tests.campaigns.refresh.project import Project, scip_of, symbol

DISC = hash64(symbol("shapes", "Disc#").encode())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def places(project: Project, value: int = DISC) -> list[tuple]:
    with open_active(project.codebase.layout) as view:
        return sorted((item.path, item.line, item.column) for item in view.scip.positions(value))


def all_documents(project: Project) -> dict[str, str]:
    with open_active(project.codebase.layout) as view:
        return {item.path: item.blob for item in view.scip.documents()}


def test_a_refresh_publishes_documents_beside_the_facts(project: Project):
    """SE-7: one semantic segment in an ordinary publish; the view of everything else is unchanged."""
    project.sync()
    with open_active(project.codebase.layout) as view:
        before = compute_digest(view)
    report = project.refresh()
    assert (report.status, [item.outcome for item in report.contexts]) == ("ok", ["refreshed"])
    assert places(project) == [("report.py", 1, 20), ("report.py", 5, 12), ("shapes.py", 6, 7)]
    with open_active(project.codebase.layout) as view:
        assert compute_digest(view) == before
        assert check.inspect(view) == []
        assert view.manifest.segments[-1].kind == EXACT_KIND
        (entry,) = view.manifest.semantic
        assert (entry["language"], entry["tool"], entry["commit"]) == ("python", "scip-python", report.head)
        assert (entry["files"], entry["demoted"]) == (3, 0)
    assert project.tool.calls[0]["argv"][0] == "index"
    assert not any(project.codebase.layout.staging.iterdir()), "the checkout is gone"


def test_only_documents_that_changed_are_written(project: Project):
    """SE-7: the second refresh writes one document of three; the third has nothing to do at all."""
    project.refresh()
    project.change("other.py", "def lonely():\n    return 2\n\n\ndef more():\n    return lonely()\n")
    (done,) = project.refresh().contexts
    counts = {name: done.detail[name] for name in ("documents", "written", "unchanged", "buried")}
    assert counts == {"documents": 3, "written": 1, "unchanged": 2, "buried": 0}
    assert places(project, hash64(symbol("other", "lonely().").encode())) == [
        ("other.py", 1, 5),
        ("other.py", 6, 12),
    ]
    (again,) = project.refresh().contexts
    assert again.outcome == "current"
    assert len(project.tool.calls) == 2
    project.repo.commit("words", **{"README.md": "# Other\n"})
    (untouched,) = project.refresh().contexts
    assert untouched.outcome == "current", "no input of the project changed"


def test_documents_the_tool_no_longer_gives_are_buried(project: Project):
    """SE-7: a file that is left out loses its exact facts instead of keeping old ones."""
    project.refresh()
    project.change("other.py", "def lonely():\n    return 3\n")
    kept = {path: text for path, text in project.files.items() if path != "shapes.py"}
    project.answer(scip_of(kept))
    (done,) = project.refresh().contexts
    assert done.detail["buried"] == 1
    assert sorted(all_documents(project)) == ["other.py", "report.py"]
    assert [place[0] for place in places(project)] == ["report.py", "report.py"]


def test_a_changed_file_is_no_longer_exact(project: Project):
    """SE-8: positions count only while the file has the bytes they were made from, and come back with them."""
    project.refresh()
    project.repo.write("report.py", "\n" + project.files["report.py"])
    project.sync()
    assert [place[0] for place in places(project)] == ["shapes.py"]
    project.repo.write("report.py", project.files["report.py"])
    project.sync()
    assert len(places(project)) == 3


def test_part_of_a_project_can_be_refreshed(project: Project):
    """SE-4: `--files` imports only those documents."""
    project.refresh(files=("shapes.py",))
    assert list(all_documents(project)) == ["shapes.py"]
    project.refresh()
    assert sorted(all_documents(project)) == ["other.py", "report.py", "shapes.py"]
    with pytest.raises(UsageError):
        project.refresh(files=("README.md",))
    with pytest.raises(UsageError):
        project.refresh(contexts=("cobol",))


def test_compaction_keeps_documents_and_the_digest(project: Project):
    """SN-8, SE-7: five refreshes become one file of documents; answers and digest stay."""
    project.refresh()
    for number in range(4):
        project.change("other.py", f"def lonely():\n    return {number + 10}\n")
        project.refresh()
    layout = project.codebase.layout
    with open_active(layout) as view:
        before = compute_digest(view), all_documents(project), places(project)
        names = dict(view.scip.find_by_short_name("Disc"))
        related = view.scip.find_related(hash64(symbol("shapes", "Shape#area().").encode()))
    assert related
    compact(layout)
    with open_active(layout) as view:
        assert len(view.manifest.segments) == 1
        assert (compute_digest(view), all_documents(project), places(project)) == before
        assert dict(view.scip.find_by_short_name("Disc")) == names
        assert view.scip.find_related(hash64(symbol("shapes", "Shape#area().").encode())) == related
        assert check.inspect(view) == []
    (again,) = project.refresh().contexts
    assert again.outcome == "current"
    project.change("other.py", "def lonely():\n    return 99\n")
    (delta,) = project.refresh().contexts
    assert delta.detail["written"] == 1, "the merged documents are what a new one is compared with"


def test_merged_deltas_go_on_hiding_older_documents(project: Project):
    """SN-8, SE-7: the first documents stay where they are; what replaced or buried them stays in force."""
    project.refresh()
    with open_active(project.codebase.layout) as view:
        first = len(view.manifest.segments)
    project.change("other.py", "def lonely():\n    return 5\n")
    project.refresh()
    project.repo.git("rm", "-q", "report.py")
    project.repo.git("commit", "-q", "-m", "gone")
    project.refresh()
    layout = project.codebase.layout
    with open_active(layout) as view:
        before = compute_digest(view), all_documents(project), places(project)
    assert set(before[1]) == {"other.py", "shapes.py"}
    compact_runs(layout, lambda view: [range(first, len(view.manifest.segments))])
    with open_active(layout) as view:
        assert len(view.manifest.segments) == first + 1
        assert (compute_digest(view), all_documents(project), places(project)) == before
        assert check.inspect(view) == []
    (again,) = project.refresh().contexts
    assert again.outcome == "current"


@pytest.mark.slow
def test_twenty_deltas_answer_as_one(project: Project):
    """SE-7, SE-8: whatever the number of segments, every document counts once and in its newest form."""
    project.refresh()
    for number in range(20):
        names = "".join(f"\n\ndef made{at}():\n    return lonely()\n" for at in range(number % 5 + 1))
        project.change("other.py", f"def lonely():\n    return {number}\n{names}")
        assert project.refresh().contexts[0].detail["written"] == 1
    lonely = hash64(symbol("other", "lonely().").encode())
    with open_active(project.codebase.layout) as view:
        assert sum(segment.kind == EXACT_KIND for segment in view.manifest.segments) == 21
    before = places(project, lonely), places(project), all_documents(project)
    assert len(before[0]) == 6
    compact(project.codebase.layout)
    assert (places(project, lonely), places(project), all_documents(project)) == before


def test_a_busy_store_is_waited_for(project: Project):
    """SE-3: the index is imported when the lease is free; the indexer does not run again."""
    with ExitStack() as holding:
        heard: list[str] = []

        def busy(step: str) -> None:
            heard.append(step)
            if step == "import.lease" and heard.count(step) == 1:
                holding.enter_context(lease.hold(project.codebase.layout, ulid()))
            elif step == "import.decode":
                holding.close()

        steps.observe(busy)
        try:
            report = project.refresh(lease_wait=0.0)
        finally:
            steps.observe(None)
    assert (report.status, heard.count("import.lease")) == ("ok", 2)
    assert len(project.tool.calls) == 1
    assert places(project)


def test_a_store_that_stays_busy_fails_the_job_in_the_end(project: Project):
    """SE-3: another attempt may help, as often as attempts are left."""
    project.sync()
    with lease.hold(project.codebase.layout, ulid()):
        report = project.refresh(lease_wait=0.0, catch_up=False)
    (context,) = report.contexts
    assert (report.status, context.outcome) == ("failed", "failed")
    assert f"({MAX_ATTEMPTS} attempts)" in context.message
    assert len(project.tool.calls) == MAX_ATTEMPTS
    assert project.refresh().status == "ok"


def test_other_writers_may_publish_in_between(project: Project):
    """SE-7, LE-1: a sync between decoding and publishing is kept; a compaction means comparing again."""
    project.refresh()
    project.change("other.py", "def lonely():\n    return 5\n")
    project.sync()
    done = []

    def interfere(step: str) -> None:
        if step == "import.lease" and not done:
            done.append(step)
            project.repo.write("README.md", "# Written meanwhile\n")
            project.sync()
            compact(project.codebase.layout)

    steps.observe(interfere)
    try:
        report = project.refresh(catch_up=False)
    finally:
        steps.observe(None)
    assert (done, report.status) == (["import.lease"], "ok")
    with open_active(project.codebase.layout) as view:
        assert check.inspect(view) == []
        assert "README.md" in view.overlay()
    assert len(all_documents(project)) == 3
    assert len(places(project, hash64(symbol("other", "lonely().").encode()))) == 1


def test_two_requests_share_one_run(project: Project):
    """SE-3, SE-4: whoever comes second waits for the job that covers it; the tool runs once."""
    project.sync()
    variables = {"root": project.repo.root, "home": project.home, "path": project.tool.path}
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(kill_at, "no.step", *variables.values()) for _ in range(2)]
        assert [item.result() for item in asked] == [0, 0]
    assert len(project.tool.calls) == 1
    assert [job["status"] for job in refresh_jobs.list_jobs(project.codebase)["jobs"]] == ["completed"]


def test_a_damaged_queue_is_named(project: Project):
    """C-5: jobs and decisions may be lost, facts are elsewhere."""
    project.refresh()
    project.codebase.layout.control.write_bytes(b"no database at all, but long enough to be looked at" * 9)
    for name in ("-wal", "-shm"):
        Path(f"{project.codebase.layout.control}{name}").unlink(missing_ok=True)
    with pytest.raises(ExactFactsError) as caught:
        refresh_jobs.list_jobs(project.codebase)
    assert caught.value.hint == "gitindex repair"
    assert len(places(project)) == 3
