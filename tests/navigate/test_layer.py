"""`navigate.layer.Layers`: the first layer that covers a file answers for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gitindex.navigate.layer import Calls, Layers

DEFINITION: Any = SimpleNamespace(path="a.py")


def layer(name: str, *paths: str) -> Any:
    return SimpleNamespace(
        covers=lambda path: path in paths,
        calls_from=lambda _: Calls(external={name: 1}),
        calls_to=lambda _: Calls(external={name: 2}),
    )


def test_the_most_exact_layer_that_covers_the_file_answers():
    layers = Layers([layer("exact", "b.py"), layer("moved", "a.py"), layer("syntax", "a.py", "b.py")])
    assert layers.calls_from(DEFINITION).external == {"moved": 1}


def test_a_file_that_no_layer_covers_calls_nobody():
    assert Layers([layer("exact", "b.py")]).calls_from(DEFINITION) == Calls()
