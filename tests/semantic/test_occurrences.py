"""SE-7: an occurrence is read the same whatever shape its message has, regular or not."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.scip import schema
from gitindex.scip.ranges import Ranges
from gitindex.semantic.interning import Interner
from gitindex.semantic.occurrences import OccurrenceColumns, OccurrenceReader

small = st.integers(0, 300)
spans = st.one_of(
    st.tuples(small, small, small),
    st.tuples(small, small, small, small),
    st.tuples(st.integers(2**14, 2**22), small, st.integers(0, 2**15)),
)
texts = st.one_of(
    st.sampled_from(["local 1", "local 2"]),
    st.integers(1, 400).map(lambda size: "s m p v " + "n" * size + "#"),
)


@st.composite
def messages(draw) -> tuple[bytes, tuple]:
    """The bytes of an occurrence with its fields in any order, and what it means."""
    symbol, roles = draw(texts), draw(st.sampled_from([0, 1, 8, 9, 65]))
    span, around = draw(spans), draw(st.none() | spans)
    parts = [_range("range", span, draw(st.booleans())), _field(symbol=symbol)]
    if roles:
        parts.append(_field(symbol_roles=roles))
    if around is not None:
        parts.append(_range("enclosing_range", around, draw(st.booleans())))
    if draw(st.booleans()):
        parts.append(b"\x28\x05")  # syntax_kind
    if draw(st.booleans()):
        parts = draw(st.permutations(parts))
    enclosing = _four(around) if around is not None and roles & 1 else None
    return b"".join(parts), (symbol, roles, _four(span), enclosing)


def _field(**value) -> bytes:
    return schema.plain_messages().Occurrence(**value).SerializeToString()


def _range(name: str, span: tuple[int, ...], typed: bool) -> bytes:
    if not typed:
        return _field(**{name: span})
    one, many = schema.plain_messages().SingleLine, schema.plain_messages().MultiLine
    if len(span) == 3:
        return _field(**{f"single_line_{name}": one(line=span[0], start=span[1], end=span[2])})
    message = many(start_line=span[0], start=span[1], end_line=span[2], end=span[3])
    return _field(**{f"multi_line_{name}": message})


def _four(span: tuple[int, ...]) -> tuple[int, ...]:
    return span if len(span) == 4 else (span[0], span[1], span[0], span[2])


def read(raw: list[bytes]) -> tuple[Interner, OccurrenceColumns]:
    interner = Interner()
    return interner, OccurrenceReader(interner).read(raw)


def rows(ranges: Ranges) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in ranges), strict=True))


@settings(deadline=None, max_examples=300)
@given(st.lists(messages(), max_size=12))
def test_every_shape_is_read_the_same(examples):
    interner, columns = read([raw for raw, _ in examples])
    meant = [value for _, value in examples]
    assert columns.ids.tolist() == [interner.ids[symbol.encode()] for symbol, *_ in meant]
    assert columns.roles.tolist() == [roles for _, roles, *_ in meant]
    assert rows(columns.ranges) == [span for _, _, span, _ in meant]
    assert columns.defined.tolist() == [
        position for position, (_, roles, *_) in enumerate(meant) if roles & 1
    ]
    around = [meant[position][3] for position in columns.defined.tolist()]
    enclosing_rows = [
        row if is_there else None
        for row, is_there in zip(rows(columns.enclosing), columns.has_enclosing.tolist(), strict=True)
    ]
    # A typed range of zeros has no bytes: it cannot be told from none.
    assert enclosing_rows == [
        row if row != (0, 0, 0, 0) else enclosing_rows[position] for position, row in enumerate(around)
    ]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.binary(min_size=3, max_size=40), max_size=12))
def test_garbage_is_dropped_not_raised(junk):
    _, columns = read(junk)
    assert len(columns.ids) == len(columns.ranges.line) == len(junk)


def test_integers_that_are_not_packed():
    raw = b"\x08\x02\x08\x03\x08\x07" + _field(symbol="s m p v n#", symbol_roles=1)
    _, columns = read([raw])
    assert rows(columns.ranges) == [(2, 3, 2, 7)]
