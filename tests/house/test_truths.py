"""docs/mcp.md names every field of the three truths (QU-6)."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from gitindex.ops.answers.answer_truths import Coverage, IndexFreshness, Trust
from tests.house.graph import REPOSITORY


@pytest.mark.parametrize(
    ("name", "kind"), [("freshness", IndexFreshness), ("coverage", Coverage), ("trust", Trust)]
)
def test_every_field_is_documented(name: str, kind: type):
    page = (REPOSITORY / "docs" / "mcp.md").read_text("utf-8")
    row = re.search(rf"^\| `{name}` \| (.*) \|$", page, re.M)
    assert row is not None
    assert {field.name for field in fields(kind)} <= set(re.findall(r"`(\w+)`", row[1]))
