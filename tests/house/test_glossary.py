"""`docs/glossary.md` is short, sorted, and made of words that are in use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

import pytest

from tests.house.graph import REPOSITORY, tracked

PAGE = REPOSITORY / "docs" / "glossary.md"
MOST = 50
LINE = 140  # characters: a meaning that needs more is two meanings
ROW = re.compile(r"^\| (?P<term>[^|]+?) \| (?P<meaning>[^|]+?) \|$", re.M)


def read_terms(text: str) -> list[tuple[str, str]]:
    """The rows of the first table, without its head."""
    table = text.partition("\n## ")[0]
    rows = [(row["term"], row["meaning"]) for row in ROW.finditer(table)]
    return [row for row in rows if row[0] != "term"]


def find_flaws(terms: list[tuple[str, str]], texts: Iterable[str]) -> list[str]:
    names = [term for term, _ in terms]
    used = "\n".join(texts).lower()
    flaws = [f"{len(terms)} terms, more than {MOST}: drop some"] if len(terms) > MOST else []
    flaws += [
        f"{term} comes after {before}: sort the table" for before, term in pairwise(names) if term <= before
    ]
    flaws += [
        f"{term} takes more than a line: shorten it"
        for term, text in terms
        if len(f"| {term} | {text} |") > LINE
    ]
    flaws += [f"{term} is not a sentence" for term, text in terms if not text.endswith((".", "?"))]
    flaws += [
        f"{term} is used nowhere: use it or drop it"
        for term in names
        if not re.search(re.escape(term).replace(r"\ ", r"[ _\-\n]?"), used)
    ]
    return flaws


def test_the_glossary_is_in_order():
    terms = read_terms(PAGE.read_text("utf-8"))
    assert len(terms) > 30
    names = [path.relative_to(REPOSITORY).as_posix() for path in tracked()]
    texts = [
        (REPOSITORY / name).read_text("utf-8")
        for name in names
        if name.startswith(("docs/", "gitindex/"))
        and name.endswith((".md", ".py"))
        and not name.startswith(("docs/glossary", "docs/changes/"))
    ]
    flaws = find_flaws(terms, texts)
    assert not flaws, "\n".join(flaws)


@pytest.mark.parametrize(
    ("terms", "complaint"),
    [
        ([("b", "One."), ("a", "Two.")], "a comes after b"),
        ([("a", "One."), ("a", "Two.")], "a comes after a"),
        ([("a", "word " * 40 + ".")], "a takes more than a line"),
        ([("a", "no sentence")], "a is not a sentence"),
        ([("zebra crossing", "One.")], "zebra crossing is used nowhere"),
        ([(f"t{number:02}", "One.") for number in range(51)], "51 terms, more than 50"),
    ],
)
def test_flaws_are_found(terms: list[tuple[str, str]], complaint: str):
    texts = [" ".join(term for term, _ in terms if "zebra" not in term)]
    assert any(flaw.startswith(complaint) for flaw in find_flaws(terms, texts))
    assert find_flaws([("hook request", "A file.")], ["class HookRequest:"]) == []
