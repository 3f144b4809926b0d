"""`ops.sharing.published_snapshots`: what a search says when nothing serves, and when it gives up (RE-3)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gitindex.errors import ChecksumMismatch, RemoteMissing, Untrusted
from gitindex.ops.sharing.published_snapshots import PublishedFinder

COMMIT = "c" * 40


@pytest.fixture
def finder() -> PublishedFinder:
    session: Any = SimpleNamespace(repository="r" * 64, fingerprint="f" * 64)
    return PublishedFinder(session)


@pytest.mark.parametrize(
    ("searched", "words"),
    [
        (1, "for cccccccccccc (repository"),
        (2, "or the commit before it"),
        (1201, "or the 1,200 commits before it"),
    ],
)
def test_nothing_published_says_how_far_was_searched(finder: PublishedFinder, searched: int, words: str):
    finder.searched_count = searched
    error = finder.not_found_error(COMMIT)
    assert isinstance(error, RemoteMissing)
    assert words in error.message
    assert error.hint == "gitindex sync"


def test_the_refusal_of_the_nearest_is_the_reason(finder: PublishedFinder):
    nearest = Untrusted("nobody trusts the key")
    finder.refusals += [nearest, Untrusted("another")]
    assert finder.not_found_error(COMMIT) is nearest


def test_the_fourth_damaged_snapshot_ends_the_search(finder: PublishedFinder):
    damages = [ChecksumMismatch(f"object {number} is damaged") for number in range(4)]
    for damage in damages[:3]:
        finder.skip_damaged(damage)
    with pytest.raises(ChecksumMismatch, match="object 0"):
        finder.skip_damaged(damages[3])
