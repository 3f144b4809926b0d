"""Files as results: which files, by the evidence of all their chunks (QU-1, QU-2), and the places shown of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitindex.errors import UsageError
from gitindex.search.candidate import RetrievedChunk
from gitindex.search.chunkscore import ChunkEvidence
from gitindex.search.engine import NoVectors
from gitindex.search.filekind import is_port
from gitindex.search.parse import parse, read_pasted
from gitindex.search.ranking import RankedFile, Ranking
from gitindex.search.request import FILE_MODES, MODES
from gitindex.search.retrieve import Retrieved
from gitindex.search.weights import (
    DEFAULT_WEIGHTS,
    EQUAL_WEIGHTS,
    PASSAGE_WEIGHTS,
    PASTED_WEIGHTS,
    RankWeights,
    choose_weights,
)
from gitindex.search.wordforms import match_word
from tests.search.conftest import FILES, Ask, Asked
from tests.support.harness import cli


def chunk(path: str, ordinal: int = 1, symbol: str = "", lines: int = 9) -> RetrievedChunk:
    kind = "function" if symbol else ""
    return RetrievedChunk(path, ordinal, "text", "python", 1, lines, symbol, kind, "text")


def ranked(
    query: str, *found: ChunkEvidence, weights: RankWeights = DEFAULT_WEIGHTS, **mentioned: float
) -> list[RankedFile]:
    paths = {name.replace("__", "/") + ".py": strength for name, strength in mentioned.items()}
    return Ranking(Retrieved(list(found)), parse(query), weights, paths).rank_files()


def order(
    query: str, *found: ChunkEvidence, weights: RankWeights = DEFAULT_WEIGHTS, **mentioned: float
) -> list[str]:
    return [file.path for file in ranked(query, *found, weights=weights, **mentioned)]


# -- which files ---------------------------------------------------------------------------------------


def test_tests_examples_and_pages_step_back() -> None:
    paths = ["src/app.py", "examples/run.py", "tests/test_other.py", "docs/guide.md"]
    found = [ChunkEvidence(chunk(path), 3.0, 0.2) for path in reversed(paths)]
    assert order("some words", *found) == paths
    assert order("tests of some words", *found)[0] == "tests/test_other.py"
    assert order("some words in the docs", *found)[0] == "docs/guide.md"


def test_asked_for_whole_files_no_kind_is_worth_less() -> None:
    """A change touches tests, pages and settings as often as code: equal evidence is equal."""
    paths = ["a/conf.toml", "docs/guide.md", "src/app.py", "tests/test_other.py", "win/other.c"]
    found = ranked(
        "some words",
        *(ChunkEvidence(chunk(path), 3.0, 0.2) for path in reversed(paths)),
        weights=EQUAL_WEIGHTS,
    )
    assert [file.path for file in found] == paths
    assert {file.score for file in found} == {1.0}


def test_pasted_text_and_short_text_have_their_weights() -> None:
    assert choose_weights(parse("cart")) is DEFAULT_WEIGHTS
    assert choose_weights(parse("cart"), flat=True) is PASSAGE_WEIGHTS
    assert choose_weights(parse("cart"), files=True) is EQUAL_WEIGHTS
    assert choose_weights(read_pasted("cart"), files=True) is PASTED_WEIGHTS


def test_several_chunks_are_better_than_one_and_no_match_for_many_times_better() -> None:
    several = [ChunkEvidence(chunk("several.py", at), 2.0) for at in range(3)]
    assert order("some words", ChunkEvidence(chunk("one.py"), 2.0), *several)[0] == "several.py"
    assert order("some words", ChunkEvidence(chunk("best.py"), 9.0), *several)[0] == "best.py"


def test_a_long_file_does_not_win_by_being_long() -> None:
    long = [ChunkEvidence(chunk("long.py", at), 2.0) for at in range(50)]
    assert order("some words", *long, ChunkEvidence(chunk("short.py"), 6.0))[0] == "short.py"


def test_words_and_vectors_may_speak_of_different_chunks() -> None:
    spread = [ChunkEvidence(chunk("spread.py", 1), 5.0), ChunkEvidence(chunk("spread.py", 2), 0.0, 0.4)]
    others = [ChunkEvidence(chunk("a.py"), 5.0), ChunkEvidence(chunk("b.py"), 0.0, 0.4)]
    assert order("some words", *others, *spread)[0] == "spread.py"


def test_words_of_the_file_name_and_their_beginnings_count() -> None:
    for name in ("payment", "pay", "payments"):
        found = [ChunkEvidence(chunk("shop/other.py"), 5.0), ChunkEvidence(chunk(f"shop/{name}.py"), 4.0)]
        assert order("payment by card", *found)[0] == f"shop/{name}.py", name


def test_words_of_the_names_in_a_file_count() -> None:
    plain = ChunkEvidence(chunk("plain.py", symbol="run"), 4.2)
    named = ChunkEvidence(chunk("named.py", symbol="Card.charge"), 4.0)
    assert order("charge it", plain, named) == ["named.py", "plain.py"]


def test_rare_words_in_names_count_more() -> None:
    rare, usual = (
        ChunkEvidence(chunk("rare.py", symbol="zebra"), 4.0),
        ChunkEvidence(chunk("a.py", symbol="get"), 4.0),
    )
    retrieved = Retrieved([usual, rare], rarity={"get": 0.1, "zebra": 1.0})
    found = Ranking(retrieved, parse("get zebra"), DEFAULT_WEIGHTS).rank_files()
    assert [file.path for file in found] == ["rare.py", "a.py"]


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("cart", "cart", 1.0), ("auth", "authentication", 0.7), ("ab", "abc", 0.0), ("parser", "parsing", 0.0),
        ("card", "cart", 0.0), ("s", "es", 0.0),
    ],
)  # fmt: skip
def test_a_beginning_matches_partly(one: str, other: str, share: float) -> None:
    assert match_word(one, other, 0.7) == match_word(other, one, 0.7) == share


def test_ports_step_back_unless_their_system_is_named() -> None:
    found = [ChunkEvidence(chunk("src/win/tty.c"), 5.0), ChunkEvidence(chunk("src/unix/tty.c"), 4.8)]
    assert order("raw mode", *found)[0] == "src/unix/tty.c"
    assert order("raw mode on windows", *found)[0] == "src/win/tty.c"
    assert is_port("lib/os390.c")
    assert not is_port("lib/window.c")


def test_a_header_of_c_steps_back_behind_its_source() -> None:
    found = [ChunkEvidence(chunk("include/url.h"), 5.0), ChunkEvidence(chunk("lib/url.c"), 4.8)]
    assert order("default settings", *found) == ["lib/url.c", "include/url.h"]
    alone = [ChunkEvidence(chunk("include/url.h"), 5.0), ChunkEvidence(chunk("lib/other.cc"), 4.8)]
    assert order("default settings", *alone)[0] == "include/url.h"


def test_a_definition_of_what_is_named_comes_first() -> None:
    uses = ChunkEvidence(chunk("uses.py", symbol="main"), 5.0)
    defines = ChunkEvidence(chunk("defines.py", symbol="Cart.total"), 1.0, defines=1.0)
    assert order("Cart.total", uses, defines)[0] == "defines.py"
    assert order("why is Cart.total so slow", uses, defines)[0] == "uses.py"


def test_exact_case_comes_before_folded_case() -> None:
    exact, folded = chunk("z.py", symbol="Session"), chunk("a.py", symbol="session")
    found = [ChunkEvidence(folded, 5.0, defines=1.0), ChunkEvidence(exact, 4.0, defines=1.0)]
    assert order("Session", *found) == ["z.py", "a.py"]


def test_a_file_that_pasted_text_names_comes_first() -> None:
    found = [ChunkEvidence(chunk("a/other.py"), 5.0), ChunkEvidence(chunk("a/named.py"), 1.0)]
    assert order("some words", *found, a__named=1.0)[0] == "a/named.py"


# -- which places -----------------------------------------------------------------------------------------


def test_the_best_places_are_shown_and_matching_chunks_are_counted() -> None:
    found = [
        ChunkEvidence(chunk("a.py", 1), 2.0),
        ChunkEvidence(chunk("a.py", 2), 4.0, 0.4),
        ChunkEvidence(chunk("a.py", 3), 0.0, 0.3),
        ChunkEvidence(chunk("a.py", 4), 0.0, 0.1),  # far from the nearest, and none of the words
    ]
    ranking = Ranking(Retrieved(found), parse("some words"), DEFAULT_WEIGHTS)
    (only,) = ranking.rank_files()
    assert (only.matching, only.layers) == (3, ("lexical", "dense"))
    assert [place.ordinal for place in ranking.list_places(only)] == [2, 3, 1]


def test_the_head_of_a_file_is_no_place_where_there_is_another() -> None:
    head = ChunkEvidence(chunk("a.py", 0)._replace(chunk_kind="anchor"), 9.0)
    for found, shown in (([head, ChunkEvidence(chunk("a.py", 1), 1.0)], [1]), ([head], [0])):
        ranking = Ranking(Retrieved(found), parse("some words"), DEFAULT_WEIGHTS)
        (file,) = ranking.rank_files()
        assert [place.ordinal for place in ranking.list_places(file)] == shown


def test_a_sentence_moves_places_to_the_callable_that_it_names() -> None:
    other, named = chunk("a.py", 1, "Cart.total"), chunk("a.py", 2, "Cart.add_item")
    found = [ChunkEvidence(other, 4.2), ChunkEvidence(named, 4.0)]
    ranking = Ranking(Retrieved(found), parse("add an item to the shopping cart"), DEFAULT_WEIGHTS)
    assert ranking.list_places(ranking.rank_files()[0])[0] == named


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.floats(0, 9), st.floats(0, 1)), max_size=30
    ),
    st.randoms(),
)
def test_order_depends_on_the_evidence_alone(
    found: list[tuple[str, int, float, float]], random: object
) -> None:
    unique = {(path, at): (words, sense) for path, at, words, sense in found}
    pool = [ChunkEvidence(chunk(f"{path}.py", at), *scores) for (path, at), scores in unique.items()]
    shuffled = pool[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, again = (
        Ranking(Retrieved(items), parse("some words"), DEFAULT_WEIGHTS) for items in (pool, shuffled)
    )
    files = first.rank_files()
    assert [(file.path, file.score) for file in files] == [
        (file.path, file.score) for file in again.rank_files()
    ]
    assert first.rank_passages(3) == again.rank_passages(3)
    assert all(0 <= file.score <= 1 for file in files)
    assert len({file.path for file in files}) == len(files)


# -- over a real index ------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("mode", FILE_MODES)
def test_every_hit_is_another_file(shop: Asked, mode: str, whole: bool) -> None:
    """QU-2: each with its best passage, and the same answer every time."""
    hits = shop.hits("put an item into the cart", mode, files=whole)
    assert hits[0].path == "shop/cart.py"
    assert len({hit.path for hit in hits}) == len(hits) >= 3
    assert all(hit.chunks >= 1 and hit.snippet and hit.layers for hit in hits)
    lines = FILES["shop/cart.py"].split("\n")
    assert hits[0].snippet.split("\n")[0] == lines[hits[0].snippet_line - 1]
    assert shop.hits("put an item into the cart", mode, files=whole) == hits


def test_further_places_say_where_and_what(make: Ask) -> None:
    body = "    total = 0\n" * 12
    names = ("first_cart", "second_cart", "third_cart", "fourth_cart")
    text = "\n\n".join(f"def {name}(cart):\n{body}    return cart" for name in names)
    (hit,) = make(
        {".gitindex.toml": '[embedding]\nprovider = "none"\n[index]\nchunk_chars = 200\n', "a.py": text}
    ).hits("cart", kinds=("code",))
    assert len(hit.places) == 2
    shown = hit.to_json()["places"]
    assert {place["symbol"] for place in shown} < set(names)
    for place in hit.places:
        assert not (hit.start_line <= place.start_line <= hit.end_line)
        assert place.text == text.split("\n")[place.start_line - 1].strip()


def test_the_test_and_the_page_are_found_too(shop: Asked) -> None:
    found = shop.paths("cart with credit card", files=True)
    assert {"tests/test_cart.py", "README.md", "shop/payment.py"} <= set(found)


@pytest.mark.parametrize("mode", FILE_MODES)
def test_filters_and_negation_hold_for_files(shop: Asked, mode: str) -> None:
    assert set(shop.paths("cart lang:js", mode, files=True)) == {"web/cart.js"}
    assert set(shop.paths("cart path:shop/", mode, files=True)) <= {"shop/cart.py", "shop/payment.py"}
    assert set(shop.paths("cart", mode, files=True, kinds=("test",))) == {"tests/test_cart.py"}
    assert "tests/test_cart.py" not in shop.paths("cart -path:tests", mode, files=True)
    assert shop.paths("cart", mode, files=True, globs=("*.md",)) == ["README.md"] or mode != "lexical"
    without = shop.hits("cart -credit", mode, files=True)
    assert without
    assert all("credit" not in hit.snippet for hit in without)


def test_a_name_leads_to_the_file_that_defines_it(shop: Asked) -> None:
    for mode in ("lexical", "hybrid"):
        first = shop.hits("ShoppingCart", mode)[0]
        assert (first.path, first.symbol) == ("shop/cart.py", "ShoppingCart"), mode
        assert "symbol" in first.layers


def test_filters_alone_list_their_files(shop: Asked) -> None:
    assert shop.paths("path:shop/", "lexical") == ["shop/cart.py", "shop/payment.py"]


def test_notes_listed_by_metadata_are_files_already(shop: Asked) -> None:
    assert shop.paths("", files=True, tags=("cuda",)) == shop.paths("", tags=("cuda",)) == ["notes/cuda.md"]


def test_the_limit_counts_files(shop: Asked) -> None:
    found = shop("cart", files=True, limit=2).result
    every = shop("cart", files=True, limit=50).result
    assert len(found.hits) == 2
    assert found.left_out == len(every.hits) - 2 > 0
    assert every.left_out == 0
    assert every.hits[:2] == found.hits


def test_flat_lists_passages_one_by_one(shop: Asked) -> None:
    hits = shop.hits("cart", flat=True, limit=50)
    assert all(hit.chunks == 0 and not {"chunks", "places"} & hit.to_json().keys() for hit in hits)
    assert len({hit.path for hit in hits}) < len(hits)
    assert {hit.path for hit in hits} == set(shop.paths("cart", limit=50))


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in FILE_MODES])
def test_other_modes_do_not_rank_files(shop: Asked, mode: str) -> None:
    with pytest.raises(UsageError, match="does not rank whole files"):
        shop("cart", mode, files=True)


def test_files_and_passages_exclude_each_other(shop: Asked) -> None:
    with pytest.raises(UsageError, match="cannot be listed as chunks"):
        shop("cart", files=True, flat=True)


def test_without_vectors_meaning_is_a_named_error_and_hybrid_says_so(make: Ask) -> None:
    asked = make({"a.py": "def cart():\n    pass\n", ".gitindex.toml": '[embedding]\nprovider = "none"\n'})
    with pytest.raises(NoVectors):
        asked("cart", "semantic")
    found = asked("cart", "hybrid").result
    assert [hit.path for hit in found.hits] == ["a.py"]
    assert "no vectors" in found.notes[0]


# -- as people and programs meet it -------------------------------------------------------------------


@pytest.fixture
def search(shop: Asked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GITINDEX_HOME", str(shop.codebase.home))
    return lambda *arguments: cli("search", "--path", str(shop.repo.root), *arguments)


def test_text_shows_place_chunks_and_truth(search) -> None:
    """UI-1, QU-6: the line of the three truths is there as for passages."""
    ran = search("charge", "the", "credit", "card")
    assert ran.out.startswith("shop/payment.py:")
    assert " chunk" in ran.out.split("\n")[0]
    assert "def charge_card" in ran.out
    assert "built here" in ran.out.strip().split("\n")[-1]


def test_json_has_the_documented_fields(search) -> None:
    """UI-1."""
    answer = search("--json", "--files", "cart", "--limit", "2").json
    assert len(answer["results"]) == 2
    assert answer["truncated"] is True
    assert {"freshness", "coverage", "trust"} <= answer.keys()
    assert {"path", "start_line", "end_line", "score", "layers", "precision", "snippet", "chunks"} <= (
        answer["results"][0].keys()
    )


def test_an_empty_answer_helps(search) -> None:
    ran = search("shoppingkart", "--mode", "lexical")
    assert "no results for 'shoppingkart'" in ran.out
    assert "did you mean: shoppingcart" in ran.out


def test_a_mode_that_ranks_no_files_has_exit_code_two(search) -> None:
    ran = search("cart", "--mode", "regex", "--files", "--json")
    assert (ran.code, ran.json["status"]) == (2, "error")
