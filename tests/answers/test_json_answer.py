"""`model.json_answer`: what the metadata of a field does to its key."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from gitindex.model.frozen import field, frozen
from gitindex.model.json_answer import EMBEDDED, OPTIONAL, json_key, read_field, replace_field, to_json


class Row(NamedTuple):
    line: int
    names: tuple[str, ...]


@frozen
class Inner:
    rows: tuple[Row, ...]
    source: str = field(default="a", metadata=json_key("from"))


@frozen
class Outer:
    status: str
    inner: Inner | None = field(metadata=EMBEDDED)
    message: str = field(default="", metadata=OPTIONAL)
    count: int | None = field(default=None, metadata=OPTIONAL)
    stale: bool = field(default=False, metadata=OPTIONAL)


def test_fields_become_keys():
    value = Outer("ok", Inner((Row(1, ("x",)),)), message="m", count=2, stale=True)
    assert to_json(value) == {
        "status": "ok",
        "rows": [{"line": 1, "names": ["x"]}],
        "from": "a",
        "message": "m",
        "count": 2,
        "stale": True,
    }


def test_optional_keys_are_left_out_while_empty_and_zero_is_not_empty():
    assert to_json(Outer("ok", None)) == {"status": "ok"}
    assert to_json(Outer("ok", None, count=0)) == {"status": "ok", "count": 0}


def test_fields_are_read_and_replaced_where_they_are_embedded():
    value = Outer("ok", Inner((Row(1, ()), Row(2, ()))))
    assert read_field(value, "rows") == (Row(1, ()), Row(2, ()))
    shorter = replace_field(value, "rows", value.inner.rows[:1])
    assert (shorter.inner.rows, shorter.inner.source, shorter.status) == ((Row(1, ()),), "a", "ok")
    assert replace_field(value, "status", "other").status == "other"
    assert read_field(Outer("ok", None), "rows") is None
    with pytest.raises(KeyError):
        replace_field(value, "nonesuch", ())
