"""Storage forms give back what was put in, for any facts (SE-7)."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.scip import blocks, fact_postings, packing
from gitindex.scip.symbol_strings import NAMES_PER_BLOCK, pack_names, unpack_names

numbers = st.integers(0, 2**34)
lines = st.integers(1, 50_000)
columns = st.integers(1, 3_000)
flags = st.one_of(st.just(8), st.integers(0, 511))


@settings(deadline=None)
@given(st.lists(numbers))
def test_varints(values):
    blob, ends = packing.encode_varints(np.array(values, dtype=np.int64))
    assert list(fact_postings.iter_varints(blob)) == values
    assert ends.tolist() == [
        len(packing.encode_varints(np.array(values[: n + 1]))[0]) for n in range(len(values))
    ]


rows = st.tuples(st.integers(0, 9), st.integers(0, 400), lines, columns, flags)


@settings(deadline=None)
@given(st.lists(rows, max_size=40), st.lists(st.integers(0, 2**30), min_size=10, max_size=10))
def test_postings_of_symbols(found, named):
    """Symbols without any occurrence included."""
    table = np.array(sorted(found), dtype=np.int64).reshape(-1, 5)
    blob, ends = packing.pack_symbols(np.array(named), *table.T)
    parts = [blob[start:stop] for start, stop in pairwise([0, *ends.tolist()])]
    assert [fact_postings.read_name_number(part) for part in parts] == named
    back = [
        (rank, *posting) for rank, part in enumerate(parts) for posting in fact_postings.unpack_symbol(part)
    ]
    assert back == sorted(found)


keys = st.integers(-(2**63), 2**63 - 1)


@settings(deadline=None)
@given(st.dictionaries(keys, st.binary(max_size=9) | st.just(bytes(40_000)), max_size=60), keys)
def test_values_in_blocks(values, other):
    ordered = sorted(values)
    ends = np.cumsum([len(values[key]) for key in ordered], dtype=np.int64)
    packed = dict(packing.pack_blocks(np.array(ordered, np.int64), b"".join(map(values.get, ordered)), ends))
    assert [item for block in packed.values() for item in blocks.items(block)] == sorted(values.items())
    for key in (*ordered, other):
        first = max((first for first in packed if first <= key), default=None)
        assert (None if first is None else blocks.find(packed[first], key)) == values.get(key)


@settings(deadline=None)
@given(st.dictionaries(keys, st.sets(st.integers(0, 2**30), min_size=1, max_size=5), max_size=80))
def test_lists_in_blocks(lists):
    pairs = np.array([(k, n) for k in sorted(lists) for n in sorted(lists[k])], np.int64).reshape(-1, 2)
    packed = [item for _, block in packing.pack_lists(*pairs.T) for item in blocks.items(block)]
    assert [(k, set(accumulate(fact_postings.iter_varints(blob)))) for k, blob in packed] == sorted(
        lists.items()
    )


occurrences = st.builds(
    lambda symbol, line, column, height, width, flag: (
        *(symbol, line, column, line + height),
        *((column + width if not height else width), flag),
    ),
    st.integers(0, 300),
    lines,
    columns,
    st.sampled_from([0, 0, 0, 2]),
    st.integers(0, 60),
    flags,
)


files = st.tuples(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
    st.integers(0, 200),
    st.lists(occurrences, max_size=12).map(lambda found: sorted(found, key=lambda row: row[1:3])),
)


@settings(deadline=None)
@given(st.lists(files, min_size=1, max_size=4))
def test_blobs_of_files(many):
    arrays = [
        (np.array(hashes, dtype=np.int64), count, np.array(found, np.int32).reshape(-1, 6))
        for hashes, count, found in many
    ]
    for (hashes, count, found), blob in zip(many, packing.pack_files(arrays), strict=True):
        opened = fact_postings.open_file(blob)
        assert (opened.hashes, opened.locals, opened.total) == (tuple(hashes), count, len(found))
        assert [tuple(row) for row in fact_postings.unpack_occurrences(opened)] == found


@st.composite
def definitions(draw):
    symbol, line, column = draw(st.integers(0, 99)), draw(st.integers(0, 999)), draw(st.integers(0, 99))
    end = (line + draw(st.integers(0, 3)), draw(st.integers(0, 99)))
    around = (0, 0, 0, 0)
    if line and draw(st.booleans()):
        start = draw(st.integers(1, line) | st.integers(line, line + 500))  # a file's range starts below it
        around = (start, draw(columns), max(start, end[0]) + draw(st.integers(0, 50)), draw(columns))
    return (symbol, line, column, *end, *around, draw(st.integers(-1, 50)))


@settings(deadline=None)
@given(st.lists(st.lists(definitions(), max_size=8), min_size=1, max_size=4))
def test_blobs_of_definitions(many):
    many = [sorted(found, key=lambda row: row[1:3]) for found in many]
    blobs = packing.pack_definitions([np.array(found, dtype=np.int32).reshape(-1, 10) for found in many])
    assert [list(fact_postings.unpack_definitions(blob)) for blob in blobs] == many


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.binary(max_size=20) | st.binary(min_size=300, max_size=400), max_size=NAMES_PER_BLOCK * 2 + 5)
)
def test_names(found):
    found = sorted(found)
    blocks = list(pack_names(found))
    assert [name for block in blocks for name in unpack_names(block)] == found
