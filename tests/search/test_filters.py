"""Every filter holds in every way of searching: words, vectors, symbols, expressions, whole files, no index (QU-1, QU-5)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from gitindex.config import Environment
from gitindex.mcp.server import Service
from gitindex.mcp.tool_schemas import BY_NAME
from gitindex.search.dense import DenseIndex
from gitindex.search.lexical import LexicalSearcher
from gitindex.search.request import FILE_MODES, MODES, Request
from gitindex.search.scope import SearchScope
from gitindex.view.snapshot import open_active
from tests.house.reference import commands
from tests.search.conftest import FILES, Asked
from tests.search.test_fallback import scanned
from tests.support import harness

# A value for each filter, and the paths of the project it leaves.
FILTERS: dict[str, tuple[Any, Callable[[str], bool]]] = {
    "globs": (("shop/**",), lambda path: path.startswith("shop/")),
    "languages": (("markdown",), lambda path: path.endswith(".md")),
    "kinds": (("test",), lambda path: path.startswith("tests/")),
    "tags": (("jetson",), lambda path: path.startswith("notes/")),
    "since": ("2024-04-01", lambda path: path == "notes/cuda.md"),
    "until": ("2024-04-01", lambda path: path == "notes/jetson.md"),
    "session": ("s-2", lambda path: path == "notes/cuda.md"),
}
NO_FILTERS = {"query", "mode", "limit", "files", "flat"}
PLACES = (
    "search/request.py (checked, asks_metadata), search/scope.py or search/metadata.py, search/lexical.py (_filters), "
    "search/dense.py, search/fallback.py, cli/cmd_search.py, mcp/tool_schemas.py, mcp/tools.py, docs/mcp.md, docs/cli.md"
)
# A scope for each of its fields, on its own.
SCOPES: dict[str, SearchScope] = {
    "paths": SearchScope(paths=frozenset({"shop/cart.py", "README.md"})),
    "languages": SearchScope(languages=frozenset({"python"})),
    "kinds": SearchScope(kinds=frozenset({"function"})),
    "not_languages": SearchScope(not_languages=frozenset({"python"})),
    "not_kinds": SearchScope(not_kinds=frozenset({"function"})),
}
QUESTION = {"regex": "cart|board|kernel|recovery", "symbol": "cart"}
WAYS = [(mode, "") for mode in MODES] + [(mode, shape) for mode in FILE_MODES for shape in ("files", "flat")]


def request_of(mode: str, shape: str, **more: Any) -> Request:
    text = QUESTION.get(mode, "cart item price recovery board kernel")
    return Request(text, mode, 100, files=shape == "files", flat=shape == "flat", **more)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize(("mode", "shape"), WAYS)
def test_an_index_keeps_to_the_filter(shop: Asked, name: str, mode: str, shape: str):
    """QU-1: in every mode; without the filter something else is found too."""
    value, inside = FILTERS[name]
    free = shop.hits(**vars_of(request_of(mode, shape)))
    assert [hit.path for hit in free if not inside(hit.path)], "the question finds nothing to leave out"
    kept = shop.hits(**vars_of(request_of(mode, shape, **{name: value})))
    assert [hit.path for hit in kept if not inside(hit.path)] == [], (
        f"{name} is ignored; its places: {PLACES}"
    )
    assert kept or mode == "symbol"


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize(("mode", "shape"), [way for way in WAYS if way[0] != "symbol"])
def test_a_scan_keeps_to_the_filter(shop: Asked, name: str, mode: str, shape: str):
    """QU-5: filters mean the same without an index."""
    value, inside = FILTERS[name]
    free = scanned(shop, request_of(mode, shape)).hits
    assert [hit.path for hit in free if not inside(hit.path)], "the question finds nothing to leave out"
    kept = scanned(shop, request_of(mode, shape, **{name: value})).hits
    assert [hit.path for hit in kept if not inside(hit.path)] == [], f"search/fallback.py ignores {name}"
    assert kept


def vars_of(request: Request) -> dict[str, Any]:
    values = {field.name: getattr(request, field.name) for field in fields(Request)}
    return {"text": values.pop("query"), **values}


def test_every_filter_is_tried_and_offered():
    """A new filter needs a row above, an option and an argument of the tool."""
    filters = {field.name for field in fields(Request)} - NO_FILTERS
    assert filters == set(FILTERS), f"add {filters ^ set(FILTERS)} to FILTERS; its places: {PLACES}"
    options = {parameter.name for parameter in commands()["search"].params}
    assert filters - options == set(), "cli/cmd_search.py has no option for it"
    arguments = set(BY_NAME["search_codebase"].properties)
    assert filters - arguments == set(), "mcp/tool_schemas.py has no argument for it"


@pytest.mark.parametrize("name", FILTERS)
def test_the_tool_passes_the_filter_on(shop: Asked, name: str):
    """UI-2."""
    value, inside = FILTERS[name]
    service = Service(Environment(home=shop.codebase.layout.base.parent.parent), shop.repo.root)
    given = {
        "query": "cart item price recovery board kernel",
        name: list(value) if isinstance(value, tuple) else value,
    }
    answer = json.loads(service.call("search_codebase", given).text)
    assert answer["results"]
    assert all(inside(hit["path"]) for hit in answer["results"]), f"mcp/tools.py does not pass {name} on"


@pytest.mark.parametrize("name", FILTERS)
def test_the_command_passes_the_filter_on(shop: Asked, name: str, monkeypatch: pytest.MonkeyPatch):
    """UI-1."""
    value, inside = FILTERS[name]
    monkeypatch.setenv("GITINDEX_HOME", str(shop.codebase.layout.base.parent.parent))
    (option,) = [parameter for parameter in commands()["search"].params if parameter.name == name]
    given = [
        part
        for text in (value if isinstance(value, tuple) else (value,))
        for part in (option.opts[0], str(text))
    ]
    words = "cart item price recovery board kernel"
    answer = harness.cli("search", words, *given, "--json", "--path", str(shop.repo.root)).json
    assert answer["results"]
    assert all(inside(hit["path"]) for hit in answer["results"]), f"cli/cmd_search.py does not pass {name} on"


@pytest.mark.parametrize("name", SCOPES)
def test_words_and_vectors_mean_the_same_scope(shop: Asked, name: str):
    """QU-1: what Tantivy is asked for and what `Scope.admits` lets through are the same chunks."""
    scope = SCOPES[name]
    with open_active(shop.codebase.layout) as view:
        index = DenseIndex.load(view)
        everything = {
            index.chunk_at(row).key for row in index.rows.values() if index.chunk_at(row).chunk_kind == "text"
        }
        near = {index.chunk_at(int(row)) for row in index.select_rows(scope)}
        words = {
            item.key for item in LexicalSearcher(view.lexical).find_with_identifiers([], "", scope, 1000)
        }
    assert {item.key for item in near if item.chunk_kind == "text"} == words, (
        f"{name}: lexical._filters or Scope.admits"
    )
    assert words
    assert words < everything


def test_every_field_of_a_scope_is_tried():
    assert set(SearchScope._fields) == set(SCOPES), "add it to SCOPES, Scope.admits and lexical._filters"


def test_the_project_has_files_for_every_filter():
    for name, (_, inside) in FILTERS.items():
        assert any(map(inside, FILES)), name
