"""Scores of chunks and lists of passages as pure functions (QU-1, QU-2)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitindex.search.candidate import RetrievedChunk, ScoredChunk
from gitindex.search.chunkscore import ChunkEvidence, score_chunks
from gitindex.search.filekind import file_kind
from gitindex.search.parse import parse
from gitindex.search.ranking import Ranking, limit_per_file, name_layers
from gitindex.search.retrieve import Retrieved
from gitindex.search.snippet import excerpt, excerpt_around
from gitindex.search.weights import DEFAULT_WEIGHTS, PASSAGE_WEIGHTS


def chunk(path: str, ordinal: int = 1, symbol: str = "", kind: str = "text") -> RetrievedChunk:
    return RetrievedChunk(path, ordinal, kind, "python", 1, 9, symbol, "function" if symbol else "", "text")


def first(query: str, *found: ChunkEvidence) -> str:
    """The best of the passages."""
    return Ranking(Retrieved(list(found)), parse(query), PASSAGE_WEIGHTS).rank_passages(3)[0].candidate.path


def scores(query: str, *found: ChunkEvidence) -> list[float]:
    return score_chunks(found, parse(query), DEFAULT_WEIGHTS)


def test_the_definition_of_the_name_asked_for_comes_first() -> None:
    uses = ChunkEvidence(chunk("a.py", 1, "caller"), 10.0)
    defines = ChunkEvidence(chunk("b.py", 1, "Cart.add_item"), 1.0, defines=1.0)
    assert first("add_item", uses, defines) == "b.py"
    assert first("Cart.add_item", uses, defines) == "b.py"


def test_code_comes_before_equal_tests_unless_tests_are_asked_for() -> None:
    code, test = ChunkEvidence(chunk("cart.py"), 5.0), ChunkEvidence(chunk("tests/test_x.py"), 5.2)
    assert first("price of the goods", test, code) == "cart.py"
    assert first("tests for price of the goods", test, code) == "tests/test_x.py"


def test_the_head_of_a_file_steps_back() -> None:
    head = ChunkEvidence(chunk("a.py", 0, kind="anchor"), 5.0)
    assert first("some words", head, ChunkEvidence(chunk("b.py"), 4.0)) == "b.py"


def test_kinds_of_files() -> None:
    kinds = {
        "a/b.py": "code", "tests/x.py": "test", "a/b_test.go": "test", "docs/x.py": "doc", "README.md": "doc",
        "vendor/x/y.go": "vendored", "a_pb2.py": "generated", "poetry.lock": "generated", "x/__init__.py": "package",
        "x.pyi": "stub", "examples/run.py": "example", "a.yaml": "config", "latest.py": "code",
    }  # fmt: skip
    assert {path: file_kind(path) for path in kinds} == kinds


def test_one_file_does_not_crowd_out_the_others() -> None:
    items = [ScoredChunk(chunk("a.py", at), 1.0, ()) for at in range(5)] + [
        ScoredChunk(chunk("b.py"), 0.1, ())
    ]
    assert [item.candidate.path for item in limit_per_file(items, 2)] == [
        "a.py",
        "a.py",
        "b.py",
        "a.py",
        "a.py",
        "a.py",
    ]


def test_layers_say_who_found_a_chunk() -> None:
    assert name_layers([ChunkEvidence(chunk("a.py"), 4.0, 0.9)]) == ("lexical", "dense")
    assert name_layers([ChunkEvidence(chunk("a.py"), 0.0, 0.5, 1.0)]) == ("dense", "symbol")
    assert name_layers([ChunkEvidence(chunk("a.py"))]) == ()


def test_the_best_chunk_has_a_score_of_one() -> None:
    found = [ChunkEvidence(chunk("a.py"), 3.0), ChunkEvidence(chunk("b.py"), 1.0)]
    assert scores("some words", *found)[0] == 1.0
    assert scores("some words", ChunkEvidence(chunk("a.py"), 0.0, 0.3)) == [1.0]
    assert scores("some words", ChunkEvidence(chunk("a.py"))) == [1.0]
    assert scores("some words") == []


def test_a_name_is_spelled_and_a_sentence_meant() -> None:
    """QU-1: the same two chunks, one near in words and one in meaning, swap places with what is asked."""
    spelled, meant = ChunkEvidence(chunk("spelled.py"), 12.0, 0.1), ChunkEvidence(chunk("meant.py"), 0.0, 0.6)
    assert first("add_item", spelled, meant) == "spelled.py"
    assert first("eight words that tell what somebody might want", spelled, meant) == "meant.py"


def test_rarer_words_outweigh_a_vague_likeness() -> None:
    """QU-2: scores are not scaled to their own best, so a guess of one retriever does not beat the other's find."""
    asked = "six words that tell something here"
    by_words = ChunkEvidence(chunk("find.py"), 20.0, 0.2), ChunkEvidence(chunk("guess.py"), 2.0, 0.3)
    by_sense = ChunkEvidence(chunk("find.py"), 0.0, 0.7), ChunkEvidence(chunk("guess.py"), 4.0, 0.3)
    assert first(asked, *by_words) == first(asked, *by_sense) == "find.py"


