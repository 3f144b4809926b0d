"""Search without an index: over eligible files, marked degraded, with or without ripgrep (QU-5, EL-6)."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from gitindex import config
from gitindex.ops.answers.search_answer import query
from gitindex.ops.codebase import read_root_file
from gitindex.ops.syncing.eligibility import make_policy
from gitindex.ops.syncing.sync_plan import SyncOptions, open_source
from gitindex.search import fallback
from gitindex.search.eligible import list_eligible, read
from gitindex.search.fallback import Scan
from gitindex.search.hit import SearchAnswer
from gitindex.search.request import Request
from gitindex.view.snapshot import open_active
from tests.search.conftest import Asked

_RG = """#!{python}
import os, re, sys
flags, files = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
patterns = [flags[at + 1] for at, flag in enumerate(flags) if flag == "-e"]
if "--fixed-strings" in flags:
    patterns = [re.escape(pattern) for pattern in patterns]
found = [f for f in files if any(re.search(p, open(f, errors="replace").read(), re.I | re.M) for p in patterns)]
sys.stdout.write("".join(f + chr(0) for f in found))
sys.exit(0 if found else 1)
"""


@pytest.fixture
def ripgrep(tmp_path: Path) -> str:
    """The real program where there is one, else a stand-in that takes the same arguments."""
    real = shutil.which("rg")
    if real:
        return real
    import sys

    script = tmp_path / "rg"
    script.write_text(_RG.format(python=sys.executable))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def scanned(asked: Asked, request: Request, program: str | None = None) -> SearchAnswer:
    codebase = asked.codebase
    policy = make_policy(codebase.settings, read_root_file(codebase.root, config.IGNORE_NAME))
    with open_source(codebase, SyncOptions(), bulk=True) as source:
        scan = Scan(source, policy, codebase.root, codebase.settings.query)
        return scan.search(request, "of a test", find_program=lambda: program)


REQUESTS = [
    Request("charge credit card"),
    Request('"credit card" -shopping'),
    Request("cart lang:javascript"),
    Request("cart", globs=("shop/**",)),
    Request(r"def \w+_card\(", "regex"),
    Request("recovery", tags=("jetson",)),
    Request(tags=("jetson",), since="2024-04-01"),
    Request("nothing_has_this_word"),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: request.query or "metadata")
def test_ripgrep_changes_the_speed_not_the_answer(shop: Asked, ripgrep: str, request_: Request) -> None:
    plain, narrowed = scanned(shop, request_), scanned(shop, request_, ripgrep)
    assert plain == narrowed
    assert plain.degraded == "of a test"


def test_a_ripgrep_that_fails_is_done_without(shop: Asked) -> None:
    for program in ("/bin/ls", "/no/such/program"):
        assert scanned(shop, Request("charge card"), program) == scanned(shop, Request("charge card"))


def test_the_candidate_set_is_that_of_indexing(own: Asked) -> None:
    """EL-6: ignored, binary and oversized files are in neither."""
    own.repo.write(".gitindexignore", "secret/\n")
    own.repo.write("secret/key.py", "charge = 1\n")
    own.repo.write("logo.py", b"\x00\x01charge")
    own.repo.write(".gitignore", "build/\n")
    own.repo.write("build/out.py", "charge = 1\n")
    own.sync()
    view = open_active(own.codebase.layout)
    assert view is not None
    with view:
        indexed = {record.path for record in view.records() if not record.skip}
    policy = make_policy(own.codebase.settings, read_root_file(own.repo.root, config.IGNORE_NAME))
    with open_source(own.codebase, SyncOptions(), bulk=True) as source:
        assert {file.path for file in read(source, policy, list_eligible(source, policy))} == indexed


def test_a_missing_index_still_finds_notes(own: Asked) -> None:
    """QU-5: missing is no reason to fail; EN-1 gates code search alone."""
    shutil.rmtree(own.codebase.layout.base)
    answer = query(own.codebase, Request(tags=("jetson",))).to_json()
    assert answer["degraded"] is True
    assert len(answer["results"]) == 3
    assert answer["snapshot_id"] is None


def test_a_corrupt_index_is_scanned_around(own: Asked) -> None:
    for file in (own.codebase.layout.base / "lexical").rglob("*.store"):
        file.chmod(0o600)
        file.write_bytes(b"garbage")
    answer = query(own.codebase, Request("charge credit card"))
    assert answer.result.degraded
    assert answer.result.hits[0].path == "shop/payment.py"
    assert answer.result.hits[0].layers == ("scan",)


def test_a_corrupt_pointer_is_survived(own: Asked) -> None:
    """SN-11: the newest whole snapshot answers instead."""
    own.codebase.layout.active_pointer.write_text("nonsense")
    assert own.paths("charge credit card")[0] == "shop/payment.py"


def test_whole_files_are_ranked_without_an_index_too(shop: Asked) -> None:
    found = scanned(shop, Request("cart credit card", files=True, limit=3))
    assert len({hit.path for hit in found.hits}) == len(found.hits) == 3
    assert all(hit.chunks >= 1 and hit.layers == ("scan",) for hit in found.hits)
    assert found.degraded


def test_a_scan_that_stops_early_says_so(shop: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scanned(shop, Request("charge"))
    assert not whole.notes
    monkeypatch.setattr(fallback, "_MAX_BYTES", 0)
    found = scanned(shop, Request("charge"))
    assert not found.hits
    assert found.truncated
    assert any("the scan stopped" in note for note in found.notes)
