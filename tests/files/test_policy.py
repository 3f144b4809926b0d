"""One eligibility policy, every no with its reason (EL-1, EL-6, CF-1)."""

from __future__ import annotations

import pytest

from gitindex.files.ignore import Ignore, IgnoreRules
from gitindex.files.policy import EligibilityPolicy
from gitindex.model.settings import IndexSettings, Limits
from gitindex.model.skips import SkipReason

FILE, SUBMODULE = 0o100644, 0o160000


def policy(rules: bytes = b"", **settings: object) -> EligibilityPolicy:
    return EligibilityPolicy(IndexSettings(**settings), Ignore([IgnoreRules.parse("", rules)]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "mode", "reason"),
    [
        ("a.py", FILE, None),
        ("deep/er/a.go", 0o100755, None),
        (".gitindex.toml", FILE, None),
        (".gitignore", FILE, None),
        ("bin/tool", FILE, None),  # perhaps a script: its bytes decide
        ("data.weird", FILE, SkipReason.UNSUPPORTED),
        ("gen/a.py", FILE, SkipReason.IGNORED),
        ("gen/keep.py", FILE, SkipReason.IGNORED),
        ("gen/data.weird", FILE, SkipReason.IGNORED),
        ("vendor/a.py", FILE, SkipReason.EXCLUDED),
        ("vendor/x/data.extra", FILE, SkipReason.EXCLUDED),
        ("src/data.extra", FILE, None),
        ("docs/odd.weird", FILE, None),
        ("lib", SUBMODULE, SkipReason.SUBMODULE),
        ("gen/lib", SUBMODULE, SkipReason.IGNORED),
        ("vendor", SUBMODULE, SkipReason.EXCLUDED),
    ],
)
def test_paths(path: str, mode: int, reason: SkipReason | None) -> None:
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
        ("a.py", b"x = '\xe9'\n", SkipReason.ENCODING),
        ("a.py", "x = 1\n".encode("utf-16"), SkipReason.ENCODING),
        ("a.py", b"text\0more", SkipReason.BINARY),
        ("a.py", b"t" * 9000 + b"\0", SkipReason.BINARY),
        ("a.py", bytes(range(1, 32)) * 20, SkipReason.BINARY),
        ("a.py", b"x" * 2001, SkipReason.TOO_LARGE),
        ("a.py", b"x\n" * 1000, None),
        (
            "a.py",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n",
            SkipReason.LFS_POINTER,
        ),
        ("bin/tool", b"#!/usr/bin/env python3\n", None),
        ("bin/tool", b"no shebang\n", SkipReason.UNSUPPORTED),
        ("bin/tool", b"", SkipReason.UNSUPPORTED),
        ("data.extra", b"anything textual", None),
        ("data.extra", b"any\0thing", SkipReason.BINARY),
    ],
)
def test_contents(path: str, data: bytes, reason: SkipReason | None) -> None:
    """EL-1: text in UTF-8, in a known language or asked for by configuration."""
    made = policy(include=("*.extra",), limits=Limits(file_bytes=2000))
    if len(data) > 2000 and reason is SkipReason.BINARY:
        made = policy()
    assert made.content_skip(path, data) is reason


def test_sizes() -> None:
    """CF-1: the limit is the configured one."""
    made = policy(limits=Limits(file_bytes=100))
    assert made.content_skip("a.py", b"#" * 100) is None
    assert made.content_skip("a.py", b"#" * 101) is SkipReason.TOO_LARGE
    assert policy().content_skip("a.py", b"#" * (10 * 1024 * 1024 + 1)) is SkipReason.TOO_LARGE


def test_includes_cannot_undo_an_ignore_rule_by_negation() -> None:
    """CF-1: `.gitindex.toml` is untrusted and cannot widen what `.gitindexignore` closed."""
    made = policy(b"secret.py\n", include=("secret.py", "!secret.py", "**"), exclude=("!secret.py",))
    assert made.path_skip("secret.py", FILE) is SkipReason.IGNORED
