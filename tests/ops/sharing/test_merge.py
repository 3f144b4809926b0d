"""`ops.sharing.merge`: shards of one build hold every file once (C-4)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gitindex.errors import PublishBlocked
from gitindex.ops.sharing.merge import _check_disjoint


def view_of(*paths: str) -> Any:
    return SimpleNamespace(records=lambda: [SimpleNamespace(path=path) for path in paths])


def test_every_file_once():
    _check_disjoint(view_of())
    _check_disjoint(view_of("a.py", "b.py"))


def test_a_shard_given_twice_is_refused_by_name():
    with pytest.raises(PublishBlocked, match=r"b\.py is in 2 shards"):
        _check_disjoint(view_of("a.py", "b.py", "b.py"))
