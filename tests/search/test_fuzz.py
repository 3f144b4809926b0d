"""Any input gives an answer or a named error, never a traceback (QU-1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitindex.config import Environment
from gitindex.errors import GitindexError
from gitindex.ops.answers.search_answer import _open_cached_embedder
from gitindex.ops.codebase import open_codebase
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.search.engine import Engine
from gitindex.search.hit import Found
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
_FEW = st.lists(_TEXT, max_size=2).map(tuple)
_DATE = st.one_of(st.just(""), st.sampled_from(["2024-01-01", "2024-05-20T10:00:00Z"]), _TEXT)
REQUESTS = st.builds(
    Request,
    query=_TEXT,
    mode=st.sampled_from(MODES),
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
        yield Engine(view, codebase.root, codebase.settings.query, lambda: _open_cached_embedder(embedding))


def ask(engine: Engine, request: Request) -> None:
    try:
        found = engine.search(request)
    except GitindexError:
        return
    assert isinstance(found, Found)
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
