"""Links lead to files inside the tree, or to a named skip (EL-3)."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitindex.files.links import LinkEntry, resolve_link
from gitindex.model.skips import SkipReason

TREE: dict[str, LinkEntry] = {
    "a": "file",
    "d": "dir",
    "d/b": "file",
    "d/é": "file",
    "d/up": ("link", b"../a"),
    "to_d": ("link", b"d"),
    "loop": ("link", b"loop"),
    "ping": ("link", b"pong"),
    "pong": ("link", b"ping"),
    "away": ("link", b"/etc/passwd"),
    "above": ("link", b"../x"),
}
TREE.update({f"hop{n}": ("link", b"hop%d" % (n + 1)) for n in range(40)})
TREE["hop40"] = "file"


@pytest.mark.parametrize(
    ("at", "target", "result"),
    [
        ("l", b"a", "a"),
        ("l", b"./d/../a", "a"),
        ("l", b"d/b", "d/b"),
        ("d/l", b"b", "d/b"),
        ("d/l", b"../a", "a"),
        ("l", b"d/up", "a"),
        ("l", b"to_d/b", "d/b"),
        ("l", b"to_d/up", "a"),
        ("l", "d/e\u0301".encode(), "d/é"),
        ("l", b"hop9", "hop40"),
        ("l", b"hop10", "hop40"),
        ("l", b"hop8", SkipReason.SYMLINK_LOOP),
        ("l", b"loop", SkipReason.SYMLINK_LOOP),
        ("l", b"ping", SkipReason.SYMLINK_LOOP),
        ("l", b"loop/x", SkipReason.SYMLINK_LOOP),
        ("l", b"d", SkipReason.SYMLINK_DIRECTORY),
        ("l", b"to_d", SkipReason.SYMLINK_DIRECTORY),
        ("d/l", b"..", SkipReason.SYMLINK_DIRECTORY),
        ("l", b".", SkipReason.SYMLINK_DIRECTORY),
        ("l", b"nope", SkipReason.SYMLINK_BROKEN),
        ("l", b"a/b", SkipReason.SYMLINK_BROKEN),
        ("l", b"a/", SkipReason.SYMLINK_BROKEN),
        ("l", b"", SkipReason.SYMLINK_BROKEN),
        ("l", b".git/config", SkipReason.SYMLINK_BROKEN),
        ("l", b"..", SkipReason.OUT_OF_ROOT),
        ("l", b"../top/a", SkipReason.OUT_OF_ROOT),
        ("d/l", b"../../a", SkipReason.OUT_OF_ROOT),
        ("l", b"/etc/passwd", SkipReason.OUT_OF_ROOT),
        ("l", b"away", SkipReason.OUT_OF_ROOT),
        ("l", b"above", SkipReason.OUT_OF_ROOT),
        ("l", b"\xff", SkipReason.BAD_PATH),
    ],
)
def test_each_kind_of_target(at: str, target: bytes, result: str | SkipReason) -> None:
    assert resolve_link(at, target, TREE.get) == result


NAMES = st.sampled_from(["a", "b", "d", "d/a", "d/b", "d/c"])
TARGETS = st.lists(st.sampled_from(["a", "b", "c", "d", "..", "."]), min_size=1, max_size=4).map("/".join)


@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(NAMES, st.one_of(st.none(), TARGETS), min_size=1), TARGETS)
def test_agrees_with_the_file_system_inside_the_root(tree: dict[str, str | None], target: str) -> None:
    """EL-3: for links that stay inside, the pure answer is the kernel's answer."""
    with tempfile.TemporaryDirectory() as where:
        root = Path(where).resolve()
        (root / "d").mkdir()
        entries: dict[str, LinkEntry] = {"d": "dir"}
        for name, to in tree.items():
            if name == "d":
                continue
            if to is None:
                (root / name).touch()
                entries[name] = "file"
            else:
                (root / name).symlink_to(to)
                entries[name] = ("link", to.encode())
        (root / "start").symlink_to(target)
        found = resolve_link("start", target.encode(), entries.get)
        if found is SkipReason.OUT_OF_ROOT:
            return
        assert found == _asked_kernel(root)


def _asked_kernel(root: Path) -> str | SkipReason:
    try:
        os.stat(root / "start")
    except OSError as error:
        return SkipReason.SYMLINK_LOOP if error.errno == errno.ELOOP else SkipReason.SYMLINK_BROKEN
    really = os.path.realpath(root / "start")
    return SkipReason.SYMLINK_DIRECTORY if os.path.isdir(really) else os.path.relpath(really, root)
