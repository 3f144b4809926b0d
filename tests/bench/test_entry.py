"""`ci/bench` itself: what it writes, and what becomes of a benchmark that cannot run."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from benchmarks import report
from benchmarks.measure import Curve, Row, Section

from tests.house.graph import REPOSITORY


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    loader = SourceFileLoader("bench_entry", str(REPOSITORY / "ci" / "bench"))
    spec = spec_from_loader("bench_entry", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_page_numbers_and_drawings_are_written(bench: ModuleType, tmp_path: Path):
    chosen = Namespace(
        plots=tmp_path / "plots", markdown=tmp_path / "page.md", as_json=tmp_path / "numbers.json"
    )
    curve = Curve("sync", "changed files", "seconds", ((1.0, 0.5), (10.0, 0.9)))
    found = {"sync": Section(rows=[Row("a", "1", "2", 0.5, 1.0)], curves=[curve], data={"x": 1})}
    bench._write(chosen, report.machine(quick=True), found, {"sync": 3.0})
    (drawing,) = chosen.plots.iterdir()
    assert f"]({drawing.name})" in chosen.markdown.read_text()
    numbers = json.loads(chosen.as_json.read_text())
    assert numbers["results"]["sync"][0]["kept"] is True
    assert numbers["curves"]["sync"][0]["slope"] == pytest.approx(curve.slope)
    assert numbers["seconds"] == {"sync": 3.0}


def test_a_benchmark_that_cannot_run_is_a_missed_row(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Never a silent skip, and never the end of the others."""

    def run(_cache: Path, _quick: bool) -> list[Row]:
        raise SystemExit(f"no {tmp_path}/tool | here")

    monkeypatch.setitem(sys.modules, "benchmarks.broken", SimpleNamespace(run=run))  # type: ignore[arg-type]
    (row,) = bench._run("broken", tmp_path, True).rows
    assert not row.kept
    assert row.baseline == "SystemExit: no CACHE/tool / here"
    assert row.value == "did not run"


def test_all_runs_whole_and_survives_its_parts(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """One fails as nobody foresaw; the others are measured, and everything is written."""
    curve = Curve("sync", "changed files", "seconds", ((1.0, 0.5), (10.0, 0.9)))

    def broken(_cache: Path, _quick: bool) -> Section:
        raise RuntimeError("unforeseen")

    def works(_cache: Path, quick: bool) -> Section:
        assert not quick
        return Section(rows=[Row("a", "1", "2", 0.5, 1.0)], curves=[curve])

    for name in bench.NAMES:
        run = broken if name == "sync" else works
        monkeypatch.setitem(sys.modules, f"benchmarks.{name}", SimpleNamespace(run=run))  # type: ignore[arg-type]
    page, numbers, plots = tmp_path / "page.md", tmp_path / "numbers.json", tmp_path / "plots"
    asked = ["ci/bench", "all", "--json", numbers, "--markdown", page, "--plots", plots, "--cache", tmp_path]
    monkeypatch.setattr(sys, "argv", [str(part) for part in asked])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("GITINDEX_HOME", str(tmp_path))
    assert bench.main() == 1
    assert list(json.loads(numbers.read_text())["results"]) == list(bench.NAMES)
    text = page.read_text()
    assert "[sync](#sync-sync): did not run; RuntimeError: unforeseen." in text
    assert f"{len(bench.NAMES) - 1} of {len(bench.NAMES)} bounds kept" in text
    assert [path.suffix for path in plots.iterdir()] == [".svg"]


def test_every_benchmark_has_a_title(bench: ModuleType):
    assert set(bench.NAMES) == set(report.TITLES)
