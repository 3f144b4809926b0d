"""Every kind of file of a store, damaged in every segment: `repair` mends it without a second command (SN-11, LE-3)."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from gitindex.errors import GitindexError
from gitindex.lifecycle import compact
from gitindex.lifecycle.digest import Digest
from gitindex.model import ids
from gitindex.semantic import control_database
from gitindex.semantic.mutation import Decision
from gitindex.store import manifests
from gitindex.store.integrity import Verifier
from gitindex.store.layout import Layout
from tests.campaigns.hostile.test_corruption import flip, kind_of
from tests.support import harness
from tests.support.gitrepo import GitRepo
from tests.support.midway import during, once_at

DAMAGES: dict[str, Callable[[Path], object]] = {
    "flip": flip,
    "truncate": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "delete": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
}


@dataclass(frozen=True)
class Stored:
    """A store, a copy of it as it was before any damage, and the digest of a build from nothing."""

    root: Path
    layout: Layout
    copy: Path
    clean: Digest

    def restore(self) -> None:
        shutil.rmtree(self.layout.base)
        shutil.copytree(self.copy, self.layout.base)


def grow(repo: GitRepo, segments: int) -> None:
    """Files that are edited once, edited in every commit, deleted, deleted and made again, and one that is dirty."""
    names = [f"m{at}.py" for at in range(8)]
    repo.write(".gitindex.toml", "[embedding]\nprovider = 'fake'\n")  # one that has a cache
    repo.commit("0", **{name: f"def of_{name[:-3]}():\n    return other()\n" for name in names})
    repo.write("draft.py", "def draft():\n    return 0\n")
    harness.index(repo.root)
    for at in range(1, segments):
        repo.write("m0.py", f"def zero_{at}():\n    return {at}\n")
        repo.write(f"m{at}.py", f"def edited_{at}():\n    return other({at})\n")
        repo.write(f"new{at}.md", f"# Note {at}\n\nwords of note {at}\n")
        if at == 1:
            repo.git("rm", "-q", "m6.py", "m7.py")
        if at == 3:
            repo.write("m7.py", "def made_again():\n    return 7\n")
        repo.commit(str(at))
        repo.write("draft.py", f"def draft():\n    return {at}\n")
        harness.index(repo.root)


def store_of(repo: GitRepo, tmp_path: Path, segments: int) -> Stored:
    grow(repo, segments)
    layout = harness.codebase(repo.root).layout
    with harness.view(repo.root) as view:
        assert len(view.manifest.segments) == segments
    with closing(control_database.open_control(layout.control)) as connection:
        control_database.save_decision(connection, Decision("signature", "h1", {}, "[]", "proof"), 1.0)
    copy = tmp_path / "copy"
    shutil.copytree(layout.base, copy)
    return Stored(repo.root, layout, copy, harness.clean_digest(repo.root, tmp_path / "scratch"))


def victims(stored: Stored) -> list[str]:
    """Of every kind one file in every segment and in the lexical index, and every other file of the store."""
    with harness.view(stored.root) as view:
        manifest = view.manifest
    found: dict[tuple[str, str], str] = {}
    for segment in manifest.segments:
        own = [*segment.artifacts, *([segment.tombstones.artifact] if segment.tombstones else [])]
        for artifact in own:
            found.setdefault((segment.id, kind_of(artifact.path)), artifact.path)
    for artifact in manifest.lexical:
        found.setdefault(("", kind_of(artifact.path)), artifact.path)
    inside = {"tables", "segments", "lexical"}
    others = [path.relative_to(stored.copy) for path in sorted(stored.copy.rglob("*")) if path.is_file()]
    return [*found.values(), *(path.as_posix() for path in others if path.parts[0] not in inside)]


def whole_snapshots(layout: Layout) -> set[str]:
    found = set()
    for snapshot_id in manifests.list_ids(layout):
        try:
            for artifact in manifests.read(layout, snapshot_id).artifacts():
                Verifier(layout).rehash(artifact)
        except GitindexError:
            continue
        found.add(snapshot_id)
    return found


@contextmanager
def nothing_good_is_lost(layout: Layout) -> Iterator[None]:
    """Until the pointer moves it says what it said, and every whole snapshot stays whole."""
    pointed, good = manifests.read_active_id(layout), whole_snapshots(layout)

    def look(step: str) -> None:
        if step == "publish.swap":
            assert manifests.read_active_id(layout) == pointed
            assert good <= whole_snapshots(layout)

    with during(look):
        yield


def flaw_after_repair(stored: Stored, victim: str, damage: str) -> str:
    """What is wrong after `victim` was damaged and repaired once; empty when nothing is."""
    stored.restore()
    path = stored.layout.base / victim
    DAMAGES[damage](path)
    with nothing_good_is_lost(stored.layout):
        ran = harness.cli("repair", "--json", "--path", str(stored.root))
    if ran.code:
        return f"repair: {ran.out}"
    if harness.digest_of(stored.root) != stored.clean:
        return "the digest is not that of a clean build"
    ran = harness.cli("health", "--json", "--path", str(stored.root))
    if ran.code:
        return f"health: {ran.out}"
    ran = harness.cli("sync", "--json", "--path", str(stored.root))
    return f"sync: {ran.out}" if ran.code else ""


def campaign(stored: Stored, damage: str, chosen: Callable[[str], bool] = lambda _: True) -> dict[str, str]:
    tried = [
        victim
        for victim in victims(stored)
        if chosen(victim) and (damage == "delete" or (stored.copy / victim).stat().st_size)
    ]
    found = {victim: flaw_after_repair(stored, victim, damage) for victim in tried}
    flaws = {victim: flaw for victim, flaw in found.items() if flaw}
    print(f"{damage}: {len(tried)} files damaged, {len(flaws)} not mended")
    return flaws


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("segments", [1, 5])
def test_every_file_of_a_store(segments: int, damage: str, repo: GitRepo, tmp_path: Path):
    """SN-11: one `repair`, exit 0, and the digest of a clean build."""
    assert campaign(store_of(repo, tmp_path, segments), damage) == {}
    assert harness.cli("audit", "--rebuild", "--path", str(repo.root)).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_store_of_forty_segments(damage: str, repo: GitRepo, tmp_path: Path):
    """SN-11: of the oldest, a middle and the newest of forty segments, every kind of file."""
    stored = store_of(repo, tmp_path, 40)
    with harness.view(repo.root) as view:
        ids = [segment.id for segment in view.manifest.segments]
    chosen = {ids[0], ids[20], ids[-1]}
    assert campaign(stored, damage, lambda victim: any(one in victim for one in chosen)) == {}


def test_damage_in_every_segment(repo: GitRepo, tmp_path: Path):
    """SN-11: the short form of the campaign."""
    wanted = (
        "/facts.sqlite",
        "/segment_file_index.jsonl",
        "/tombstones.jsonl",
        "control.sqlite",
        "ACTIVE_SNAPSHOT",
    )
    stored = store_of(repo, tmp_path, 4)
    assert campaign(stored, "truncate", lambda path: path.endswith(wanted) or "/data/" in path) == {}


def test_rows_in_newer_segments_stay(repo: GitRepo):
    """SN-11: of a damaged first segment only what is live is indexed again."""
    grow(repo, 3)
    before, layout = harness.digest_of(repo.root), harness.codebase(repo.root).layout
    with harness.view(repo.root) as view:
        first, *newer = (segment.id for segment in view.manifest.segments)
        live = len(view.segment_records(0))
        assert live < len(list(view.facts(0).records()))
    flip(layout.facts(first))
    ran = harness.cli("repair", "--json", "--path", str(repo.root)).json
    assert (ran["scope"], ran["files_rebuilt"]) == ("files", live)
    assert harness.digest_of(repo.root) == before
    with harness.view(repo.root) as view:
        assert [segment.id for segment in view.manifest.segments][: len(newer)] == newer


def test_what_the_small_rebuild_cannot_mend(repo: GitRepo):
    """SN-11: dropping a segment brings back older rows that have no words; a full reindex follows by itself."""
    repo.commit("one", **{"a.py": "def first():\n    return 1\n", "b.py": "B = 1\n"})
    harness.index(repo.root)
    repo.commit("two", **{"a.py": "def second():\n    return 2\n"})
    harness.index(repo.root)
    layout = harness.codebase(repo.root).layout
    with harness.view(repo.root) as view:
        flip(layout.facts(view.manifest.segments[-1].id))
    repo.write("a.py", "def first():\n    return 1\n")
    known = manifests.list_ids(layout)
    ran = harness.cli("repair", "--json", "--path", str(repo.root))
    assert (ran.code, ran.json["scope"]) == (0, "full"), ran.out
    assert manifests.list_ids(layout) == [
        ran.json["snapshot_id"],
        *known,
    ]  # the refused snapshot left no manifest
    assert harness.cli("audit", "--rebuild", "--path", str(repo.root)).code == 0


def test_counts_that_no_byte_explains(repo: GitRepo):
    """SN-11: what `health` sends to `repair`, `repair` mends."""
    grow(repo, 2)
    layout = harness.codebase(repo.root).layout
    with harness.view(repo.root) as view:
        manifest = view.manifest
    manifests.write(layout, replace(manifest, counts=replace(manifest.counts, skipped={"binary": 3})))
    assert harness.cli("health", "--path", str(repo.root)).code == 4
    assert harness.cli("repair", "--json", "--path", str(repo.root)).json["scope"] == "full"
    assert harness.cli("health", "--path", str(repo.root)).code == 0


def test_a_damaged_queue(repo: GitRepo):
    """SN-11: `health` sees it, `repair` makes an empty one that opens."""
    grow(repo, 1)
    layout = harness.codebase(repo.root).layout
    with closing(control_database.open_control(layout.control)) as connection:
        control_database.save_decision(connection, Decision("signature", "h1", {}, "[]", "proof"), 1.0)
    assert harness.cli("health", "--path", str(repo.root)).code == 0
    layout.control.write_bytes(b"no database at all" * 500)
    ran = harness.cli("health", "--json", "--path", str(repo.root))
    assert (ran.code, [one["artifact"] for one in ran.json["problems"]]) == (4, ["control.sqlite"])
    ran = harness.cli("jobs", "--json", "--path", str(repo.root))
    assert (ran.code, ran.json["error"]["hint"]) == (1, "gitindex repair"), ran.out
    ran = harness.cli("repair", "--json", "--path", str(repo.root))
    assert (ran.code, ran.json["scope"], ran.json["damaged"]) == (0, "control", ["control.sqlite"])
    assert harness.cli("health", "--path", str(repo.root)).code == 0
    with closing(control_database.open_control(layout.control)) as connection:
        assert control_database.find_decision(connection, "signature", "h1") is None


def set_clock_back(monkeypatch: pytest.MonkeyPatch) -> None:
    day = 24 * 3600 * 10**9
    monkeypatch.setattr(ids, "time", SimpleNamespace(time_ns=lambda: time.time_ns() - day))


def test_ids_grow_though_the_clock_went_back(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """LE-3: in a sync, a compaction and a full reindex."""
    grow(repo, 2)
    layout = harness.codebase(repo.root).layout
    set_clock_back(monkeypatch)
    repo.commit("later", **{"later.py": "LATER = 1\n"})
    published = [manifests.read_active_id(layout), harness.index(repo.root).snapshot_id]
    done = compact.compact(layout)
    assert done is not None
    published += [done.snapshot_id, harness.index(repo.root, full=True).snapshot_id]
    assert published == sorted(set(published))
    assert harness.audited(repo.root).is_clean


def test_a_compaction_that_a_sync_overtook_is_the_newest(repo: GitRepo):
    """LE-3: its id is chosen with the lease, not when it began."""
    grow(repo, 2)
    layout = harness.codebase(repo.root).layout
    repo.commit("later", **{"later.py": "LATER = 1\n"})
    with once_at("compact.publish", lambda: harness.index(repo.root)):
        done = compact.compact(layout)
    assert done is not None
    assert done.rebased
    assert manifests.list_ids(layout)[0] == done.snapshot_id
    assert harness.audited(repo.root).is_clean


def test_a_lost_pointer_among_ids_of_a_wrong_clock(repo: GitRepo, monkeypatch: pytest.MonkeyPatch):
    """SN-11, LE-3: of snapshots whose ids do not grow the one of the latest lease answers."""
    grow(repo, 2)
    layout = harness.codebase(repo.root).layout
    set_clock_back(monkeypatch)
    monkeypatch.setattr(manifests, "next_id", lambda _layout, wanted: wanted)  # as earlier releases chose
    repo.commit("later", **{"later.py": "LATER = 1\n"})
    newest = harness.index(repo.root).snapshot_id
    assert manifests.list_ids(layout)[0] != newest
    layout.active_pointer.unlink()
    with harness.view(repo.root) as view:
        assert view.manifest.snapshot_id == newest
