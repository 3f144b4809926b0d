"""One spelling per path (EL-2)."""

from __future__ import annotations

import pytest

from gitindex.errors import UnsafePath
from gitindex.model.paths import casefold_key, join_key, path_key, recorded_key, split_target


@pytest.mark.parametrize("raw", [b"a/b.py", "a/b.py", "./a//b.py", "a/./b.py/"])
def test_equal_paths_have_one_key(raw: bytes | str):
    assert path_key(raw) == "a/b.py"


def test_normalisation_does_not_tell_paths_apart():
    assert path_key("e\u0301.py".encode()) == path_key("\u00e9.py") == "\u00e9.py"


@pytest.mark.parametrize("raw", [b"", "", "/a", "a/../b", "..", ".", "a\0b", b"\xff.py", "\udcff.py"])
def test_what_has_no_key_is_refused(raw: bytes | str):
    with pytest.raises(UnsafePath):
        path_key(raw)


def test_a_record_names_every_path():
    """EL-1: a path without a key is recorded as a skip, under its bytes."""
    assert recorded_key("e\u0301.py".encode()) == "\u00e9.py"
    assert recorded_key(b"caf\xe9.py") == "caf\\xe9.py"
    assert recorded_key(b"a/../b") == "a/../b"


def test_targets_of_links_are_spelled_as_keys():
    assert split_target("../e\u0301/x".encode()) == ["..", "\u00e9", "x"]
    assert join_key(["\u00e9", "x"]) == path_key("e\u0301/x")
    with pytest.raises(UnsafePath):
        split_target(b"\xff")


def test_case_variants_fold_to_one_key():
    assert casefold_key("STRASSE/\u00c9.py") == casefold_key("stra\u00dfe/\u00e9.py")
    assert casefold_key("a.py") != casefold_key("b.py")
