"""A writer that was stopped at any named step, for longer than guard and lease live, undoes nothing when it goes on.

LE-1, LE-3, SN-4, SN-8, SN-9: meanwhile another process takes the lease and publishes.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gitindex.errors import IncompatibleVersion, IntegrityError
from gitindex.lifecycle import gc
from gitindex.store import lease, manifests, staging, state_file, steps
from gitindex.store.layout import Layout
from tests.campaigns.crash import stopping
from tests.campaigns.crash.test_crash import before, prepared  # noqa: F401 - a fixture
from tests.support import harness
from tests.support.gitrepo import GitRepo

PUBLISH = steps.STEPS["publish"]
VISIBLE = ("publish.state", "publish.done")  # the swap was before
LOST = ("lease_lost",)
DONE = ("done",)
# Which step of which operation, and how it may end: lost where it had the lease and had not published.
CASES: list[tuple[str, str, tuple[str, ...]]] = [
    *(("sync", step, DONE if step in VISIBLE else LOST) for step in PUBLISH),
    *(
        ("sync", f"{stopping.HEARTBEAT}{step}", LOST)
        for step in ("publish.stage", "publish.facts", "publish.manifest", "publish.swap")
    ),
    *(("reindex", step, LOST) for step in ("publish.stage", "publish.flush", "publish.swap")),
    *(("seed", step, LOST) for step in steps.STEPS["seed"]),
    # Built without the lease: what the other one published is in it.
    *(("compact", step, DONE) for step in steps.STEPS["compact"]),
    *(
        ("compact", step, DONE if step in VISIBLE else LOST)
        for step in (
            "publish.chunks",
            "publish.lexical",
            "publish.install",
            "publish.manifest",
            "publish.swap",
            "publish.state",
        )
    ),
    ("compact", f"{stopping.HEARTBEAT}publish.gate", LOST),
    *(("gc", step, LOST) for step in ("gc.plan", "gc.snapshots", "gc.segments", "gc.lexical")),
    *(("gc", step, DONE) for step in ("gc.staging", "gc.done")),
    ("gc", f"{stopping.HEARTBEAT}gc.snapshots", LOST),
    *(("repair", step, DONE) for step in steps.STEPS["repair"]),
    *(
        ("repair", step, LOST)
        for step in ("publish.stage", "publish.install", "publish.gate", "publish.swap")
    ),
    ("upgrade", "upgrade.validate", DONE),
    ("upgrade", "upgrade.publish", DONE),
    ("upgrade", "publish.swap", LOST),
]
QUICK = [
    ("sync", "publish.facts"),
    ("sync", "publish.manifest"),
    ("sync", "publish.swap"),
    ("gc", "gc.segments"),
]


def test_every_step_has_a_case():
    listed = {name for names in steps.STEPS.values() for name in names}
    assert listed == {step for _, step, _ in CASES if not step.startswith(stopping.HEARTBEAT)}


@pytest.fixture
def children() -> Iterator[list[subprocess.Popen[str]]]:
    made: list[subprocess.Popen[str]] = []
    yield made
    for child in made:
        stopping.end(child)


@pytest.mark.slow
@pytest.mark.parametrize(("operation", "step", "endings"), CASES)
def test_a_stopped_writer_undoes_nothing(
    operation: str,
    step: str,
    endings: tuple[str, ...],
    prepared: tuple[GitRepo, Path],  # noqa: F811
    children: list[subprocess.Popen[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(lease, "GUARD_TTL", 0.2)
    repo, home = prepared
    real, root = before(operation, repo, home)
    sleeper = stopping.start(step, real, root, home)
    children.append(sleeper)
    layout = harness.codebase(root, home).layout
    owner = lease.read(layout)

    (root / "thief.py").write_text("def thief(): pass\n")
    # Beside a stopped collection nobody can read, and a damaged or outdated index is built anew.
    thief = harness.index(root, home, full=operation in ("gc", "repair", "upgrade"), lease_wait=60.0)
    check_cleaned(layout, robbed=endings == LOST)
    segments = [segment.id for segment in manifests.read(layout, thief.snapshot_id).segments]

    assert stopping.resume(sleeper) in endings
    check_store(layout, thief.snapshot_id, segments)
    if endings == LOST:
        assert owner is not None
        assert owner.lease_epoch not in find_epochs(layout), "what was refused left no manifest"
    assert harness.audited(root, home).problems == ()
    assert harness.digest_of(root, home) == harness.clean_digest(root, tmp_path / "scratch")
    harness.index(root, home)
    gc.collect(layout, now=harness.LATER)
    assert harness.audited(root, home).problems == ()
    assert harness.digest_of(root, home) == harness.clean_digest(root, tmp_path / "scratch")


def find_epochs(layout: Layout) -> set[int]:
    """Of every snapshot that can be read."""
    found = set()
    for snapshot_id in manifests.list_ids(layout):
        with suppress(IntegrityError, IncompatibleVersion):
            found.add(manifests.read(layout, snapshot_id).lease_epoch)
    return found


def check_cleaned(layout: Layout, *, robbed: bool) -> None:
    """LE-1, SN-8: whoever took the lease removed what its owner had in staging; a builder without a lease keeps its
    folder."""
    left = staging.find_builders(layout)
    assert [one for one in left if one.lease_epoch] == []
    assert len(left) <= (0 if robbed else 1)


def check_store(layout: Layout, thief: str, segments: list[str]) -> None:
    """LE-3: what the other one published is active, or is what the active snapshot was built upon."""
    active = manifests.read_active_id(layout)
    assert active is not None
    manifest, theirs = manifests.read(layout, active), manifests.read(layout, thief)
    if active != thief:
        assert manifest.lease_epoch > theirs.lease_epoch
        assert active > thief
    assert list(layout.staging.iterdir()) == []
    assert max(manifests.list_ids(layout)) == active, "nothing is left that never was visible"
    known = state_file.read(layout)
    assert known is not None
    assert known.active_snapshot_id == active
    assert known.state in ("indexed", "sync_completed")
    if active == thief:
        assert [segment.id for segment in manifest.segments] == segments


@pytest.mark.parametrize(("operation", "step"), QUICK)
def test_the_decisive_moments(
    operation: str,
    step: str,
    prepared: tuple[GitRepo, Path],  # noqa: F811
    children: list[subprocess.Popen[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """Quick enough for every run."""
    endings = next(found for one, at, found in CASES if (one, at) == (operation, step))
    test_a_stopped_writer_undoes_nothing(operation, step, endings, prepared, children, tmp_path, monkeypatch)
