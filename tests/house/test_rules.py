"""`docs/rules.md` holds every rule that code and tests cite, and is true about each."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from gitindex import config, errors
from gitindex.segment.chunk_table import MARKER_KIND
from gitindex.store import layout
from tests.house import rulebook
from tests.house.graph import REPOSITORY, tracked

CITING = ("gitindex/", "tests/", "hooks/", "ci/", "docs/", ".github/", ".pre-commit-hooks.yaml", "README.md")


@cache
def book() -> rulebook.Book:
    return rulebook.read_book(rulebook.PAGE.read_text("utf-8"))


@cache
def citations() -> dict[str, list[str]]:
    texts = {}
    for path in tracked():
        name = str(path.relative_to(REPOSITORY))
        if name.startswith(CITING) and path.is_file():
            with suppress(UnicodeDecodeError):  # tables of vectors, archives
                texts[name] = path.read_text("utf-8")
    return rulebook.find_citations(texts)


def assert_none(flaws: list[str]) -> None:
    assert not flaws, "\n".join(flaws)


def test_rules_are_defined_once():
    assert_none(rulebook.find_duplicates(book()))


def test_every_cited_rule_is_defined():
    assert_none(rulebook.find_undefined(book(), citations()))


def test_every_kept_rule_names_files_that_enforce_it_and_tests_that_cite_it():
    assert_none(rulebook.find_unproven(book(), citations()))


def test_planned_rules_are_proven_by_no_test():
    assert_none(rulebook.find_proven_plans(book(), citations()))


def test_the_seven_critical_rules_are_there():
    assert book().critical == tuple(f"IDX.MUST.{number:03}" for number in range(1, 8))


def test_names_are_those_of_the_rule():
    """C-6: files and the kind of the marker have the names that the page gives them."""
    page = rulebook.PAGE.read_text("utf-8")
    section = page[page.index("### C-6 ") : page.index("- Enforced in", page.index("### C-6 "))]
    home = config.load_environment({"HOME": "/home/somebody"}).home
    store = f"$GITINDEX_HOME/{layout.data_dir(home).relative_to(home)}/<store_id>/"
    names = (
        config.FILE_NAME,
        config.IGNORE_NAME,
        MARKER_KIND,
        store,
        f"~/{home.relative_to('/home/somebody')}",
    )
    assert [name for name in names if f"`{name}`" not in section] == []


# Ids that no page defines; in two parts, or this file would cite them.
KEPT, OTHER = "ZZ" + "-1", "ZZ" + "-2"
KEPT_RULE = f"## Rules\n\n### {KEPT} A rule\nText.\n\n- Enforced in: `a.py`\n- Tested in: `test_a.py`\n"
PLANNED_RULE = f"\n## Planned\n\n### {OTHER} A plan\nText.\n"


@pytest.mark.parametrize(
    ("page", "cited", "complaint"),
    [
        (KEPT_RULE + KEPT_RULE, "", rf"{KEPT} is defined 2 times"),
        (KEPT_RULE, f"{KEPT} {OTHER}", rf"{OTHER} is cited in tests/test_a.py and defined nowhere"),
        (KEPT_RULE, "nothing", rf"{KEPT} is tested in test_a.py, which does not cite it"),
        (KEPT_RULE.replace("`a.py`", "`b.py`"), KEPT, rf"{KEPT} is enforced in b.py, which does not exist"),
        (KEPT_RULE.replace("- Tested in: `test_a.py`\n", ""), KEPT, rf"{KEPT} names no test"),
        (KEPT_RULE.replace("- Enforced in: `a.py`\n", ""), KEPT, rf"{KEPT} names no file that enforces it"),
        (KEPT_RULE + PLANNED_RULE, f"{KEPT} {OTHER}", rf"{OTHER} is planned, yet tests/test_a.py cites it"),
        (
            KEPT_RULE + PLANNED_RULE + "\n- Tested in: `test_a.py`\n",
            KEPT,
            rf"{OTHER} is planned, yet names files",
        ),
    ],
)
def test_each_flaw_is_named_with_its_rule(page: str, cited: str, complaint: str, tmp_path: Path):
    """The checks above can fail, and say which rule and what to do."""
    assert flaws(KEPT_RULE + PLANNED_RULE, KEPT, tmp_path) == []
    assert any(re.match(complaint, flaw) for flaw in flaws(page, cited, tmp_path))


def flaws(page: str, cited: str, root: Path) -> list[str]:
    (root / "gitindex").mkdir(exist_ok=True)
    (root / "gitindex" / "a.py").touch()
    found, citing = rulebook.read_book(page), rulebook.find_citations({"tests/test_a.py": cited})
    return [
        *rulebook.find_duplicates(found),
        *rulebook.find_undefined(found, citing),
        *rulebook.find_unproven(found, citing, root),
        *rulebook.find_proven_plans(found, citing),
    ]


def test_exit_codes_are_those_of_the_errors():
    """UI-1: the table of docs/exit-codes.md against the exception tree, both ways."""
    text = (REPOSITORY / "docs" / "exit-codes.md").read_text("utf-8")
    rows = {
        int(code): set(re.findall(r"`(\w+)`", names))
        for code, names in re.findall(r"^\| (\d+) \|[^|]*\|([^|]*)\|$", text, re.M)
    }
    real: dict[int, set[str]] = {}
    for found in every(errors.GitindexError):
        if found.__module__ == errors.__name__:
            real.setdefault(found.exit_code, set()).add(found.code)
    real[1].add("defect")  # what nobody named; only the boundary says it
    assert set(rows) == {*real, 0, 130}
    for code, names in real.items():
        assert rows[code] == names, code


def every(root: type[errors.GitindexError]) -> list[type[errors.GitindexError]]:
    return [root, *(found for child in root.__subclasses__() for found in every(child))]


def test_no_machine_paths_in_the_repository():
    """Nothing tracked names a directory or host of the machine it was written on."""
    marks = [f"/{name}/" for name in ("wo" + "rk", "ro" + "ot", "Us" + "ers")] + ["/tmp" + "/w/"]
    pattern = re.compile("|".join(rf"(?<![\w.*]){re.escape(mark)}[a-z]" for mark in marks))
    offenders = []
    for path in tracked():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        if pattern.search(text):
            offenders.append(str(path.relative_to(REPOSITORY)))
    assert offenders == []
