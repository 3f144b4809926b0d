"""The symbol tables of a scip file: which symbols are stored, and where each occurs (SE-7)."""

from __future__ import annotations

import numpy as np

from gitindex.scip import blocks, fact_postings
from gitindex.scip.symbol_grammar import hash64
from gitindex.segment import scipsymbols
from gitindex.segment.scipsymbols import DocumentPositions, UsedSymbols
from tests.segment.scipfiles import columns_of, symbol, symbol_hash

NAMES = ["alpha", "beta", "gamma", "delta", "unused"]


def positions(file: int, names: list[str], rows: list[tuple[int, int, int, int]]) -> DocumentPositions:
    """Rows count the names; a document stores its hashes in ascending order."""
    hashes = sorted(map(symbol_hash, names))
    numbered = [(hashes.index(symbol_hash(names[number])), *rest) for number, *rest in rows]
    return DocumentPositions(file, np.array(hashes, np.int64), np.array(numbered, np.int32).reshape(-1, 4))


DOCUMENTS = [
    positions(1, ["alpha", "beta"], [(0, 1, 1, 1), (1, 2, 3, 8), (0, 4, 1, 8)]),
    positions(4, ["beta", "gamma"], [(0, 7, 2, 8), (1, 9, 9, 1)]),
]


def unpack(used: UsedSymbols) -> dict[int, list[fact_postings.Posting]]:
    return {
        value: list(fact_postings.unpack_symbol(packed))
        for _, block in used.pack_by_hash()
        for value, packed in blocks.items(block)
    }


def test_symbols_that_no_document_uses_are_left_out_unless_they_are_linked() -> None:
    used = UsedSymbols([columns_of(NAMES[:3]), columns_of(NAMES[2:])], DOCUMENTS, {symbol_hash("delta")})
    expected = ["alpha", "beta", "gamma", "delta"]
    assert used.texts == sorted(map(symbol, expected))
    assert used.hashes.tolist() == sorted(map(symbol_hash, expected))


def test_postings_are_ordered_by_document_and_position() -> None:
    used = UsedSymbols([columns_of(NAMES)], DOCUMENTS, {symbol_hash("delta")})
    assert unpack(used) == {
        symbol_hash("alpha"): [(1, 1, 1, 1), (1, 4, 1, 8)],
        symbol_hash("beta"): [(1, 2, 3, 8), (4, 7, 2, 8)],
        symbol_hash("gamma"): [(4, 9, 9, 1)],
        symbol_hash("delta"): [],
    }


def test_every_posting_list_names_its_text() -> None:
    used = UsedSymbols([columns_of(NAMES)], DOCUMENTS, ())
    for _, block in used.pack_by_hash():
        for value, packed in blocks.items(block):
            assert hash64(used.texts[fact_postings.read_name_number(packed)]) == value


def test_symbols_in_several_steps_give_the_same(monkeypatch) -> None:
    whole = unpack(UsedSymbols([columns_of(NAMES)], DOCUMENTS, ()))
    monkeypatch.setattr(scipsymbols, "_PIECE_SYMBOLS", 2)
    assert unpack(UsedSymbols([columns_of(NAMES)], DOCUMENTS, ())) == whole


def test_names_lead_to_all_symbols_that_have_them() -> None:
    other = b"scheme manager other 2.0 alpha()."
    columns = columns_of(["alpha", "beta"])
    both = scipsymbols.SymbolColumns(
        np.array([*columns.hashes, hash64(other)]),
        [*columns.texts, other],
        np.array([*columns.keys, hash64(b"alpha")]),
    )
    used = UsedSymbols([both], [], {hash64(other), symbol_hash("alpha"), symbol_hash("beta")})
    by_name = {key: packed for _, block in used.pack_by_name() for key, packed in blocks.items(block)}
    numbers = np.cumsum(list(fact_postings.iter_varints(by_name[hash64(b"alpha")])))
    assert {used.texts[number] for number in numbers} == {other, symbol("alpha")}
    assert list(used.pack_by_hash()) == []
