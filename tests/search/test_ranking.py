"""Fusion and ranking as pure functions (QU-1, QU-2)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitindex.search.candidate import Candidate, Scored
from gitindex.search.filekind import file_kind
from gitindex.search.fuse import fuse, weight_of
from gitindex.search.parse import parse
from gitindex.search.rank import limit_per_file, rank
from gitindex.search.snippet import around, excerpt


def chunk(path: str, ordinal: int = 1, symbol: str = "", kind: str = "text") -> Candidate:
    return Candidate(path, ordinal, kind, "python", 1, 9, symbol, "function" if symbol else "", "text")


def best(query: str, *found: Candidate, scores: tuple[float, ...] = ()) -> Candidate:
    given = scores or (1.0,) * len(found)
    items = [Scored(item, score, ("lexical",)) for item, score in zip(found, given, strict=True)]
    return rank(items, parse(query))[0].candidate


def test_the_definition_of_the_name_asked_for_comes_first() -> None:
    uses, defines = chunk("a.py", 1, "caller"), chunk("b.py", 1, "Cart.add_item")
    assert best("add_item", uses, defines, scores=(1.0, 0.1)) == defines
    assert best("Cart.add_item", uses, defines, scores=(1.0, 0.1)) == defines


def test_code_comes_before_equal_tests_unless_tests_are_asked_for() -> None:
    code, test = chunk("cart.py"), chunk("tests/test_cart.py")
    assert best("price of the goods", test, code) == code
    assert best("tests for price of the goods", test, code, scores=(1.0, 0.95)) == test


def test_words_of_the_file_name_count() -> None:
    assert best("payment refund", chunk("shop/other.py"), chunk("shop/payment.py")).path == "shop/payment.py"


def test_kinds_of_files() -> None:
    kinds = {
        "a/b.py": "code", "tests/x.py": "test", "a/b_test.go": "test", "docs/x.py": "doc", "README.md": "doc",
        "vendor/x/y.go": "vendored", "a_pb2.py": "generated", "poetry.lock": "generated", "x/__init__.py": "package",
        "x.pyi": "stub", "examples/run.py": "example", "a.yaml": "config", "latest.py": "code",
    }  # fmt: skip
    assert {path: file_kind(path) for path in kinds} == kinds


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.floats(0, 1)), max_size=30), st.randoms()
)
def test_order_depends_on_the_candidates_alone(found: list[tuple[str, int, float]], random: object) -> None:
    unique = {(path, ordinal): score for path, ordinal, score in found}
    items = [
        Scored(chunk(f"{path}.py", ordinal), score, ("lexical",)) for (path, ordinal), score in unique.items()
    ]
    shuffled = items[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert rank(items, parse("some words")) == rank(shuffled, parse("some words"))


def test_one_file_does_not_crowd_out_the_others() -> None:
    items = [Scored(chunk("a.py", at), 1.0, ()) for at in range(5)] + [Scored(chunk("b.py"), 0.1, ())]
    assert [item.candidate.path for item in limit_per_file(items, 2)] == [
        "a.py",
        "a.py",
        "b.py",
        "a.py",
        "a.py",
        "a.py",
    ]


def test_fusion_names_the_layers_and_keeps_scores_within_one() -> None:
    both, words, sense = chunk("both.py"), chunk("words.py"), chunk("sense.py")
    found = fuse(
        {item.key: item for item in (both, words, sense)},
        {both.key: 4.0, words.key: 2.0},
        {both.key: 0.9, sense.key: 0.5, words.key: 0.1},
        0.1,
        middle=0.1,
    )
    by_path = {item.candidate.path: item for item in found}
    assert by_path["both.py"].layers == ("lexical", "dense")
    assert by_path["sense.py"].layers == ("dense",)
    assert by_path["words.py"].layers == ("lexical",)
    assert all(0 <= item.score <= 1 for item in found)
    assert max(found, key=lambda item: item.score).candidate == both


def test_without_one_retriever_the_other_counts_whole() -> None:
    one = chunk("a.py")
    assert fuse({one.key: one}, {one.key: 3.0}, {}, 0.1)[0].score == 1.0
    assert fuse({one.key: one}, {}, {one.key: 0.3}, 0.1)[0].score == 1.0
    assert fuse({one.key: one}, {}, {}, 0.1)[0].score == 1.0
    assert fuse({}, {}, {}, 0.1) == []


def test_a_name_is_spelled_and_a_sentence_meant() -> None:
    """QU-1: the same two chunks, one near in words and one in meaning, swap places with what is asked."""
    spelled, meant = chunk("spelled.py"), chunk("meant.py")

    def first(terms: int, *, symbol: bool) -> str:
        weight = weight_of(terms, symbol=symbol)
        found = fuse(
            {item.key: item for item in (spelled, meant)},
            {spelled.key: 12.0},
            {spelled.key: 0.1, meant.key: 0.6},
            weight,
        )
        return max(found, key=lambda item: item.score).candidate.path

    assert first(2, symbol=True) == "spelled.py"
    assert first(8, symbol=False) == "meant.py"


def test_rarer_words_outweigh_a_vague_likeness() -> None:
    """QU-2: scores are not scaled to their own best, so a guess of one retriever does not beat the other's find."""
    find, guess = chunk("find.py"), chunk("guess.py")
    everyone = {item.key: item for item in (find, guess)}
    weight = weight_of(6, symbol=False)
    by_words = fuse(everyone, {find.key: 20.0, guess.key: 2.0}, {find.key: 0.2, guess.key: 0.3}, weight)
    by_sense = fuse(everyone, {guess.key: 4.0}, {find.key: 0.7, guess.key: 0.3}, weight)
    assert [max(found, key=lambda item: item.score).candidate for found in (by_words, by_sense)] == [
        find,
        find,
    ]


