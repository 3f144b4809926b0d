"""Language by name and shebang (EL-1)."""

from __future__ import annotations

import pytest

from gitindex.files.language import language_of


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b.py", "python"),
        ("B.PY", "python"),
        ("x.d.ts", "typescript"),
        ("x.tsx", "tsx"),
        ("x.h", "c"),
        ("x.hpp", "cpp"),
        ("Dockerfile", "dockerfile"),
        ("deploy/Dockerfile.prod", "dockerfile"),
        ("Makefile", "make"),
        ("GNUmakefile", "make"),
        ("CMakeLists.txt", "cmake"),
        ("Cargo.lock", "toml"),
        ("go.mod", "gomod"),
        ("LICENSE", "text"),
        (".gitignore", "gitignore"),
        (".env", "env"),
        ("notes.md", "markdown"),
        ("style.css", "css"),
        ("q.sql", "sql"),
        ("archive.zip", ""),
        ("noext", ""),
        (".hidden", ""),
        ("py", ""),
        ("dir.py/noext", ""),
    ],
)
def test_by_name(path: str, language: str) -> None:
    assert language_of(path) == language


@pytest.mark.parametrize(
    ("head", "language"),
    [
        (b"#!/bin/sh\n", "bash"),
        (b"#!/usr/bin/env python3.11\nx", "python"),
        (b"#! /usr/bin/env -S node --flag\n", "javascript"),
        (b"#!/usr/bin/env FOO=1 ruby\n", "ruby"),
        (b"\xef\xbb\xbf#!/usr/bin/perl -w\n", "perl"),
        (b"#!/opt/unknown\n", ""),
        (b"#!", ""),
        (b"# python\n", ""),
        (b"", ""),
        (b"#!\xff\xfe\n", ""),
    ],
)
def test_by_shebang(head: bytes, language: str) -> None:
    assert language_of("bin/tool", head) == language


def test_a_name_wins_over_a_shebang() -> None:
    assert language_of("a.js", b"#!/usr/bin/env python\n") == "javascript"
