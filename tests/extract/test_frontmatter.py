"""Front matter of notes (QU-5)."""

from __future__ import annotations

import pytest

from gitindex.extract.extractor import extract
from gitindex.extract.frontmatter import to_iso_date
from gitindex.model.rows import Entity
from gitindex.model.settings import IndexSettings


def _entity(matter: str, path: str = "note.md") -> Entity | None:
    return extract(path, f"---\n{matter}\n---\n# Text\n".encode(), IndexSettings()).entity


@pytest.mark.parametrize(
    ("matter", "expected"),
    [
        (
            "topics: [a, b]\nsummary: S\ncreated_at: 2024-01-02\nsession_id: s1",
            Entity(("a", "b"), "S", "2024-01-02", "s1"),
        ),
        ("tags: a, b ,a", Entity(("a", "b"), "", "", "")),
        ("tags:\n  - a b\n  - 3\n  - [nested]", Entity(("a b", "3"), "", "", "")),
        ("title: T\ndescription: D", Entity((), "D", "", "")),
        ("title: T\nsummary: ''", Entity((), "T", "", "")),
        ("date: 2024-05-06T07:08:09Z", Entity((), "", "2024-05-06T07:08:09+00:00", "")),
        ("created: yesterday", Entity((), "", "", "")),
        ("session: 0042", Entity((), "", "", "0042")),
        ("date: null\nsession: ~", Entity((), "", "", "")),
        ("a: &x [1]\nb: *x\ntopics: *x", Entity(("1",), "", "", "")),
        ("TAGS: [Upper]", Entity(("Upper",), "", "", "")),
        ("summary: {not: text}", Entity((), "", "", "")),
        ("summary: |\n  two\n  lines", Entity((), "two lines", "", "")),
        ("? [complex, key]\n: 1\ntags: x", Entity(("x",), "", "", "")),
    ],
)
def test_fields(matter: str, expected: Entity) -> None:
    assert _entity(matter) == expected


@pytest.mark.parametrize(
    "matter",
    [
        "- a\n- b",
        "just words",
        "a: [",
        "a: b: c",
        "\ttab: 1",
        "!!python/object/apply:os.system [x]",
        "a: " + "x" * 20_000,
        "[" * 3000,
    ],
)
def test_what_is_no_mapping_is_no_entity_and_no_error(matter: str) -> None:
    assert _entity(matter) is None


def test_tags_construct_nothing() -> None:
    assert _entity("summary: !!python/object/apply:os.getcwd []\ntags: !!python/name:os.system x") == Entity(
        ("x",), "", "", ""
    )


def test_aliases_do_not_multiply() -> None:
    laughs = "a: &a [x,x,x]\n" + "".join(
        f"{b}: &{b} [*{a},*{a},*{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert _entity(laughs + "topics: *i\nsummary: *i") == Entity((), "", "", "")


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("2024-01-02", "2024-01-02"),
        ("2024-1-2", "2024-01-02"),
        ("2024/01/02", "2024-01-02"),
        ("2024-01-02 03:04", "2024-01-02T03:04:00"),
        ("2024-01-02 3:04:05", "2024-01-02T03:04:05"),
        ("2024-01-02T03:04:05.250Z", "2024-01-02T03:04:05.250000+00:00"),
        ("2024-01-02 03:04:05 +0200", "2024-01-02T03:04:05+02:00"),
        ("2024-01-02T03:04:05-08", "2024-01-02T03:04:05-08:00"),
        ("2024-02-30", ""),
        ("2024-13-01", ""),
        ("2024", ""),
        ("02.01.2024", ""),
        ("Jan 2, 2024", ""),
        ("2024-01-02T25:00", ""),
        ("", ""),
    ],
)
def test_dates_are_iso_or_nothing(written: str, iso: str) -> None:
    assert to_iso_date(written) == iso


def test_only_prose_has_front_matter() -> None:
    assert _entity("tags: [a]", "a.yaml") is None
    assert _entity("tags: [a]", "a.py") is None
    assert _entity("tags: [a]", "a.rst") == Entity(("a",), "", "", "")


def test_fences() -> None:
    def entity(text: bytes) -> Entity | None:
        return extract("a.md", text, IndexSettings()).entity

    assert entity(b"\xef\xbb\xbf---\r\ntags: x\r\n---\r\n") == Entity(("x",), "", "", "")
    assert entity(b"---\ntags: x\n...\n") == Entity(("x",), "", "", "")
    assert entity(b"---\ntags: x\n") is None
    assert entity(b"\n---\ntags: x\n---\n") is None
    assert entity(b"----\ntags: x\n----\n") is None
