"""`model.frozen`: as a frozen dataclass in everything but its cost (UI-3)."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, fields, replace
from dataclasses import field as real_field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitindex.model.frozen import field, frozen


@frozen
class Inner:
    """Named by a number."""

    number: int = 0


@frozen
class Thing:
    """One of each kind of field."""

    name: str
    many: tuple[int, ...] = ()
    inner: Inner = field(default_factory=Inner)
    secret: str = field(default="", repr=False)
    told: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def loud(self) -> str:
        return self.name.upper()


@dataclass(frozen=True)
class Real:
    name: str
    many: tuple[int, ...] = ()
    inner: Inner = real_field(default_factory=Inner)
    secret: str = real_field(default="", repr=False)
    told: Mapping[str, int] = real_field(default_factory=dict, compare=False)


def test_positions_names_and_defaults():
    """UI-3: made as a dataclass is made."""
    assert Thing("a", (1,), inner=Inner(2)) == Thing(name="a", many=(1,), inner=Inner(number=2))
    assert Thing("a").inner == Inner(0)
    assert Thing("a").loud == "A"
    assert Thing("a").told is not Thing("a").told, "a factory makes one each"


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), (("a",), {"name": "b"}), (("a",), {"other": 1}), (("a", (), Inner(), "", {}, 1), {})],
    ids=["missing", "twice", "unknown", "too many"],
)
def test_what_a_dataclass_refuses_is_refused(given: tuple[object, ...], named: dict[str, object]):
    """SN-2: a malformed manifest is noticed by the constructor's TypeError."""
    for kind in (Thing, Real):
        with pytest.raises(TypeError):
            kind(*given, **named)


def test_frozen():
    thing = Thing("a")
    with pytest.raises(FrozenInstanceError):
        thing.name = "b"
    with pytest.raises(FrozenInstanceError):
        thing.other = "b"
    with pytest.raises(FrozenInstanceError):
        del thing.name
    assert thing == Thing("a")


texts = st.text(max_size=3)
values = st.tuples(
    texts,
    st.lists(st.integers(0, 2), max_size=2).map(tuple),
    texts,
    st.dictionaries(texts, st.integers(), max_size=1),
)


@given(values, values)
def test_equality_hash_and_text_are_those_of_a_dataclass(first: tuple, second: tuple):
    """UI-3: nobody can tell, whatever the values."""
    mine, other = (Thing(a, b, Inner(1), c, d) for a, b, c, d in (first, second))
    real, real_other = (Real(a, b, Inner(1), c, d) for a, b, c, d in (first, second))
    assert (mine == other) is (real == real_other)
    assert (hash(mine) == hash(other)) is (hash(real) == hash(real_other))
    assert repr(mine) == repr(real).replace("Real", "Thing", 1)
    assert asdict(mine) == asdict(real)
    assert [one.name for one in fields(mine)] == [one.name for one in fields(real)]


def test_other_types_are_never_equal():
    assert Thing("a") != Real("a")
    assert Inner(1) != 1
    assert "hush" not in repr(Thing("a", secret="hush"))


def test_replaced_copied_and_sent_to_another_process():
    """UI-3: workers receive settings."""
    thing = Thing("a", (1, 2), Inner(3), "s", {"x": 1})
    assert replace(thing, name="b") == Thing("b", (1, 2), Inner(3), "s")
    assert asdict(thing)["inner"] == {"number": 3}
    for twin in (pickle.loads(pickle.dumps(thing)), copy.copy(thing), copy.deepcopy(thing)):
        assert twin == thing
        assert twin.told == thing.told
    match thing:
        case Thing(name, many):
            assert (name, many) == ("a", (1, 2))
