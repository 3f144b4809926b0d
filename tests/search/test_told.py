"""What an answer says of itself: what it left out, what it could not find, how it was understood (QU-2, QU-4)."""

from __future__ import annotations

import json

import pytest

from gitindex.config import load_environment
from gitindex.errors import UsageError
from gitindex.mcp.server import Service
from gitindex.search.hit import SearchAnswer
from tests.cli.test_pager import at_terminal
from tests.search.conftest import Ask, Asked
from tests.support.harness import Ran, cli

_FAKE = {".gitindex.toml": '[embedding]\nprovider = "fake"\n'}
_MANY = 230


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """More files with one word than any limit allows."""
    from tests.search.conftest import indexed
    from tests.support.gitrepo import GitRepo

    root = tmp_path_factory.mktemp("many")
    files = {f"lib/part{at:03}.py": f"def token_{at}():\n    return 'needle'\n" for at in range(_MANY)}
    return indexed(GitRepo.create(root / "repo"), root / "home", {**_FAKE, **files})


@pytest.fixture
def search(many: Asked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GITINDEX_HOME", str(many.codebase.home))

    def ask(*arguments: str) -> Ran:
        return cli("search", "--path", str(many.repo.root), *arguments)

    return ask


def told(found: SearchAnswer) -> tuple[int, int, bool, bool]:
    return len(found.hits), found.left_out, found.at_least, found.truncated


# -- what was left out -----------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["nowher*", "needle sym:nowhere", '"needle" sym:nowhere'])
@pytest.mark.parametrize("shape", ["files", "flat", ""])
def test_nothing_is_left_out_of_nothing(many: Asked, query: str, shape: str) -> None:
    """What meets a condition is found by its words, however many chunks are nearer."""
    found = many(query, files=shape == "files", flat=shape == "flat").result
    assert told(found) == (0, 0, False, False)


@pytest.mark.parametrize("limit", [1, 3, 200])
def test_a_limit_does_not_hide_definitions_of_the_kind_asked_for(make: Ask, limit: int) -> None:
    files = {f"a{at}.py": f"def make_loader_{at}(loader):\n    return loader\n" for at in range(20)}
    asked = make({**_FAKE, **files, "z.py": "class BigLoader:\n    x = 1\n"})
    assert [hit.symbol for hit in asked.hits("loader", "symbol", kinds=("class",), limit=limit)] == [
        "BigLoader"
    ]


def test_files_left_out_are_counted(many: Asked) -> None:
    for limit in (10, 200):
        assert told(many("path:lib", limit=limit).result) == (limit, _MANY - limit, False, True)


def test_matches_beyond_the_highest_limit_are_counted(many: Asked) -> None:
    for query in ("needle", "token_7"):
        found = many(query, "lexical", limit=200, flat=True).result
        assert (found.at_least, found.left_out + len(found.hits) >= _MANY) == (False, True)
        assert told(many(query, "lexical", limit=200).result)[2:] == (True, True)


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
def test_a_pool_is_not_presented_as_a_count(many: Asked, mode: str) -> None:
    _, left, at_least, truncated = told(many("token", mode).result)
    assert (at_least, truncated) == (True, True)
    assert 0 < left < 2 * _MANY


def test_all_that_vectors_offer_is_not_all_there_is(many: Asked) -> None:
    shown, left, at_least, truncated = told(many("needle", "semantic", limit=200).result)
    assert (at_least, truncated) == (True, True)
    assert left >= 0
    assert shown + left <= 2 * _MANY


def test_exact_modes_count_exactly(many: Asked) -> None:
    assert told(many("needle", "regex", limit=20).result) == (20, _MANY - 20, False, True)
    assert told(many("token", "symbol", limit=20).result) == (20, _MANY - 20, False, True)
    assert told(many("token_7", "symbol", limit=1).result) == (1, 10, False, True)
    assert told(many("token_77", "symbol").result) == (1, 0, False, False)


def test_complete_answers_say_so(shop: Asked) -> None:
    for mode in ("lexical", "hybrid", "semantic", "symbol", "regex"):
        assert told(shop("refund", mode, limit=100).result)[1:] == (0, False, False), mode


def test_only_a_limit_that_cut_and_can_be_raised_is_to_be_raised(search) -> None:
    assert f"{_MANY - 10} more; raise --limit or narrow the query" in search("path:lib").out
    assert f"\n{_MANY - 200} more; narrow the query" in search("path:lib", "--limit", "200").out
    assert "at least " in search("needle").out
    answer = search("needle", "--json").json
    assert (answer["truncated"], answer["left_out_at_least"]) == (True, True)


def test_the_size_of_an_answer_is_named_when_it_cut(make: Ask) -> None:
    config = f"{_FAKE['.gitindex.toml']}[query]\nmax_answer_chars = 2000\n"
    files = {f"part{at}.py": f"def token_{at}():\n    return 'needle'\n" for at in range(40)}
    asked = make({".gitindex.toml": config, **files})
    found = asked("path:part", limit=30).result
    assert len(found.hits) + found.left_out == 40
    assert "max_answer_chars is 2,000" in found.notes[0]
    text = cli("search", "--path", str(asked.repo.root), "path:part", "--limit", "30").out
    assert "raise --limit" not in text
    answer = json.loads(
        Service(load_environment(), asked.repo.root)
        .call("search_codebase", {"query": "path:part", "limit": 30})
        .text
    )
    assert len(answer["results"]) + answer["left_out"] == 40


# -- what was not found ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["(((", "~", "*", '""', "- -", "**"])
@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic", "symbol"])
def test_signs_alone_are_nothing_to_search_for(shop: Asked, text: str, mode: str) -> None:
    with pytest.raises(UsageError, match="nothing to search for"):
        shop(text, mode)


def test_conditions_alone_are_something(shop: Asked) -> None:
    for text in ("path:shop", "-cart", "-path:shop", "lang:py", "sym:refund", "-kind:test"):
        assert shop.hits(text, "lexical"), text
    assert shop.hits("((( cart")
    assert shop.paths("(((", tags=("cuda",)) == ["notes/cuda.md"]


def test_words_that_no_file_has_are_told(shop: Asked) -> None:
    found = shop("shoppingkart").result
    assert found.hits
    assert found.nearest_only
    assert "no indexed file contains shoppingkart" in found.notes[0]
    assert "shoppingcart" in found.suggestions
    filtered = shop("shoppingkart path:shop").result
    assert "no file that passes the filters contains shoppingkart" in filtered.notes[0]
    for text, mode in (("cart", "hybrid"), ("path:shop", "hybrid"), ("shoppingkart", "semantic")):
        assert not shop(text, mode).result.nearest_only, (text, mode)


def test_words_that_no_file_has_are_told_to_everybody(shop: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITINDEX_HOME", str(shop.codebase.home))
    text = cli("search", "--path", str(shop.repo.root), "shoppingkart").out
    assert "did you mean: shoppingcart" in text
    assert "only nearest in meaning" in text
    service = Service(load_environment(), shop.repo.root)
    answer = json.loads(service.call("search_codebase", {"query": "shoppingkart"}).text)
    assert answer["nearest_only"] is True
    assert "shoppingcart" in answer["suggestions"]
    assert "nearest_only" not in json.loads(service.call("search_codebase", {"query": "cart"}).text)


# -- how it was understood -------------------------------------------------------------------------


def test_a_matching_line_is_named_after_the_definition_around_it(make: Ask) -> None:
    asked = make(
        {
            **_FAKE,
            "a.py": "import os\n\n\ndef first():\n    return 1\n\n\nclass Second:\n    def inner(self):\n        return needle\n",
        }
    )
    (hit,) = asked.hits("needle", "regex")
    assert (hit.symbol, hit.kind, hit.precision) == ("Second.inner", "method", "syntactic")
    (hit,) = asked.hits("^import", "regex")
    assert (hit.symbol, hit.kind, hit.precision) == ("", "", "text")
    (hit,) = asked.hits("return 1|needle", "regex", kinds=("function",))
    assert hit.kind == "function"


def test_an_unknown_kind_is_named_with_the_known_ones(shop: Asked) -> None:
    for found in (shop("carts kind:bogus").result, shop("carts", kinds=("bogus",)).result):
        assert not found.hits
        (note,) = found.notes
        assert "bogus" in note
        assert "function" in note
        assert "test" in note
        assert not found.suggestions
    (note,) = shop("zzz kind:function", "lexical").result.notes
    assert "kind" not in note


def test_filters_that_were_not_applied_are_told(shop: Asked) -> None:
    assert "--glob" in shop("path:shop def refund", "regex").result.notes[0]
    assert "--glob" not in str(shop("nowhere at all", "regex").result.notes)
    assert "only filters" in shop("sym:refund", "semantic").result.notes[0]
    assert "only filters" in shop("lang:python", "symbol").result.notes[0]
    assert shop("sym:refund", "symbol").result.hits


def test_words_with_a_minus_are_part_of_the_query(shop: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITINDEX_HOME", str(shop.codebase.home))
    root = str(shop.repo.root)
    for words in (("-path:tests cart",), ("-path:tests", "cart"), ("cart", "-path:tests")):
        answer = cli("search", *words, "--path", root, "--limit", "50", "--json").json
        assert {hit["path"] for hit in answer["results"]} == set(shop.paths("cart -path:tests", limit=50)), (
            words
        )
    for words in (("-session",), ("-hello", "cart"), ("-kind:test", "cart"), ("cart", "--", "--limit")):
        assert cli("search", "--path", root, *words).code == 0, words
    assert "Usage" in cli("search", "-h").out
    for wrong, said in ((("--limt", "3"), "--limt"), (("--limit",), "requires an argument")):
        ran = cli("search", "--path", root, "cart", *wrong)
        assert ran.code == 2
        assert said in ran.err


def test_no_color_is_heeded(many: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITINDEX_HOME", str(many.codebase.home))
    monkeypatch.delenv("NO_COLOR", raising=False)
    for arguments in (("search", "token_7", "--limit", "1"), ("list",)):
        assert "\x1b[" in at_terminal(many.repo.root, "--no-pager", *arguments)
        assert "\x1b[" in at_terminal(many.repo.root, "--no-pager", *arguments, NO_COLOR="")
        assert "\x1b" not in at_terminal(many.repo.root, "--no-pager", *arguments, NO_COLOR="1")


@pytest.mark.parametrize("named", ["kind", "lang"])
def test_an_exclusion_that_excludes_nothing_is_told(search, named: str) -> None:
    said = json.loads(search(f"needle -{named}:bogus", "--json").out)["notes"]
    assert any(note.startswith(f"-{named}:bogus excludes nothing") for note in said)
    right = {"kind": "class", "lang": "python"}[named]
    assert "excludes nothing" not in search(f"needle -{named}:{right}", "--json").out
