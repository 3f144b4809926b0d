"""`gitindex search` as people and programs meet it (UI-1), and what it imports (UI-3)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.search.conftest import Asked
from tests.support.harness import Ran, cli

_ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def search(shop: Asked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GITINDEX_HOME", str(shop.codebase.home))

    def ask(*arguments: str) -> Ran:
        return cli("search", "--path", str(shop.repo.root), *arguments)

    return ask


def test_json_has_the_documented_fields(search) -> None:
    ran = search("--json", "charge", "credit", "card")
    assert ran.code == 0
    answer = ran.json
    assert {
        "status",
        "snapshot_id",
        "results",
        "truncated",
        "freshness",
        "coverage",
        "trust",
    } <= answer.keys()
    first = answer["results"][0]
    assert {"path", "start_line", "end_line", "score", "layers", "precision", "snippet"} <= first.keys()
    assert (first["path"], first["symbol"], first["kind"]) == ("shop/payment.py", "charge_card", "function")


def test_text_shows_place_lines_and_truth(search) -> None:
    """QU-6: one short line at the end."""
    ran = search("charge_card")
    assert ran.out.startswith("shop/payment.py:")
    assert "def charge_card" in ran.out
    assert "built here" in ran.out.strip().split("\n")[-1]
    assert "\x1b" not in ran.out


def test_an_empty_answer_says_so_and_helps(search) -> None:
    ran = search("shoppingkart", "--mode", "lexical")
    assert ran.code == 0
    assert "no results for 'shoppingkart'" in ran.out
    assert "did you mean: shoppingcart" in ran.out


def test_named_errors_have_exit_code_two(search) -> None:
    for arguments in (
        (),
        ("(", "--mode", "regex"),
        ("x", "--since", "soon"),
        ("x", "--limit", "0"),
        ("x", "--mode", "y"),
    ):
        assert search(*arguments).code == 2, arguments


def test_filters_of_the_command_line(search) -> None:
    assert {hit["path"] for hit in search("--json", "cart", "--lang", "js").json["results"]} == {
        "web/cart.js"
    }
    assert {hit["path"] for hit in search("--json", "--tag", "cuda").json["results"]} == {"notes/cuda.md"}
    assert len(search("--json", "cart", "--limit", "1").json["results"]) == 1


def test_an_unindexed_codebase_is_gated(search, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """EN-1: exit code 3 and the envelope."""
    monkeypatch.setenv("GITINDEX_HOME", str(tmp_path / "none"))
    ran = search("--json", "cart")
    assert (ran.code, ran.json["status"]) == (3, "not_indexed")


def test_the_modules_of_a_word_search_import_nothing_heavy() -> None:
    """UI-3: no vectors asked for, no vector library loaded."""
    code = (
        "import sys, gitindex.cli.cmd_search, gitindex.search.lexical, gitindex.search.symbols\n"
        "heavy = {'numpy', 'pyarrow', 'lance', 'lancedb', 'torch', 'boto3', 'mcp', 'tree_sitter'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
