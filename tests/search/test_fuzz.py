"""Any input gives an answer or a named error, never a traceback (QU-1, QU-7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitindex.config import Environment
from gitindex.errors import GitindexError
from gitindex.ops.answers.search_answer import open_cached_embedder
from gitindex.ops.codebase import open_codebase
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.search.engine import Engine
from gitindex.search.hit import SearchAnswer
from gitindex.search.request import MODES, Request
from gitindex.view.snapshot import open_active
from tests.search.conftest import FILES
from tests.support.gitrepo import GitRepo

_PIECES = st.sampled_from(
    ["cart", "add_item", "ShoppingCart", '"', "-", "path:", "lang:py", "-kind:class", "sym:refund", "*", "pay*",
     "(", ")", "[", "\\", "\\b", ".*", "a{1,99999}", "(?i)", "(?P<x>", "\0", "\ud800", "é", "漢字", "🙂", "’",
     "'; DROP TABLE", "%", "_"]
)  # fmt: skip
_SOME = st.lists(_PIECES, max_size=6)
_TEXT = st.one_of(st.text(max_size=40), _SOME.map(" ".join), _SOME.map("".join))
# Pasted: tracebacks, diffs, logs, Markdown, other scripts, in any order and up to 100 kB.
_LINES = st.sampled_from(
    ['Traceback (most recent call last):', '  File "/x/shop/cart.py", line 3, in add_item', "--- a/shop/cart.py",
     "@@ -1,3 +1,4 @@", "-    return None", "`ShoppingCart.add_item` fails", "```", "2024-05-20 ERROR shop.payment - x=1",
     "\tat shop.Cart.add(Cart.java:12)", "# Überschrift 漢字", "x" * 5000, "shop\\\\cart.py:7", "\0\ud800", ""]
)  # fmt: skip
PASTED = st.builds(
    lambda lines, times: "\n".join(lines) * times,
    st.lists(_LINES, min_size=3, max_size=12),
    st.integers(1, 6),
)
_FEW = st.lists(_TEXT, max_size=2).map(tuple)
_DATE = st.one_of(st.just(""), st.sampled_from(["2024-01-01", "2024-05-20T10:00:00Z"]), _TEXT)
REQUESTS = st.builds(
    Request,
    query=st.one_of(_TEXT, PASTED),
    mode=st.sampled_from(MODES),
    files=st.booleans(),
    flat=st.booleans(),
    limit=st.integers(1, 20),
    globs=_FEW,
    languages=_FEW,
    kinds=_FEW,
    tags=_FEW,
    since=_DATE,
    until=_DATE,
    session=st.one_of(st.just(""), _TEXT),
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("fuzz")
    for path, content in FILES.items():
        target = root / "tree" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    GitRepo.create(root / "tree")
    codebase = open_codebase(root / "tree", Environment(home=Path(root / "home")))
    sync(codebase, SyncOptions(workers=1))
    view = open_active(codebase.layout)
    assert view is not None
    with view:
        embedding = codebase.settings.embedding
        yield Engine(view, codebase.root, codebase.settings.query, lambda: open_cached_embedder(embedding))


def ask(engine: Engine, request: Request) -> None:
    try:
        found = engine.search(request)
    except GitindexError:
        return
    assert isinstance(found, SearchAnswer)
    assert len(found.hits) <= request.limit
    assert all(hit.path in FILES for hit in found.hits)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(request=REQUESTS)
def test_any_request_is_answered(engine: Engine, request: Request) -> None:
    ask(engine, request)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(query=_TEXT, mode=st.sampled_from(MODES))
def test_any_query_without_filters_is_answered(engine: Engine, query: str, mode: str) -> None:
    ask(engine, Request(query, mode))


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(request=REQUESTS)
def test_ten_thousand_requests_are_answered(engine: Engine, request: Request) -> None:
    ask(engine, request)
