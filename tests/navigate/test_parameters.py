"""`navigate.parameters`: names of parameters, read from a signature."""

from __future__ import annotations

import pytest

from gitindex.navigate.parameters import read_parameters


@pytest.mark.parametrize(
    ("signature", "language", "names"),
    [
        ("def f(self, F: Q = Value(1, x), *args, **kwargs) -> Q", "python", {"self", "F", "args", "kwargs"}),
        ("def f(pairs: dict[str, Q], /, *, last", "python", {"pairs", "last"}),
        ("function f(a: Map<string>, { b }: Options)", "typescript", {"a", "b"}),
        ("def f", "python", set()),
        ("func (c *Cart) f(ctx context.Context, a, b int) error", "go", {"ctx", "a", "b"}),
        ("func f(context.Context, Item) error", "go", set()),
        ("function f({}: Options)", "typescript", set()),
        ("int f(Widget F)", "c", set()),
        ("function f(Widget $F)", "php", set()),
    ],
)
def test_parameters_are_the_first_words_of_the_list(signature: str, language: str, names: set[str]):
    assert read_parameters(signature, "f", language) == names
