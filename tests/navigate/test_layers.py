"""SE-8, QU-3: which layer answers for a file, and with which precision."""

from __future__ import annotations

from pathlib import Path

from gitindex.navigate.exact_layer import ExactLayer
from gitindex.navigate.shifted_layer import ShiftedLayer
from gitindex.navigate.syntactic_layer import SyntacticLayer
from gitindex.navigate.text import decode_text
from gitindex.ops.answers.gated_read import ReadOptions, open_reading
from tests.campaigns.refresh.project import Project


def test_a_changed_file_goes_from_the_exact_to_the_shifted_layer(tmp_path: Path):
    project = Project(tmp_path)
    project.refresh()
    project.repo.write("report.py", "\n" + project.files["report.py"])
    project.sync()
    with open_reading(project.codebase, ReadOptions()) as read:
        below = SyntacticLayer(read.view, read.texts)
        exact = ExactLayer(read.view, read.texts, below)
        shifted = ShiftedLayer(read.view, read.texts, exact, below)
        assert [layer.covers("shapes.py") for layer in (exact, shifted, below)] == [True, False, True]
        assert [layer.covers("report.py") for layer in (exact, shifted, below)] == [False, True, True]
        (area,) = exact.find_definitions("Disc.area")
        assert area.layer == "semantic"
        (syntactic,) = below.find_definitions("Disc.area")
        assert (syntactic.layer, syntactic.place) == ("syntactic", area.place)
        assert read.texts.line("report.py", 1) == ""


def test_a_byte_order_mark_is_told_apart_from_the_text():
    text = decode_text(b"\xef\xbb\xbfx = 1\n", "git")
    assert (text.text, text.bom, text.exact, text.source) == ("x = 1\n", True, True, "git")
    assert not decode_text(b"x", "git").bom