def test_vectors_that_find_nothing_near_leave_the_order_to_words() -> None:
    """QU-2: the same lead in both scores, once with a near chunk and once with none."""
    spelled, meant = chunk("spelled.py"), chunk("meant.py")
    everyone = {item.key: item for item in (spelled, meant)}
    weight = weight_of(6, symbol=False)

    def first(nearest: float) -> Candidate:
        dense = {spelled.key: nearest - 0.1, meant.key: nearest}
        found = fuse(everyone, {spelled.key: 12.0, meant.key: 8.0}, dense, weight)
        return max(found, key=lambda item: item.score).candidate

    assert first(0.6) == meant
    assert first(0.25) == spelled


def test_the_name_of_a_test_is_no_answer_unless_tests_are_asked_for() -> None:
    code, test = chunk("cart.py", 1, "Cart.add"), chunk("tests/test_cart.py", 1, "test_add_item_twice")
    assert best("add an item twice", code, test, scores=(0.8, 1.0)) == code
    assert best("test that adds an item twice", code, test, scores=(0.8, 1.0)) == test


def test_a_sentence_prefers_the_callable_that_it_names() -> None:
    named, other = chunk("a.py", 1, "Cart.add_item"), chunk("b.py", 1, "Cart.total")
    thing = chunk("c.py", 1, "Item")._replace(symbol_kind="class")
    assert best("add an item to the shopping cart", other, thing, named) == named
    assert best("add an item to the shopping cart", thing, other) == other


def test_snippets_are_the_matching_lines() -> None:
    text = "\n".join(["nothing"] * 20 + ["def charge_card():", "    pay"] + ["nothing"] * 20)
    cut = excerpt(text, 100, ["charge", "pay"], 4)
    assert "charge_card" in cut.text
    assert "pay" in cut.text
    assert cut.text.split("\n")[0] == text.split("\n")[cut.start_line - 100]
    assert cut.end_line - cut.start_line == 3
    assert "charge_card" in around(text, 100, 120, 3).text


@given(st.text(max_size=300), st.integers(1, 5))
def test_snippets_are_bounded(text: str, most: int) -> None:
    cut = excerpt(text, 1, ["a"], most)
    assert cut.text.count("\n") < most
    assert all(len(line) <= 240 for line in cut.text.split("\n"))