def test_vectors_that_find_nothing_near_leave_the_order_to_words() -> None:
    """QU-2: the same lead in both scores, once with a near chunk and once with none."""

    def best(nearest: float) -> str:
        spelled = ChunkEvidence(chunk("spelled.py"), 12.0, nearest - 0.1)
        return first(
            "six words that tell something here", spelled, ChunkEvidence(chunk("meant.py"), 8.0, nearest)
        )

    assert best(0.9) == "meant.py"
    assert best(0.2) == "spelled.py"


def test_tiny_chunks_step_back() -> None:
    tiny = ChunkEvidence(chunk("a.py")._replace(end_line=2), 5.0)
    assert first("some words", tiny, ChunkEvidence(chunk("b.py"), 4.5)) == "b.py"


def test_the_name_of_a_test_is_no_answer_unless_tests_are_asked_for() -> None:
    code = ChunkEvidence(chunk("cart.py", 1, "Cart.add"), 4.0)
    test = ChunkEvidence(chunk("tests/test_cart.py", 1, "test_add_item_twice"), 5.0)
    assert first("add an item twice", code, test) == "cart.py"
    assert first("test that adds an item twice", code, test) == "tests/test_cart.py"


def test_a_sentence_prefers_the_callable_that_it_names() -> None:
    named, other = chunk("a.py", 1, "Cart.add_item"), chunk("b.py", 1, "Cart.total")
    thing = chunk("c.py", 1, "Item")._replace(symbol_kind="class")
    sentence = "add an item to the shopping cart"
    assert first(sentence, *(ChunkEvidence(item, 5.0) for item in (other, thing, named))) == "a.py"
    assert first(sentence, *(ChunkEvidence(item, 5.0) for item in (thing, other))) == "b.py"


def test_snippets_are_the_matching_lines() -> None:
    text = "\n".join(["nothing"] * 20 + ["def charge_card():", "    pay"] + ["nothing"] * 20)
    cut = excerpt(text, 100, ["charge", "pay"], 4)
    assert "charge_card" in cut.text
    assert "pay" in cut.text
    assert cut.text.split("\n")[0] == text.split("\n")[cut.start_line - 100]
    assert cut.end_line - cut.start_line == 3
    assert "charge_card" in excerpt_around(text, 100, 120, 3).text


@given(st.text(max_size=300), st.integers(1, 5))
def test_snippets_are_bounded(text: str, most: int) -> None:
    cut = excerpt(text, 1, ["a"], most)
    assert cut.text.count("\n") < most
    assert all(len(line) <= 240 for line in cut.text.split("\n"))
