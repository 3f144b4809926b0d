"""Sorted tables of a batch: two packed keys must order rows as seven columns would."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gitindex.semantic.document_tables import SymbolNumbering, drop_repeated_rows, sort_rows

small = st.integers(0, 3)
ROWS = st.lists(
    st.builds(
        lambda owner, number, line, column, height, end_column, flags: (
            *(owner, number, line + 1, column + 1),
            *(line + 1 + height, end_column + 1, flags),
        ),
        *(small for _ in range(7)),
    ),
    max_size=20,
)


@given(ROWS)
def test_rows_are_sorted_by_document_start_end_symbol_and_flags(rows):
    table = np.array(rows, dtype=np.int32).reshape(-1, 7)
    order = sort_rows(table)
    assert sorted(order.tolist()) == list(range(len(rows)))

    def key(row):
        owner, number, line, column, end_line, end_column, flags = row
        return owner, line, column, end_line, end_column, number, flags

    assert [tuple(row) for row in table[order].tolist()] == sorted(rows, key=key)
    unique = drop_repeated_rows(table[order])
    assert [tuple(row) for row in unique.tolist()] == sorted(set(rows), key=key)


def test_symbols_are_numbered_per_document_globals_first():
    hashes = np.array([10, 20, 30], dtype=np.int64)
    table = SimpleNamespace(
        sorted_hashes=hashes, rank=np.array([2, 0, 1])
    )  # interned 0 has hash 30, 1 has 10
    owner = np.array([0, 0, 0, 1, 1])
    ids = np.array([0, -2, 1, -3, 0], dtype=np.int32)
    numbering = SymbolNumbering(table, owner, ids, 2)
    assert numbering.index.tolist() == [1, 2, 0, 1, 0]
    first, second = numbering.symbols_of(0), numbering.symbols_of(1)
    assert (first.hashes.tolist(), first.local_ids.tolist()) == ([10, 30], [-2])
    assert (second.hashes.tolist(), second.local_ids.tolist()) == ([30], [-3])
