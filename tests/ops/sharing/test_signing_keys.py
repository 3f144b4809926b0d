"""RE-4: the key to sign with comes from a file or a variable; without one a push says what to set."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitindex.config import Environment
from gitindex.errors import ConfigError, UsageError
from gitindex.ops.sharing import signing_keys


def test_a_file_goes_before_a_variable(tmp_path: Path):
    first = signing_keys.generate_key(tmp_path / "first", "first")
    second = signing_keys.generate_key(tmp_path / "second", "second")
    in_variable = Environment(tmp_path, signing_key=(tmp_path / "second").read_text())
    in_both = Environment(
        tmp_path, signing_key_file=str(tmp_path / "first"), signing_key=(tmp_path / "second").read_text()
    )
    assert signing_keys.require_signing_key(in_variable).public.id == second.id
    assert signing_keys.require_signing_key(in_both).public.id == first.id


def test_without_a_key_nothing_is_signed(tmp_path: Path):
    environment = Environment(tmp_path)
    assert signing_keys.load_signing_key(environment) is None
    with pytest.raises(ConfigError, match="GITINDEX_SIGNING_KEY_FILE"):
        signing_keys.require_signing_key(environment)


def test_a_key_file_is_never_replaced(tmp_path: Path):
    signing_keys.generate_key(tmp_path / "key", "ci")
    before = (tmp_path / "key").read_bytes()
    with pytest.raises(UsageError):
        signing_keys.generate_key(tmp_path / "key", "ci")
    assert (tmp_path / "key").read_bytes() == before
