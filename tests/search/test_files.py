"""Whole files as hits: a ranking of their own (QU-1, QU-2), the same conditions as everywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitindex.errors import UsageError
from gitindex.search.candidate import Candidate
from gitindex.search.engine import NoVectors
from gitindex.search.files import Evidence, gather, rank
from gitindex.search.parse import parse
from gitindex.search.request import FILE_MODES, MODES
from tests.search.conftest import FILES, Ask, Asked
from tests.support.harness import cli


def chunk(path: str, ordinal: int = 1, language: str = "python") -> Candidate:
    return Candidate(path, ordinal, "text", language, 1, 9, "", "", "text")


def ranked(query: str, *found: Evidence) -> list[str]:
    return [item.best.candidate.path for item in rank(found, parse(query))]


# -- the ranking ---------------------------------------------------------------------------------------


def test_no_kind_of_file_is_worth_less() -> None:
    """A change touches tests, pages and settings as often as code: equal evidence is equal."""
    paths = ["a/conf.toml", "docs/guide.md", "src/app.py", "tests/test_other.py"]
    found = rank([Evidence(chunk(path), 3.0, 0.2) for path in reversed(paths)], parse("some words"))
    assert [item.best.candidate.path for item in found] == paths
    assert {item.best.score for item in found} == {1.0}


def test_words_of_a_file_are_judged_by_its_best_chunk() -> None:
    """A long file must not win by being long."""
    long = [Evidence(chunk("long.py", at), 2.0) for at in range(50)]
    assert ranked("some words", *long, Evidence(chunk("short.py"), 3.0)) == ["short.py", "long.py"]


def test_several_near_chunks_are_better_than_one() -> None:
    several = [Evidence(chunk("several.py", at), 0.0, 0.3) for at in range(3)]
    one = Evidence(chunk("one.py"), 0.0, 0.3)
    assert ranked("some words", one, *several)[0] == "several.py"
    nearer = Evidence(chunk("nearer.py"), 0.0, 0.5)
    assert ranked("some words", nearer, *several)[0] == "nearer.py"


def test_words_and_vectors_may_speak_of_different_chunks() -> None:
    spread = [Evidence(chunk("spread.py", 1), 5.0), Evidence(chunk("spread.py", 2), 0.0, 0.4)]
    assert ranked("some words", Evidence(chunk("a.py"), 5.0), Evidence(chunk("b.py"), 0.0, 0.4), *spread)[
        0
    ] == ("spread.py")


def test_the_name_of_a_file_counts() -> None:
    found = [Evidence(chunk("shop/other.py"), 5.0), Evidence(chunk("shop/payment.py"), 4.0)]
    assert ranked("payment by card", *found)[0] == "shop/payment.py"


def test_vectors_are_not_asked_about_numbers() -> None:
    """The same evidence: a question of versions is left to the words."""
    words, sense = Evidence(chunk("words.txt"), 4.0), Evidence(chunk("sense.py"), 2.5, 0.5)
    assert ranked("raise the floor of a library", words, sense)[0] == "sense.py"
    assert ranked("bump library 1 2 3 4 5", words, sense)[0] == "words.txt"


@pytest.mark.parametrize(
    ("test", "code", "language"),
    [
        ("tests/test_cart.py", "shop/cart.py", "python"),
        ("web/cart.test.js", "web/cart.js", "javascript"),
        ("pkg/cart_test.go", "pkg/cart.go", "go"),
        ("src/test/CartTest.java", "src/main/Cart.java", "java"),
        ("tests/test_cart.py", "shop/_cart.py", "python"),
    ],
)
def test_a_file_and_its_test_lift_each_other(test: str, code: str, language: str) -> None:
    """They change together. Among equals the pair comes first, whoever of the two has the evidence."""
    for strong, weak in ((test, code), (code, test)):
        found = [
            Evidence(chunk(strong, language=language), 9.0),
            Evidence(chunk(weak, language=language), 3.0),
            Evidence(chunk("another.x", language=language), 3.0),
        ]
        assert ranked("some words", *found) == [strong, weak, "another.x"]


def test_a_like_name_alone_is_no_sibling() -> None:
    """Neither in another language nor among files of the same side."""
    strong = Evidence(chunk("tests/test_cart.py"), 9.0)
    for other in (
        chunk("z/cart.js", language="javascript"),
        chunk("tests/more/test_cart.py"),
        chunk("z/cart.md"),
    ):
        found = rank([strong, Evidence(other, 3.0), Evidence(chunk("a.py"), 3.0)], parse("some words"))
        assert len({item.best.score for item in found[1:]}) == 1, other


def test_a_definition_of_what_is_named_comes_first() -> None:
    uses, defines = Evidence(chunk("uses.py"), 5.0), Evidence(chunk("defines.py"), 1.0, defines=True)
    assert ranked("Cart.total", uses, defines)[0] == "defines.py"
    assert ranked("why is Cart.total so slow", uses, defines)[0] == "uses.py"


def test_the_best_chunk_is_shown_and_matching_ones_are_counted() -> None:
    found = [
        Evidence(chunk("a.py", 1), 1.0),
        Evidence(chunk("a.py", 2), 4.0, 0.4),
        Evidence(chunk("a.py", 3), 0.0, 0.3),
        Evidence(chunk("a.py", 4), 0.0, 0.1),  # far from the nearest, and none of the words
    ]
    (only,) = rank(found, parse("some words"))
    assert (only.best.candidate.ordinal, only.chunks, only.best.layers) == (2, 3, ("lexical", "dense"))


def test_gathering_keeps_both_scores_of_a_chunk() -> None:
    both, words, far = chunk("both.py"), chunk("words.py"), chunk("far.py")
    pool = gather([(3.0, both), (2.0, words)], [(0.5, both), (0.1, far)], 0.2)
    assert pool[both.key] == Evidence(both, 3.0, 0.3)
    assert (pool[words.key].sense, pool[far.key].sense) == (0.0, 0.0)
    few = gather([], [(0.15, words), (0.1, far)], 0.2)
    assert few[words.key].sense > few[far.key].sense > 0, "a filter may leave only what is far"


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
    pool = [Evidence(chunk(f"{path}.py", at), *scores) for (path, at), scores in unique.items()]
    shuffled = pool[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first = rank(pool, parse("some words"))
    assert first == rank(shuffled, parse("some words"))
    assert all(0 <= item.best.score <= 1 for item in first)
    assert len({item.best.candidate.path for item in first}) == len(first)


# -- over a real index ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", FILE_MODES)
def test_every_hit_is_another_file(shop: Asked, mode: str) -> None:
    """QU-2: each with its best passage, and the same answer every time."""
    hits = shop.hits("put an item into the cart", mode, files=True)
    assert hits[0].path == "shop/cart.py"
    assert len({hit.path for hit in hits}) == len(hits) >= 3
    assert all(hit.chunks >= 1 and hit.snippet and hit.layers for hit in hits)
    lines = FILES["shop/cart.py"].split("\n")
    assert hits[0].snippet.split("\n")[0] == lines[hits[0].snippet_line - 1]
    assert shop.hits("put an item into the cart", mode, files=True) == hits


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
        first = shop.hits("ShoppingCart", mode, files=True)[0]
        assert (first.path, first.symbol) == ("shop/cart.py", "ShoppingCart"), mode
        assert "symbol" in first.layers


def test_filters_alone_list_their_files(shop: Asked) -> None:
    assert shop.paths("path:shop/", "lexical", files=True) == ["shop/cart.py", "shop/payment.py"]


def test_notes_listed_by_metadata_are_files_already(shop: Asked) -> None:
    assert shop.paths("", files=True, tags=("cuda",)) == shop.paths("", tags=("cuda",)) == ["notes/cuda.md"]


def test_the_limit_counts_files(shop: Asked) -> None:
    found = shop("cart", files=True, limit=2).result
    every = shop("cart", files=True, limit=50).result
    assert len(found.hits) == 2
    assert found.left_out == len(every.hits) - 2 > 0
    assert every.left_out == 0
    assert every.hits[:2] == found.hits


def test_passages_are_answered_as_before(shop: Asked) -> None:
    assert all(hit.chunks == 0 and "chunks" not in hit.to_json() for hit in shop.hits("cart"))


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in FILE_MODES])
def test_other_modes_do_not_rank_files(shop: Asked, mode: str) -> None:
    with pytest.raises(UsageError, match="does not rank whole files"):
        shop("cart", mode, files=True)


def test_without_vectors_meaning_is_a_named_error_and_hybrid_says_so(make: Ask) -> None:
    asked = make({"a.py": "def cart():\n    pass\n", ".gitindex.toml": '[embedding]\nprovider = "none"\n'})
    with pytest.raises(NoVectors):
        asked("cart", "semantic", files=True)
    found = asked("cart", "hybrid", files=True).result
    assert [hit.path for hit in found.hits] == ["a.py"]
    assert "no vectors" in found.notes[0]


# -- as people and programs meet it -------------------------------------------------------------------


@pytest.fixture
def search(shop: Asked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GITINDEX_HOME", str(shop.codebase.home))
    return lambda *arguments: cli("search", "--path", str(shop.repo.root), "--files", *arguments)


def test_text_shows_place_chunks_and_truth(search) -> None:
    """UI-1, QU-6: the line of the three truths is there as for passages."""
    ran = search("charge", "the", "credit", "card")
    assert ran.out.startswith("shop/payment.py:")
    assert " chunk" in ran.out.split("\n")[0]
    assert "def charge_card" in ran.out
    assert "built here" in ran.out.strip().split("\n")[-1]


def test_json_has_the_documented_fields(search) -> None:
    """UI-1."""
    answer = search("--json", "cart", "--limit", "2").json
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
    ran = search("cart", "--mode", "regex", "--json")
    assert (ran.code, ran.json["status"]) == (2, "error")
