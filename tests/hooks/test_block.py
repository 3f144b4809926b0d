"""HK-4: what we write into a hook file comes out again byte for byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitindex.hooks import block
from gitindex.hooks.block import BlockKind
from gitindex.hooks.shim import ShimCall

CALL = ShimCall(standalone=": our call", embedded=": our call, apart")

foreign = st.builds(
    lambda shebang, body: shebang + body,
    st.sampled_from([b"#!/bin/sh", b"#!/usr/bin/env bash", b"#!/bin/bash -e"]),
    st.one_of(st.just(b""), st.binary(max_size=200).map(lambda body: b"\n" + body)),
)


@given(foreign)
def test_remove_undoes_add(text: bytes) -> None:
    """HK-4: for any sh hook, also one without a final newline or with nothing but its first line."""
    with_us = block.add(text, CALL)
    found = block.find(with_us)
    assert found is not None
    assert found.kind is BlockKind.ADDED
    assert block.remove(with_us, found) == text


@given(foreign)
def test_an_updated_block_still_comes_out_clean(text: bytes) -> None:
    """HK-4: a block of an older version, or of another installation, is replaced in place."""
    with_us = block.add(text, ShimCall(": last year", ": last year, apart"))
    found = block.find(with_us)
    assert found is not None
    fresh = block.replace(with_us, found, CALL)
    assert fresh == block.add(text, CALL)


def test_recognises_a_version_it_does_not_know() -> None:
    """HK-4: markers carry the version; the text between them is not looked at."""
    text = b"#!/bin/sh\n# >>> gitindex hook 7 own file >>>\nsomething else\n# <<< gitindex hook <<<\n"
    found = block.find(text)
    assert found is not None
    assert (found.version, found.kind) == (7, BlockKind.OWN_FILE)
    assert block.remove(text, found) == block.SHEBANG


@pytest.mark.parametrize(
    ("first_line", "answer"),
    [
        (b"#!/bin/sh", True),
        (b"#!/usr/bin/env bash", True),
        (b"#!/usr/bin/env -S bash -e", True),
        (b"#! /bin/dash -e", True),
        (b"#!/usr/bin/zsh", True),
        (b"#!/usr/bin/env python3", False),
        (b"#!/usr/bin/fish", False),
        (b"#!/bin/sh\r", False),
        (b"\x7fELF", False),
        (b"echo no first line", False),
    ],
)
def test_knows_a_shell_when_it_sees_one(first_line: bytes, answer: bool) -> None:
    assert block.is_shell(first_line + b"\n") is answer


def test_a_chaining_file_knows_its_other_half() -> None:
    text = block.render_chaining_file(CALL, "post-commit.gitindex-chained")
    found = block.find(text)
    assert found is not None
    assert block.find_chained_name(text, found) == "post-commit.gitindex-chained"
    assert block.find_chained_name(text + b"echo mine\n", found) is None


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("options", ["", " -e", " -u", " -eu"])
def test_a_failing_call_never_stops_the_hook(tmp_path: Path, shell: str, options: str) -> None:
    """HK-2, HK-4: the other hook's lines run, with its exit code and its stdin."""
    hook = tmp_path / "hook"
    call = ShimCall(standalone="exit 7", embedded="( exit 7 ) </dev/null >/dev/null 2>&1 || :")
    hook.write_bytes(block.add(f"#!/usr/bin/env -S {shell}{options}\ncat; exit 3\n".encode(), call))
    hook.chmod(0o755)
    done = subprocess.run([hook], input=b"old new\n", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (3, b"old new\n")
