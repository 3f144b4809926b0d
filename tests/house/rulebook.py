"""The rules of `docs/rules.md` as values, and what is wrong with them. Each complaint names the id and what to do."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.house.graph import REPOSITORY

PAGE = REPOSITORY / "docs" / "rules.md"
PLANNED = "Planned"
ID = r"(?:[A-Z]{2}|C)-\d+"
_CITED = re.compile(rf"(?<![\w-]){ID}\b|\bIDX\.MUST\.\d+\b")
_SECTION = re.compile(r"^## (?P<section>.+)$|^### (?P<id>" + ID + r") (?P<title>.+)$", re.M)
_CRITICAL = re.compile(r"^\| (IDX\.MUST\.\d+) \|", re.M)
_FILE = re.compile(r"`([\w./-]+)`")


class Rule(NamedTuple):
    id: str
    planned: bool
    enforced_in: tuple[str, ...]
    tested_in: tuple[str, ...]


class Book(NamedTuple):
    rules: tuple[Rule, ...]
    critical: tuple[str, ...]  # IDX.MUST ids: each stands in other rules, which name the files


def read_book(text: str) -> Book:
    rules, section = [], ""
    headings = list(_SECTION.finditer(text))
    for at, heading in enumerate(headings):
        end = headings[at + 1].start() if at + 1 < len(headings) else len(text)
        if heading["section"]:
            section = heading["section"]
            continue
        body = text[heading.end() : end]
        files = (_listed(body, "Enforced in"), _listed(body, "Tested in"))
        rules.append(Rule(heading["id"], section == PLANNED, *files))
    return Book(tuple(rules), tuple(_CRITICAL.findall(text)))


def find_citations(files: Mapping[str, str]) -> dict[str, list[str]]:
    """id → the files whose text cites it."""
    found: dict[str, list[str]] = {}
    for name, text in files.items():
        for rule in dict.fromkeys(_CITED.findall(text)):
            found.setdefault(rule, []).append(name)
    return found


def find_duplicates(book: Book) -> list[str]:
    counts = Counter([rule.id for rule in book.rules] + list(book.critical))
    return [
        f"{rule} is defined {count} times in docs/rules.md: keep one section"
        for rule, count in counts.items()
        if count > 1
    ]


def find_undefined(book: Book, citations: Mapping[str, Iterable[str]]) -> list[str]:
    defined = {rule.id for rule in book.rules} | set(book.critical)
    return [
        f"{rule} is cited in {', '.join(sorted(names))} and defined nowhere: add `### {rule} …` to docs/rules.md, "
        "or correct the id"
        for rule, names in sorted(citations.items())
        if rule not in defined
    ]


def find_unproven(book: Book, citations: Mapping[str, Iterable[str]], root: Path = REPOSITORY) -> list[str]:
    """Kept rules whose files do not exist, or whose tests do not cite them."""
    flaws = []
    for rule in book.rules:
        if rule.planned:
            continue
        if not rule.enforced_in:
            flaws.append(
                f"{rule.id} names no file that enforces it: add `- Enforced in: …` or move it to Planned"
            )
        if not rule.tested_in:
            flaws.append(f"{rule.id} names no test: add `- Tested in: …` or move it to Planned")
        flaws += [
            f"{rule.id} is enforced in {name}, which does not exist: name the file that took its place"
            for name in rule.enforced_in
            if not (root / "gitindex" / name).is_file() and not (root / name).is_file()
        ]
        flaws += [
            f"{rule.id} is tested in {name}, which does not cite it: cite {rule.id} in the docstring of the test "
            "that proves it, or name another file"
            for name in rule.tested_in
            if f"tests/{name}" not in citations.get(rule.id, ())
        ]
    return flaws


def find_proven_plans(book: Book, citations: Mapping[str, Iterable[str]]) -> list[str]:
    """Planned rules that claim files, or that a test cites."""
    flaws = []
    for rule in book.rules:
        if not rule.planned:
            continue
        citing = sorted(name for name in citations.get(rule.id, ()) if name.startswith("tests/"))
        if citing:
            flaws.append(
                f"{rule.id} is planned, yet {', '.join(citing)} cites it: move its section out of Planned in "
                "docs/rules.md and name its files, or cite another rule"
            )
        if rule.enforced_in or rule.tested_in:
            flaws.append(
                f"{rule.id} is planned, yet names files: move its section out of Planned, or drop them"
            )
    return flaws


def _listed(body: str, label: str) -> tuple[str, ...]:
    lines = re.findall(rf"^- {label}: (.+)$", body, re.M)
    return tuple(name for line in lines for name in _FILE.findall(line))
