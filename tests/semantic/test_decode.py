"""SE-7: what a SCIP file says becomes rows: normalised, weighed against the text, nothing hostile, nothing
lost.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.scip import schema
from gitindex.scip.fact_postings import DEFINITION_COLUMNS
from gitindex.scip.reader import IndexFile
from gitindex.scip.symbol_grammar import hash64, parse_last_descriptor
from gitindex.semantic import describe, firstpass
from gitindex.semantic.agreement import Aliases, agrees_anywhere, is_renamed_in_file
from gitindex.semantic.decode import DEMOTED, EXACT, QUALITY_SHIFT, REPAIRED, DecodedIndex
from tests.scip import writer

P = "scip-python python demo _ "


def decode(tmp_path: Path, data: bytes, files: dict[str, str | bytes], **options):
    path = tmp_path / "i.scip"
    path.write_bytes(data)
    blobs = {key: text.encode() if isinstance(text, str) else text for key, text in files.items()}
    with IndexFile(path) as file:
        decoded = DecodedIndex(file, blobs.get, **options)
        return decoded, {document.path: document for document in decoded.documents()}


def shown(decoded, document) -> list[tuple]:
    """(symbol or local number, line, column, quality) of every occurrence."""
    strings = dict(decoded.symbols())
    out = []
    for symbol, line, column, _, _, flags in document.occurrences.tolist():
        is_global = symbol < len(document.hashes)
        name = strings[int(document.hashes[symbol])].decode() if is_global else symbol - len(document.hashes)
        out.append((name, line, column, flags >> QUALITY_SHIFT))
    return out


def test_definitions_hover_and_relationships(tmp_path):
    base, thing = f"{P}`m`/Base#", f"{P}`m`/Thing#"
    text = "class Base: pass\nclass Thing(Base):\n    pass\n"
    data = writer.index(
        writer.document(
            "m.py",
            [
                writer.occurrence(base, (0, 6, 10), 1, enclosing=(0, 0, 16)),
                writer.occurrence(thing, (1, 6, 11), 1, enclosing=(1, 0, 2, 8)),
                writer.occurrence(base, (1, 12, 16), 8),
            ],
            [
                writer.information(base, "```python\nclass Base:\n```", "The base."),
                writer.information(thing, kind=7, links=[(base, {"is_implementation": True})]),
            ],
        ),
        tool="scip-python",
    )
    decoded, documents = decode(tmp_path, data, {"m.py": text})
    document = documents["m.py"]
    assert shown(decoded, document) == [(base, 1, 7, EXACT), (thing, 2, 7, EXACT), (base, 2, 13, EXACT)]
    rows = document.definitions.tolist()
    assert [row[1:9] for row in rows] == [[1, 7, 1, 11, 1, 1, 1, 17], [2, 7, 2, 12, 2, 1, 3, 9]]
    infos = describe.parse_descriptions(document.hover)
    description = describe.describe(base.encode(), infos[rows[0][DEFINITION_COLUMNS.description]])
    assert description == ("class", "Base", "class Base:", "The base.")
    assert document.relationships == [
        (hash64(thing.encode()), hash64(base.encode()), describe.IMPLEMENTATION)
    ]
    assert decoded.defines(hash64(base.encode()))


def test_a_contradicted_reference_is_repaired_or_demoted(tmp_path):
    """`models.CharField` said to be `DateTimeField#`: the sibling is meant; without a sibling it is only
    demoted.
    """
    date, char = f"{P}`f`/DateTimeField#", f"{P}`f`/CharField#"
    files = {"f.py": "DateTimeField CharField\n", "u.py": "CharField TextField DateTimeField\n"}
    data = writer.index(
        writer.document(
            "f.py", [writer.occurrence(date, (0, 0, 13), 1), writer.occurrence(char, (0, 14, 23), 1)]
        ),
        writer.document(
            "u.py", [writer.occurrence(date, (0, a, b), 8) for a, b in [(0, 9), (10, 19), (20, 33)]]
        ),
        tool="scip-python",
    )
    decoded, documents = decode(tmp_path, data, files)
    assert shown(decoded, documents["u.py"]) == [
        (char, 1, 1, REPAIRED),
        (date, 1, 11, DEMOTED),
        (date, 1, 21, EXACT),
    ]
    assert (decoded.summary.demoted, decoded.summary.repaired) == (1, 1)


AGREE = [
    (b"Foo", "p/Foo#", b""),
    (b"Foo", "p/Foo#__init__().", b""),
    (b"Foo", "p/Foo#`<constructor>`().", b""),
    (b"F", "p/Foo#", b"from p import Foo as F\n"),
    (b"F", "p/Foo#__init__().", b"from p import Foo as F\n"),
    (b"Foo as F", "p/Foo#", b""),
    (b"self", "p/Foo#", b""),
    (b"os.path", "`os.path`/__init__:", b""),
    (b".compat", "`pkg.compat`/__init__:", b""),
    (b"np", "numpy/__init__:", b"import numpy as np\n"),
    (b"'a-b'", "p/`a-b`.", b""),
    (b"size", "p/Foo#`<get>size`().", b""),
    (b"name", "p/Foo#getName().", b""),
    (b"foo", "p/foo0:", b""),
    (b"f1", "p/f10:", b""),
    (b'"^S"', 'p/`"^S"3`:', b""),
    (b'"zod/v4"', "`index.d.cts`/", b""),
    (b"z", "src/`external.ts`/", b'import {\n  z,\n} from "zod";'),
    (b"'./util'", "src/`util.ts`/", b""),
    (b"+", "p/Foo#`operator+`().", b""),
    (b"b", "p/a.", b"const { a: b } = x;"),
    (b"React", "p/`index.d.ts`/export.", b"import React from 'react'"),
]
DISAGREE = [
    (b"CharField", "p/DateTimeField#", b"x = models.CharField()\n"),
    (b"join", "posixpath/abspath().", b"os.path.join(a)\n"),
    (b"F", "p/Foo#", b"from p import Bar as F\n"),
    (b"b", "p/a.", b"{b: a}"),
    (b"z", "src/`external.ts`/", b"let z = 1"),
    (b"f1", "p/f1x:", b""),
]


def agrees(text: bytes, symbol: bytes, source: bytes) -> bool:
    last = parse_last_descriptor(symbol)
    return agrees_anywhere(text, symbol, last) or is_renamed_in_file(text, symbol, last, Aliases(source))


@pytest.mark.parametrize(("text", "symbol", "source"), AGREE)
def test_what_may_differ_honestly(text, symbol, source):
    assert agrees(text, f"s m p v {symbol}".encode(), source)


@pytest.mark.parametrize(("text", "symbol", "source"), DISAGREE)
def test_what_is_a_contradiction(text, symbol, source):
    assert not agrees(text, f"s m p v {symbol}".encode(), source)


def test_own_versions_go_and_foreign_versions_stay(tmp_path):
    def own(version):
        return f"scip-typescript npm zod {version} src/`a.ts`/x."

    other = "scip-typescript npm react 18.2.0 `index.d.ts`/y."
    found = []
    for version in ("4.0.0", "4.0.1"):
        occurrences = [writer.occurrence(own(version), (0, 0, 1), 1), writer.occurrence(other, (0, 2, 3), 8)]
        data = writer.index(writer.document("src/a.ts", occurrences), tool="scip-typescript")
        decoded, _ = decode(tmp_path, data, {"src/a.ts": "x y"})
        found.append(dict(decoded.symbols()))
    assert found[0] == found[1]
    assert sorted(found[0].values()) == [other.encode(), own("_").encode()]


def test_only_regular_tracked_files_inside(tmp_path):
    paths = ["ok.x", "/etc/passwd", "../../up.x", "sub/../../../up.x", "link.x", "", "sub/../ok2.x"]
    data = writer.index(*(writer.document(p, [writer.occurrence(f"{P}a#", (0, 0, 1), 1)]) for p in paths))
    decoded, documents = decode(tmp_path, data, {"ok.x": "a", "ok2.x": "a"})
    assert sorted(documents) == ["ok.x", "ok2.x"]
    assert sorted(reason for _, reason in decoded.summary.rejected) == [
        *["absolute path"] * 2,
        *["leaves the repository"] * 2,
        "not a tracked file",
    ]


def test_paths_are_relative_to_the_prefix(tmp_path):
    data = writer.index(
        writer.document("a.x", [writer.occurrence(f"{P}a#", (0, 0, 1), 1)]),
        writer.document("../lib/b.x", [writer.occurrence(f"{P}b#", (0, 0, 1), 1)]),
    )
    _, documents = decode(tmp_path, data, {"app/a.x": "a", "lib/b.x": "b", "a.x": "no"}, prefix="app")
    assert sorted(documents) == ["app/a.x", "lib/b.x"]


def test_duplicate_documents_are_merged(tmp_path):
    first = writer.document(
        "a.x", [writer.occurrence(f"{P}a#", (0, 0, 1), 1), writer.occurrence("local 1", (0, 2, 3), 1)]
    )
    second = writer.document(
        "./a.x", [writer.occurrence(f"{P}a#", (0, 0, 1), 1), writer.occurrence(f"{P}a#", (1, 0, 1), 8)]
    )
    decoded, documents = decode(tmp_path, writer.index(first, second), {"a.x": "a b\na"})
    assert shown(decoded, documents["a.x"]) == [(f"{P}a#", 1, 1, 0), (0, 1, 3, 0), (f"{P}a#", 2, 1, 0)]
    assert len(documents["a.x"].definitions) == 2
    assert decoded.summary.documents == 1


def test_unresolved_references_are_counted(tmp_path):
    defined = f"{P}k#"
    occurrences = [
        writer.occurrence(defined, (0, 0, 1), 1),
        writer.occurrence(f"{P}missing#", (0, 2, 9), 8),
        writer.occurrence("local 1", (0, 10, 11), 8),
        writer.occurrence("local 2", (0, 12, 13), 1),
        writer.occurrence("local 2", (0, 14, 15), 8),
        writer.occurrence("scip-python python stdlib 3 os/", (0, 16, 18), 8),
    ]
    data = writer.index(writer.document("a.py", occurrences))
    files = {"a.py": "k missing l m m os"}
    decoded, documents = decode(tmp_path, data, files)
    assert (documents["a.py"].unresolved, decoded.summary.unresolved) == (2, 2)
    decoded, _ = decode(tmp_path, data, files, store_defines=lambda h: h == hash64(f"{P}missing#".encode()))
    assert decoded.summary.unresolved == 1


def test_ranges_outside_the_text_are_dropped_and_counted(tmp_path):
    spans = [(0, 0, 1), (0, 0, 9), (5, 0, 1), (0, 3, 0, 1)]
    data = writer.index(writer.document("a.x", [writer.occurrence(f"{P}a#", span, 8) for span in spans]))
    decoded, documents = decode(tmp_path, data, {"a.x": "a b"})
    assert len(documents["a.x"].occurrences) == 1
    assert decoded.summary.out_of_range == 3


def test_truncated_and_damaged_files_say_so(tmp_path):
    whole = writer.index(
        writer.document("a.x", [writer.occurrence(f"{P}a#", (0, 0, 1), 1)]),
        writer.document("b.x", [writer.occurrence(f"{P}a#", (0, 0, 1), 8)]),
    )
    decoded, documents = decode(tmp_path, whole[:-3], {"a.x": "a", "b.x": "a"})
    assert decoded.summary.truncated
    assert list(documents) == ["a.x"]
    decoded, documents = decode(tmp_path, whole + b"\x12\x03\x12\x09\x01", {"a.x": "a", "b.x": "a"})
    assert decoded.summary.damaged == 1
    assert sorted(documents) == ["a.x", "b.x"]


def test_ranges_spelled_as_separate_integers(tmp_path):
    """Unpacked repeated fields are valid protobuf, though nobody writes them today."""
    symbol = f"{P}bee#".encode()
    occurrence = b"\x08\x00\x08\x02\x08\x05" + b"\x12" + bytes([len(symbol)]) + symbol + b"\x18\x01"
    document = b"\x0a\x03a.x" + b"\x12" + bytes([len(occurrence)]) + occurrence
    data = writer.index() + b"\x12" + bytes([len(document)]) + document
    decoded, documents = decode(tmp_path, data, {"a.x": "a bee"})
    assert shown(decoded, documents["a.x"]) == [(f"{P}bee#", 1, 3, EXACT)]


words = st.sampled_from(["alpha", "beta", "gamma", "é", "漢字", "😀x"])
texts = st.lists(st.lists(words, max_size=4).map(" ".join), max_size=4).map("\n".join)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["a.x", "b.x", "c/d.x"]), texts, max_size=3),
    st.booleans(),
    st.sampled_from([schema.UTF8, schema.UTF16, schema.UTF32]),
    st.integers(1, 5),
)
def test_an_independent_reading_agrees(tmp_path_factory, files, typed, encoding, batch):
    """Every word becomes one occurrence at its place, whatever the encoding, range form and batch size."""
    units = {
        schema.UTF8: lambda s: len(s.encode()),
        schema.UTF16: lambda s: len(s.encode("utf-16-le")) // 2,
        schema.UTF32: len,
    }[encoding]
    documents, expected = [], []
    for path, text in files.items():
        found = []
        for row, line in enumerate(text.split("\n")):
            column = 0
            for word in line.split(" ") if line else []:
                span = (row, units(line[:column]), units(line[: column + len(word)]))
                found.append(writer.occurrence(f"{P}`{word}`#", span, 8, typed=typed))
                expected.append((path, f"{P}`{word}`#", row + 1, column + 1, EXACT))
                column += len(word) + 1
        documents.append(writer.document(path, found, encoding=encoding))
    before, firstpass.BATCH_OCCURRENCES = firstpass.BATCH_OCCURRENCES, batch
    try:
        decoded, out = decode(tmp_path_factory.mktemp("d"), writer.index(*documents), files)
    finally:
        firstpass.BATCH_OCCURRENCES = before
    read = [(path, *row) for path, document in out.items() for row in shown(decoded, document)]
    assert sorted(read) == sorted(expected)
