"""The results page, its drawings and its slopes."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from benchmarks import plot, report
from benchmarks.measure import Curve, Row, Section, anchor
from hypothesis import given
from hypothesis import strategies as st

from tests.house.graph import REPOSITORY

sizes = st.lists(st.floats(1, 1e7), min_size=2, max_size=7, unique=True)
costs = st.floats(1e-6, 1e6)


@given(sizes, st.floats(-2, 3), costs)
def test_the_slope_of_a_power_is_its_exponent(found, power, factor):
    points = tuple((x, factor * x**power) for x in found)
    slope = Curve("c", "x", "y", points).slope
    spread = math.log(max(found)) - math.log(min(found))
    if slope is not None and spread > 1e-3:
        assert slope == pytest.approx(power, abs=1e-4)


def test_one_size_has_no_slope():
    assert Curve("c", "x", "y", ((4.0, 1.0), (4.0, 2.0))).slope is None


@given(st.lists(st.tuples(st.floats(1, 1e7), costs), min_size=1, max_size=8))
def test_every_point_is_drawn_inside(points):
    """Whatever was measured, the drawing is well-formed, the same every time, and nothing lies outside."""
    curve = Curve("cost <&>", "files", "seconds", tuple(points))
    drawn = plot.svg("a title", [curve, curve])
    assert drawn == plot.svg("a title", [curve, curve])
    picture = ElementTree.fromstring(drawn)
    circles = picture.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 2 * len(points)
    for circle in circles:
        assert 0 <= float(circle.get("cx", "-1")) <= plot.WIDTH
        assert 0 <= float(circle.get("cy", "-1")) <= plot.HEIGHT


def test_a_drawing_names_its_axes_and_its_slope():
    drawn = plot.svg("t", [Curve("sync", "changed files", "seconds", ((1.0, 0.1), (10.0, 1.0)))])
    for text in ("changed files", "seconds", "sync: slope 1.00"):
        assert text in drawn
    assert len(drawn) < 8000


def test_small_times_are_told_in_small_units():
    drawn = plot.svg("t", [Curve("refs", "occurrences", "seconds", ((1.0, 2e-5), (10.0, 3.0)))])
    for text in (">10 µs<", ">1 ms<", ">100 ms<", ">10 s<"):
        assert text in drawn


def page(*, quick: bool = True) -> str:
    found = {
        "build": Section(rows=[Row("full build, no vectors", "3 s", "1 s", 3.0, 2.5), Row("size", "1", "2", 0.5, 1.0)]),
        "scale": Section(curves=[
            Curve("sync", x, "seconds", ((1.0, 1.0), (2.0, 4.0)), "note") for x in ("files", "segments")
        ]),
    }  # fmt: skip
    about = report.machine(quick)
    return report.page(about, found, {"build": 1.0, "scale": 2.0}, {"seconds by files": "files-seconds.svg"})


def test_the_page_tells_everything():
    text = page()
    assert "1 of 2 bounds kept" in text
    assert "[full build, no vectors](#build-full-build-no-vectors): 3.00 against 2.5" in text
    assert "Not in this run: sync, query, hooks, share, semantic, retrieval, peers." in text
    assert "| 1: 1, 2: 4 | 2.00 | note |" in text
    assert "![seconds by files](files-seconds.svg)" in text
    places = re.findall(r'<a id="([^"]+)"></a>', text)
    assert len(places) == len(set(places)) == 6
    assert set(re.findall(r"\(#([^)]+)\)", text)) <= set(places)


def test_the_page_has_a_table_of_contents():
    text = page()
    assert "- [Full build](#build): 1 of 2 bounds kept\n- [Growth](#scale)\n" in text
    assert set(report.ABOUT) == set(report.TITLES)
    for name in ("build", "scale"):
        assert report.ABOUT[name] in text


def test_a_quick_run_is_not_mistaken_for_a_full_one():
    assert report.QUICK in page()
    assert report.QUICK not in page(quick=False)


def test_what_did_not_run_is_missed_with_its_reason():
    told = report.missed({"peers": Section(rows=[Row.failed("peers", "no network")])})
    assert "- [peers](#peers-peers): did not run; no network." in told


def test_the_page_has_no_host_and_no_directory():
    import platform

    text = page()
    assert platform.node() not in text
    assert str(REPOSITORY) not in text


def test_the_command_is_shown_without_places():
    asked = ["all", "--quick", "--cache", "/home/me/c", "--json=/x.json", "--markdown", "/y.md"]
    assert report.command(asked) == "ci/bench all --quick"


def test_anchors_are_stable():
    assert anchor("query", "cold lexical search") == "query-cold-lexical-search"
    assert anchor("sync", "the same, repository 4 × larger") == "sync-the-same-repository-4-larger"


def test_help_names_every_benchmark():
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "ci" / "bench"), "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for name in (*report.TITLES, "all", "profile", "--quick", "--cache", "--plots"):
        assert name in done.stdout
