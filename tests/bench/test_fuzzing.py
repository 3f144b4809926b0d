"""`ci/fuzz` finds what it looks for, and a short run of each campaign holds (EL-8)."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FUZZ = REPOSITORY / "ci" / "fuzz"


@pytest.mark.parametrize(
    "campaign",
    [["files", "--minutes", "0.05"], ["settings", "--cases", "30"], ["objects", "--cases", "3"]],
    ids=lambda words: words[0],
)
def test_a_short_campaign_holds(campaign: list[str]) -> None:
    ran = subprocess.run([sys.executable, "-P", str(FUZZ), *campaign], capture_output=True, timeout=300)
    found = json.loads(ran.stdout)
    assert found["broken"] == []
    assert ran.returncode == 0, ran.stderr
    assert sum(found["outcomes"].values()) > 0


def test_what_breaks_a_bound_is_reported(tmp_path: Path) -> None:
    """The same campaign with bounds that nothing keeps."""
    script = tmp_path / "fuzz"
    text = FUZZ.read_text("utf-8").replace("SECONDS = 5.0", "SECONDS = -1.0")
    script.write_text(text.replace("Path(__file__).resolve().parent", f"Path({str(FUZZ.parent)!r})"))
    words = [sys.executable, "-P", str(script), "files", "--minutes", "0.02"]
    ran = subprocess.run(words, capture_output=True, timeout=120)
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["broken"]


def test_every_grammar_is_among_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    from gitindex.extract.grammars import DATA_LANGUAGES, SPECS
    from gitindex.files.language import language_of

    monkeypatch.syspath_prepend(str(REPOSITORY / "ci"))
    from fuzzing import patterns

    assert {language_of(f"a.{suffix}", b"") for suffix in patterns.SUFFIXES} >= {
        *SPECS,
        *DATA_LANGUAGES,
        "yaml",
    }
    drawn = patterns.files(random.Random(1))
    assert len({next(drawn)[0] for _ in range(400)}) == len(patterns.SUFFIXES)
