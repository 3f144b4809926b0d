"""One flipped byte, in every kind of file a store holds (SN-7, SN-11, IDX.MUST.006).

Each is noticed by the commands that read it (exit 4, with the artifact and the repair command), also when the
file's mtime was put back; `gitindex repair` mends it, and the digest is right again.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from gitindex.errors import IntegrityError
from gitindex.model.manifest import Artifact
from gitindex.store.layout import Layout
from gitindex.view.snapshot import SnapshotView
from tests.support import harness
from tests.support.gitrepo import GitRepo

LEXICAL = ("fast", "fieldnorm", "idx", "pos", "store", "term", "del", "meta.json", "managed.json")
KINDS = (
    "table data",
    "table version",
    "table transaction",
    "facts",
    "path map",
    "tombstones",
    "overlay",
    *(f"lexical {kind}" for kind in LEXICAL),
)
# Whose bytes no query and no sync needs: only whole checks read them.
ONLY_CHECKED = {"path map", "table transaction"}
TABLES = {"table data", "table version", "table transaction"}


def quick(values, *often):
    """All values, those not in `often` only in the long campaign."""
    return [value if value in often else pytest.param(value, marks=pytest.mark.slow) for value in values]


def kind_of(path: str) -> str:
    for pattern, kind in (
        (r"tables/.*/data/", "table data"),
        (r"tables/.*/_versions/", "table version"),
        (r"tables/.*/_transactions/", "table transaction"),
        (r"/facts\.sqlite$", "facts"),
        (r"/segment_file_index\.jsonl$", "path map"),
        (r"/tombstones\.jsonl$", "tombstones"),
        (r"/overlay\.jsonl$", "overlay"),
    ):
        if re.search(pattern, path):
            return kind
    if path.startswith("lexical/"):
        name = path.rpartition("/")[2]
        return (
            f"lexical {name.removeprefix('.')}"
            if name.endswith(".json")
            else f"lexical {name.rpartition('.')[2]}"
        )
    return f"unknown {path}"


@pytest.fixture
def indexed(repo: GitRepo) -> GitRepo:
    """Two segments, tombstones, lexical deletes, and a dirty file for the overlay."""
    repo.commit("one", **{f"m{at}.py": f"def function_{at}():\n    return other_{at}()\n" for at in range(4)})
    harness.index(repo.root)
    repo.write("m0.py", "def replaced():\n    return 0\n")
    repo.git("rm", "-q", "m1.py")
    repo.write("note.md", "---\ntags: [one]\n---\n# Note\n\nwords\n")
    repo.commit("two")
    repo.write("m2.py", "def dirty():\n    return 2\n")
    harness.index(repo.root)
    return repo


def artifacts(root: Path) -> dict[str, list[Artifact]]:
    found: dict[str, list[Artifact]] = {}
    with harness.view(root) as view:
        for artifact in view.manifest.artifacts():
            if artifact.size_bytes:
                found.setdefault(kind_of(artifact.path), []).append(artifact)
    return found


def layout_of(root: Path) -> Layout:
    return harness.codebase(root).layout


def flip(path: Path, at: float = 0.5, *, hide: bool = True) -> None:
    """Change one byte in place; with `hide`, put size and mtime back as they were."""
    before = path.stat()
    with open(path, "r+b") as handle:
        handle.seek(int(before.st_size * at) if before.st_size > 1 else 0)
        byte = handle.read(1)
        handle.seek(-1, os.SEEK_CUR)
        handle.write(bytes([byte[0] ^ 0x01]))
    if hide:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_every_kind_is_known(indexed: GitRepo):
    """A new kind of artifact without a corruption test fails here."""
    assert set(artifacts(indexed.root)) == set(KINDS)


@pytest.mark.parametrize("kind", quick(KINDS, "table data", "facts", "lexical store", "overlay"))
def test_a_flipped_byte_is_noticed_and_mended(kind: str, indexed: GitRepo):
    root = indexed.root
    good = harness.digest_of(root)
    victim = artifacts(root)[kind][-1]
    flip(layout_of(root).base / victim.path)

    ran = harness.cli("audit", "--json", "--path", str(root))
    assert ran.code == 4
    assert victim.path in ran.json["error"]["message"]
    assert ran.json["error"]["hint"] == "gitindex repair"
    ran = harness.cli("health", "--json", "--path", str(root))
    assert ran.code == 4
    assert [problem["artifact"] for problem in ran.json["problems"]] == [victim.path]
    assert_read_refuses(kind, root, victim)

    ran = harness.cli("repair", "--dry-run", "--json", "--path", str(root))
    assert ran.json["damaged"] == [victim.path]
    ran = harness.cli("repair", "--json", "--path", str(root))
    assert ran.code == 0, ran.out
    assert ran.json["scope"] == ("lexical" if kind.startswith("lexical") else "files")
    assert harness.digest_of(root) == good
    assert harness.cli("audit", "--rebuild", "--path", str(root)).code == 0
    assert harness.index(root).noop


def read(kind: str, view: SnapshotView, victim: Artifact) -> None:
    if kind.startswith("lexical"):
        list(view.lexical.iter_documents())
    elif kind == "overlay":
        view.overlay()
    elif kind in TABLES:
        for at in range(len(view.manifest.segments)):
            list(view.chunk_batches(at))
    elif kind == "path map":
        view.verifier.verified_path(victim)
    else:
        list(view.records())


def assert_read_refuses(kind: str, root: Path, victim: Artifact) -> None:
    """The very reads a query or a sync does: the damaged file is never believed."""
    with harness.view(root) as view, pytest.raises(IntegrityError) as caught:
        read(kind, view, victim)
    assert victim.path in caught.value.message
    assert caught.value.hint == "gitindex repair"
    if kind not in TABLES | ONLY_CHECKED:
        new = root / "new.py"
        new.write_text("NEW = 1\n")
        ran = harness.cli("sync", "--json", "--path", str(root))
        assert ran.code == 4, ran.out
        assert victim.path in ran.json["error"]["message"]
        new.unlink()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["facts", "lexical store", "table data", "tombstones"])
@pytest.mark.parametrize("how", ["missing", "truncated", "longer", "empty", "zeroed"])
def test_other_damage(kind: str, how: str, indexed: GitRepo):
    """SN-7, SN-11: whatever happened to the file."""
    root = indexed.root
    good = harness.digest_of(root)
    path = layout_of(root).base / artifacts(root)[kind][-1].path
    data = path.read_bytes()
    path.unlink()
    if how != "missing":
        path.write_bytes(
            {"truncated": data[:-1], "longer": data + b"\0", "empty": b"", "zeroed": bytes(len(data))}[how]
        )
    assert harness.cli("audit", "--path", str(root)).code == 4
    assert harness.cli("repair", "--path", str(root)).code == 0
    assert harness.digest_of(root) == good


def test_notes_never_vouch_for_other_bytes(indexed: GitRepo):
    """SN-7: with size and mtime restored, the ctime gives the change away; without notes a hash does."""
    root = indexed.root
    layout = layout_of(root)
    victim = layout.base / artifacts(root)["lexical store"][-1].path
    for notes in (layout.checksum_cache.read_bytes(), b"", b"{}", b"[1]", b'{"a": 3}', b"\xff"):
        layout.checksum_cache.write_bytes(notes)
        flip(victim)
        with harness.view(root) as view, pytest.raises(IntegrityError):
            _ = view.lexical
        flip(victim)
        with harness.view(root) as view:
            assert view.lexical.document_count


def test_damaged_notes_only_cost_a_hash(indexed: GitRepo):
    """SN-7: `verified.json` proves nothing that its absence would disprove."""
    layout = layout_of(indexed.root)
    size = layout.checksum_cache.stat().st_size
    for at in range(0, size, max(1, size // 7)):
        flip(layout.checksum_cache, at / size)
        assert harness.audited(indexed.root).is_clean
    layout.checksum_cache.unlink()
    assert harness.audited(indexed.root).is_clean


@pytest.mark.parametrize("at", quick((0.02, 0.2, 0.4, 0.6, 0.8, 0.97), 0.4))
def test_a_damaged_manifest(at: float, indexed: GitRepo):
    """SN-2, SN-11: noticed wherever the byte is; the parent snapshot answers until `repair`."""
    root = indexed.root
    good, layout = harness.digest_of(root), layout_of(root)
    with harness.view(root) as view:
        active = view.manifest.snapshot_id
    flip(layout.manifest(active), at)
    with harness.view(root) as view:
        assert view.manifest.snapshot_id < active
    ran = harness.cli("audit", "--json", "--path", str(root))
    assert ran.code == 4
    assert active in ran.out
    assert harness.cli("health", "--path", str(root)).code == 4
    assert harness.cli("repair", "--path", str(root)).code == 0
    assert harness.digest_of(root) == good
    assert harness.audited(root).is_clean


@pytest.mark.parametrize("at", quick((0.0, 0.5, 0.9), 0.5))
def test_a_damaged_pointer(at: float, indexed: GitRepo):
    """SN-11: the newest whole snapshot answers; checks tell, `repair` mends."""
    root = indexed.root
    good, layout = harness.digest_of(root), layout_of(root)
    flip(layout.active_pointer, at)
    assert harness.digest_of(root) == good
    ran = harness.cli("health", "--json", "--path", str(root))
    assert ran.code == 4
    assert ran.json["problems"][0]["artifact"] == "ACTIVE_SNAPSHOT"
    assert harness.cli("repair", "--path", str(root)).code == 0
    assert harness.audited(root).is_clean
    assert harness.digest_of(root) == good


@pytest.mark.parametrize("at", quick((0.0, 0.3, 0.5, 0.7, 0.95), 0.7))
def test_a_damaged_lease(at: float, indexed: GitRepo):
    """LE-1, SN-11: no writer guesses; `repair` makes a new lease whose epoch is higher than any published."""
    root = indexed.root
    layout = layout_of(root)
    with harness.view(root) as view:
        epoch = view.manifest.lease_epoch
    flip(layout.lease, at)
    indexed.write("new.py", "NEW = 1\n")
    ran = harness.cli("sync", "--json", "--path", str(root))
    assert ran.code == 4, ran.out
    assert "writer_lease.json" in ran.json["error"]["message"]
    assert ran.json["error"]["hint"] == "gitindex repair"
    assert harness.cli("health", "--path", str(root)).code == 4
    assert harness.cli("repair", "--path", str(root)).code == 0
    assert harness.cli("health", "--path", str(root)).code == 0
    assert harness.cli("sync", "--path", str(root)).code == 0
    with harness.view(root) as view:
        assert view.manifest.lease_epoch > epoch


@pytest.mark.parametrize("at", quick((0.0, 0.3, 0.5, 0.7, 0.95), 0.7))
def test_a_damaged_state_file(at: float, indexed: GitRepo):
    """SN-11: answers do not depend on it; checks tell, `repair` writes it anew from the manifest."""
    root = indexed.root
    layout = layout_of(root)
    flip(layout.state, at)
    ran = harness.cli("health", "--json", "--path", str(root))
    assert ran.code == 4
    assert "index_state.json" in ran.out
    assert harness.cli("repair", "--path", str(root)).code == 0
    assert harness.cli("health", "--path", str(root)).code == 0
    status = harness.cli("status", "--json", "--path", str(root)).json
    assert status["state"] in ("indexed", "sync_completed")
    assert status["in_sync"]


def test_damage_everywhere_at_once(indexed: GitRepo):
    """SN-11: when no smaller rebuild is sure to work, `repair` says a full reindex is needed, and does it."""
    root = indexed.root
    good, layout = harness.digest_of(root), layout_of(root)
    for kind in ("facts", "path map", "lexical term", "table data"):
        for artifact in artifacts(root)[kind]:
            flip(layout.base / artifact.path)
    ran = harness.cli("repair", "--dry-run", "--json", "--path", str(root))
    assert ran.json["scope"] == "full"
    assert harness.cli("repair", "--path", str(root)).code == 0
    assert harness.digest_of(root) == good
    assert harness.audited(root).is_clean


def test_a_damaged_embedding_cache_is_started_anew(repo: GitRepo):
    """SN-3: a cache may be lost at any time; only embedding again is the price."""
    repo.commit(
        "one", **{".gitindex.toml": "[embedding]\nprovider = 'fake'\n", "a.py": "def alpha(): pass\n"}
    )
    harness.index(repo.root)
    cache = next(path for path in layout_of(repo.root).embeddings.iterdir() if path.suffix == ".sqlite")
    for path in cache.parent.iterdir():
        path.write_bytes(b"garbage" * 1000)
    repo.write("b.py", "def beta(): pass\n")
    assert harness.cli("sync", "--json", "--path", str(repo.root)).code == 0
    assert harness.audited(repo.root).is_clean
