"""`model.foreign.quote_argument`: a hint that is copied means the exact name."""

from __future__ import annotations

import subprocess

import pytest

from gitindex.model.foreign import quote_argument


@pytest.mark.parametrize(
    "name",
    [
        "plain.py",
        "two words",
        "it's",
        "line\nbreak",
        "\x1b[2Jcleared",
        "\u202egnp.exe",
        "no\udcfftext",
        "back\\slash\t'",
    ],
)
def test_a_shell_reads_back_the_exact_name(name: str):
    quoted = quote_argument(name)
    assert quoted.isprintable()
    shell = subprocess.run(["bash", "-c", f"printf %s {quoted}"], capture_output=True, check=True)
    assert shell.stdout == name.encode("utf-8", "surrogateescape")


def test_a_sign_that_no_file_name_can_hold_is_spelled_out():
    assert quote_argument("a\ud800") == "$'a\\134ud800'"
