"""The pages of one listing, and the rules that make it end: whoever serves them need not be honest (EN-8). Pure.

Keys go up from page to page. A token is handed out once. A few pages may be empty (a bucket full of delete markers has
such), many in a row may not, and there is a last page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gitindex.errors import RemoteMisbehaves

MOST_PAGES = 10_000  # of a thousand keys each
MOST_EMPTY = 32  # in a row


class Pages:
    """What the next request must say, and whether there is one."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._tokens: set[str] = set()
        self._last = ""
        self._count = 0
        self._empty = 0
        self.more = True
        self.next: dict[str, str] = {}

    def take(self, page: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """The entries of a page that was received. Raises RemoteMisbehaves."""
        found: Sequence[Mapping[str, Any]] = page.get("Contents", ())
        self._count += 1
        self._advance(found)
        token = page.get("NextContinuationToken", "") if page.get("IsTruncated") else ""
        self.more = bool(token)
        if self.more:
            self._follow(token)
        return found

    def _advance(self, found: Sequence[Mapping[str, Any]]) -> None:
        if not all("Key" in one for one in found):
            raise self._refusal("holds an object without a key")
        self._empty = 0 if found else self._empty + 1
        if found and max(one["Key"] for one in found) <= self._last:
            raise self._refusal("brings keys that were listed before")
        self._last = max([self._last, *(one["Key"] for one in found)])

    def _follow(self, token: str) -> None:
        if token in self._tokens:
            raise self._refusal("leads back to an earlier page")
        if self._empty >= MOST_EMPTY:
            raise self._refusal(f"goes on after {self._empty} empty pages")
        if self._count >= MOST_PAGES:
            raise self._refusal(f"goes on after {self._count} pages")
        self._tokens.add(token)
        self.next = {"ContinuationToken": token}

    def _refusal(self, what: str) -> RemoteMisbehaves:
        return RemoteMisbehaves(f"{self._where}: the listing {what}", hint="check the endpoint")
