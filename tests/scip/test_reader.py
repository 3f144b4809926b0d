"""SE-2, SE-7: a SCIP file is read document by document, and as far as it goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf.internal import api_implementation
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.errors import ExactFactsError
from gitindex.scip import schema
from gitindex.scip.reader import IndexFile, scan_parts
from tests.scip import writer

FILES = {f"src/f{n}.x": f"alpha beta{n}\ngamma alpha\n" for n in range(7)}


def test_runtime_is_compiled():
    assert api_implementation.Type() == "upb"
    assert schema.plain_messages() is schema.plain_messages()


def test_every_document_and_the_tool(tmp_path: Path):
    path = tmp_path / "i.scip"
    path.write_bytes(writer.simple_index(FILES, tool="scip-x"))
    with IndexFile(path) as file:
        assert [d.relative_path for d in file.documents()] == list(FILES)
        assert [d.relative_path for d in file.documents(schema.raw_messages())] == [f.encode() for f in FILES]
        assert file.tool().name == "scip-x"
        assert not file.truncated
        assert file.damaged == 0


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_cut_file_gives_every_whole_document_before_the_cut(data):
    whole = writer.simple_index(FILES)
    spans = scan_parts(whole).documents
    cut = data.draw(st.integers(0, len(whole)))
    found = scan_parts(whole[:cut])
    assert list(found.documents) == [span for span in spans if span[1] <= cut]
    ends = {0, scan_parts(whole).metadata[0][1], *(end for _, end in spans)}
    assert found.truncated == (cut not in ends)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_garbage_never_raises(junk):
    scan_parts(junk)


def test_a_document_that_does_not_parse_is_counted(tmp_path: Path):
    good = writer.index(writer.document("a.x"))
    bad = b"\x12\x03\x12\x09\x01"  # a document whose occurrence claims more bytes than there are
    path = tmp_path / "i.scip"
    path.write_bytes(good + bad + good)
    with IndexFile(path) as file:
        assert [d.relative_path for d in file.documents()] == ["a.x", "a.x"]
        assert file.damaged == 1


def test_empty_and_missing_files(tmp_path: Path):
    empty = tmp_path / "e.scip"
    empty.write_bytes(b"")
    with IndexFile(empty) as file:
        assert file.layout.documents == ()
        assert not file.truncated
    with pytest.raises(ExactFactsError, match=r"no readable SCIP file"):
        IndexFile(tmp_path / "none.scip")
