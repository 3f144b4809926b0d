"""The grammar of symbols, whole (`parse`) and from the end (`tail`): they agree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.errors import ExactFactsError
from gitindex.scip import symbol_grammar
from gitindex.scip.symbol_grammar import Descriptor, LocalSymbol, Package, parse, parse_last_descriptor

FORMS = {
    "namespace": "{}/",
    "type": "{}#",
    "term": "{}.",
    "meta": "{}:",
    "macro": "{}!",
    "method": "{}(+1).",
    "type_parameter": "[{}]",
    "parameter": "({})",
}
names = st.text(min_size=1, max_size=12).filter(lambda s: s < "\ud800" or s.isprintable())
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
descriptors = st.lists(st.tuples(names, st.sampled_from(sorted(FORMS))), min_size=1, max_size=5)
fields = st.tuples(*[st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)] * 4).filter(
    lambda f: f[0] != "local" and not any(x.startswith(" ") or x.endswith(" ") for x in f)
)


def spell(package, parts) -> str:
    head = " ".join(part.replace(" ", "  ") for part in package)
    return (
        head
        + " "
        + "".join(FORMS[kind].format(symbol_grammar.quote(name.encode()).decode()) for name, kind in parts)
    )


@settings(deadline=None)
@given(fields, descriptors)
def test_parse_reads_back_what_was_spelled(package, parts):
    found = parse(spell(package, parts))
    assert found.package == Package(*("" if part == "." else part for part in package))
    assert [(d.name, d.suffix) for d in found.descriptors] == parts


@settings(deadline=None)
@given(fields, descriptors)
def test_tail_is_the_last_descriptor(package, parts):
    symbol = spell(package, parts).encode()
    last = parse_last_descriptor(symbol)
    assert last is not None
    assert (last.name.decode(), last.suffix) == parts[-1]
    assert symbol_grammar.parse_last_name(symbol) == last.name
    assert symbol[: last.start] == (spell(package, parts[:-1]).encode())


@settings(deadline=None)
@given(fields, descriptors)
def test_only_the_version_is_replaced(package, parts):
    changed = symbol_grammar.replace_version(spell(package, parts).encode()).decode()
    assert changed == spell((*package[:3], "_"), parts)


def test_examples():
    found = parse("scip-python python django _ `django.db.models`/Model#save().(force)")
    assert found.descriptors == (
        Descriptor("django.db.models", "namespace"),
        Descriptor("Model", "type"),
        Descriptor("save", "method"),
        Descriptor("force", "parameter"),
    )
    assert parse("local 12(d)") == LocalSymbol("12(d)")
    assert parse_last_descriptor(b"local 12") is None
    assert parse("s . . . a#").package == Package("s", "", "", "")


@pytest.mark.parametrize(
    "text", ["", "a b", "a b c d ", "a b c d name", "a b c d `open#", "a b c d (x", "a b c d #"]
)
def test_what_is_no_symbol_is_refused(text):
    with pytest.raises(ExactFactsError):
        parse(text)


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_tail_never_raises(junk):
    last = parse_last_descriptor(junk)
    if last:
        assert symbol_grammar.parse_last_name(junk) == last.name


@given(st.lists(st.binary(max_size=20)))
def test_hashes_of_many_are_those_of_each(some: list[bytes]):
    found = symbol_grammar.hash_all(some)
    assert [symbol_grammar.hash64(symbol) for symbol in some] == list(memoryview(found).cast("q"))
