"""Every rule of the contract is cited by a test, and `docs/invariants.md` says where it is enforced."""

from __future__ import annotations

import re

import pytest

from gitindex import errors
from tests.house.graph import REPOSITORY, tracked

AREAS = {
    "ST": 6,
    "CF": 5,
    "EL": 6,
    "CS": 6,
    "SN": 11,
    "LE": 3,
    "QU": 6,
    "EN": 8,
    "SE": 8,
    "HK": 6,
    "RE": 10,
    "UI": 3,
}
# Proven by workflow files rather than by a test of the suite.
ELSEWHERE = {"RE-9"}
# Newer than the numbers above, which other rules of their areas wait behind.
ALSO = ["EL-8", "RE-14"]
RULES = [f"{area}-{number}" for area, count in AREAS.items() for number in range(1, count + 1)] + ALSO
CORE = [rule for rule in RULES if rule.partition("-")[0] in ("ST", "CF", "EL", "CS", "SN", "LE")]


def cited() -> set[str]:
    found: set[str] = set()
    for path in (REPOSITORY / "tests").rglob("test_*.py"):
        if path.parent.name != "house":
            found.update(re.findall(r"\b[A-Z]{2}-\d+\b", path.read_text("utf-8")))
    return found


def test_every_rule_is_cited_by_a_test():
    assert sorted(set(RULES) - cited() - ELSEWHERE) == []


def test_no_test_cites_a_rule_that_does_not_exist():
    known = re.compile(rf"({'|'.join(AREAS)})-\d+")
    assert sorted(rule for rule in cited() - set(RULES) if known.fullmatch(rule)) == []


@pytest.mark.parametrize("rule", CORE)
def test_the_core_rules_are_mapped(rule: str):
    """rule → where enforced → test; every file named exists."""
    text = (REPOSITORY / "docs" / "invariants.md").read_text("utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {rule} ")]
    _, _, _, where, proof, _ = (cell.strip() for cell in row.split("|"))
    for cell, base in ((where, REPOSITORY / "gitindex"), (proof, REPOSITORY / "tests")):
        names = re.findall(r"`([\w/.-]+\.py)`", cell)
        assert names, rule
        assert [name for name in names if not (base / name).is_file()] == []


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
