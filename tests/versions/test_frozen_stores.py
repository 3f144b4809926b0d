"""Stores that earlier releases wrote, kept as they were: what this release reads, and what it says about the others (ST-6).

Each archive in `frozen/` holds `codebase` (two commits: the second changes one file and deletes one) and `home`, made by
`gitindex sync` after each commit. `facts3` was made by commit e6c0305, the last one before the package got its present
names; `facts2` by commit 1e60cd4, whose facts had no `text_only` column yet. When a stored format changes, add an archive
made by the release before; do not make the old ones again.
"""

from __future__ import annotations

import io
import json
import lzma
import shutil
import tarfile
from pathlib import Path

import pytest

from gitindex import config, gate
from gitindex.model import versions
from gitindex.store import sealed_json
from tests.support.harness import audited, clean_digest, cli, codebase, digest_of, index

MADE_IN = "/srv/shop/codebase"
FROZEN = Path(__file__).parent / "frozen"
FINGERPRINTS = {  # of the default configuration
    "facts2": "92bdc2863e38bfc113777cba139ba26eea8a4f21450d434f34e87965c0892f60",
    "facts3": "f0c497268aef63762e2dce374d34e53d171e0c8515228cf9290cb7ea85ac0cc5",
}
QUERY_FINGERPRINTS = {
    "3": "79bc51688dc011446f2c28022922ec5932cc36621cfaec7211c420fa760ce474",
    "4": "e66ef49319d3c0307040d040df41e8704101b8c9be3f66ef6fe6111c820f6609",
}
DIGEST = "595a69d71ada47b49bf3c488deaa642540dfecf7d476656122842c9850d969a1"


def thaw(name: str, folder: Path, home: Path) -> tuple[Path, Path]:
    """Codebase and store. A store belongs to an absolute root, so its records get the root where it now stands."""
    with tarfile.open(
        fileobj=io.BytesIO(lzma.decompress((FROZEN / f"{name}.tar.xz").read_bytes()))
    ) as archive:
        archive.extractall(folder / "frozen", filter="data")
    root = folder / "frozen" / "codebase"
    (frozen,) = (folder / "frozen" / "home" / "data").iterdir()
    layout = codebase(root).layout
    store = layout.base.with_name(f"{layout.id.rpartition('__')[0]}__{FINGERPRINTS[name][:16]}")
    shutil.copytree(frozen, store)
    for path in (store / "index_state.json", *store.glob("snapshots/*/manifest.json")):
        record = sealed_json.verify_seal(json.loads(path.read_bytes()))
        moved = {"canonical_root": str(root), "store_id": store.name}
        if "common_dir" in record:
            moved["common_dir"] = str(root / ".git")
        sealed_json.write(path, record | moved)
    assert home in store.parents
    return root, store


def test_a_store_of_the_same_formats_is_read_audited_and_synced(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
):
    """ST-6, SN-6: names inside the package changed, nothing on disk did."""
    root, store = thaw("facts3", tmp_path, home)
    # The marker inside the table names the root where it was made; for the gate it is the one where it now stands.
    monkeypatch.setattr(gate, "canonical_path", lambda path: str(root) if path == MADE_IN else path)
    assert codebase(root).layout.base == store
    answer = cli("search", "total", "--json", "--path", str(root)).json
    assert (answer["status"], answer["results"][0]["path"]) == ("ok", "shop/price.py")
    status = cli("status", "--json", "--path", str(root)).json
    assert (status["status"], status["in_sync"], status["segments"]) == ("ok", True, 2)
    assert cli("health", "--json", "--path", str(root)).json["problems"] == []
    assert audited(root).problems == ()
    assert digest_of(root).digest == DIGEST
    assert clean_digest(root, tmp_path / "clean") == digest_of(root)

    (root / "shop" / "tax.py").write_text("def with_tax(price):\n    return price * 1.2\n")
    (root / "README.md").unlink()
    report = index(root)
    assert (report.changes["add"], report.changes["delete"], report.changes["modify"]) == (1, 1, 0)
    assert clean_digest(root, tmp_path / "clean") == digest_of(root)


def test_a_store_of_older_formats_is_named_and_left_alone(tmp_path: Path, home: Path):
    """ST-6: `sync` builds beside it; its own release can go on using it."""
    root, store = thaw("facts2", tmp_path, home)
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    refused = cli("search", "total", "--json", "--path", str(root))
    assert (refused.code, refused.json["status"]) == (3, "requires_reindex")
    assert FINGERPRINTS["facts2"][:12] in refused.json["message"]
    problems = cli("health", "--json", "--path", str(root)).json["problems"]
    assert [problem["code"] for problem in problems] == ["requires_reindex"]
    index(root)
    assert cli("search", "total", "--json", "--path", str(root)).json["status"] == "ok"
    assert digest_of(root).digest == DIGEST
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("facts", [2, 3])
def test_fingerprints_are_those_that_stores_are_named_after(facts: int, monkeypatch: pytest.MonkeyPatch):
    """CF-2: of what stands in a config fingerprint, only the version of the facts differs since 1e60cd4."""
    monkeypatch.setitem(versions.MATRIX, "facts", versions.VersionRange(facts, facts, facts))
    assert config.config_fingerprint(config.parse(b"")) == FINGERPRINTS[f"facts{facts}"]


def test_the_query_fingerprint_changes_with_the_ranking_alone():
    """CF-2."""
    expected = QUERY_FINGERPRINTS.get(versions.RANKING_VERSION)
    if expected is None:
        pytest.fail(f"ranking {versions.RANKING_VERSION} is new: add its fingerprint to QUERY_FINGERPRINTS")
    assert config.query_fingerprint(config.parse(b"")) == expected
