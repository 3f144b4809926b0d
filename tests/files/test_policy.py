"""One eligibility policy, every no with its reason (EL-1, EL-6, CF-1)."""

from __future__ import annotations

import pytest

from gitindex.files.ignore import Ignore, IgnoreRules
from gitindex.files.policy import Policy
from gitindex.model.settings import IndexSettings, Limits
from gitindex.model.skips import Skip

FILE, SUBMODULE = 0o100644, 0o160000


def policy(rules: bytes = b"", **settings: object) -> Policy:
    return Policy(IndexSettings(**settings), Ignore([IgnoreRules.parse("", rules)]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "mode", "reason"),
    [
        ("a.py", FILE, None),
        ("deep/er/a.go", 0o100755, None),
        (".gitindex.toml", FILE, None),
        (".gitignore", FILE, None),
        ("bin/tool", FILE, None),  # perhaps a script: its bytes decide
        ("data.weird", FILE, Skip.UNSUPPORTED),
        ("gen/a.py", FILE, Skip.IGNORED),
        ("gen/keep.py", FILE, Skip.IGNORED),
        ("gen/data.weird", FILE, Skip.IGNORED),
        ("vendor/a.py", FILE, Skip.EXCLUDED),
        ("vendor/x/data.extra", FILE, Skip.EXCLUDED),
        ("src/data.extra", FILE, None),
        ("docs/odd.weird", FILE, None),
        ("lib", SUBMODULE, Skip.SUBMODULE),
        ("gen/lib", SUBMODULE, Skip.IGNORED),
        ("vendor", SUBMODULE, Skip.EXCLUDED),
    ],
)
def test_paths(path: str, mode: int, reason: Skip | None) -> None:
    """EL-1: ignore rules first, then excludes; includes admit only what neither forbids (CF-1)."""
    made = policy(
        b"gen/*\n!gen/keep.p\n",
        exclude=("vendor/",),
        include=("*.extra", "docs/**", "gen/**", "../*", "/etc/*"),
    )
    assert made.path_skip(path, mode) is reason


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.py", b"", None),
        ("a.py", b"print('h\xc3\xa9')\n", None),
        ("a.py", b"\xef\xbb\xbfprint()\n", None),
        ("a.py", b"form\x0cfeed and \x1b[1m colour\n", None),
        ("a.py", b"x = '\xe9'\n", Skip.ENCODING),
        ("a.py", "x = 1\n".encode("utf-16"), Skip.ENCODING),
        ("a.py", b"text\0more", Skip.BINARY),
        ("a.py", b"t" * 9000 + b"\0", Skip.BINARY),
        ("a.py", bytes(range(1, 32)) * 20, Skip.BINARY),
        ("a.py", b"x" * 2001, Skip.TOO_LARGE),
        ("a.py", b"x\n" * 1000, None),
        ("a.py", b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n", Skip.LFS_POINTER),
        ("bin/tool", b"#!/usr/bin/env python3\n", None),
        ("bin/tool", b"no shebang\n", Skip.UNSUPPORTED),
        ("bin/tool", b"", Skip.UNSUPPORTED),
        ("data.extra", b"anything textual", None),
        ("data.extra", b"any\0thing", Skip.BINARY),
    ],
)
def test_contents(path: str, data: bytes, reason: Skip | None) -> None:
    """EL-1: text in UTF-8, in a known language or asked for by configuration."""
    made = policy(include=("*.extra",), limits=Limits(file_bytes=2000))
    if len(data) > 2000 and reason is Skip.BINARY:
        made = policy()
    assert made.content_skip(path, data) is reason


def test_sizes() -> None:
    """CF-1: the limit is the configured one."""
    made = policy(limits=Limits(file_bytes=100))
    assert made.content_skip("a.py", b"#" * 100) is None
    assert made.content_skip("a.py", b"#" * 101) is Skip.TOO_LARGE
    assert policy().content_skip("a.py", b"#" * (10 * 1024 * 1024 + 1)) is Skip.TOO_LARGE


def test_includes_cannot_undo_an_ignore_rule_by_negation() -> None:
    """CF-1: `.gitindex.toml` is untrusted and cannot widen what `.gitindexignore` closed."""
    made = policy(b"secret.py\n", include=("secret.py", "!secret.py", "**"), exclude=("!secret.py",))
    assert made.path_skip("secret.py", FILE) is Skip.IGNORED
