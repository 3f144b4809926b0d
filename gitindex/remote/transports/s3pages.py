"""The pages of one listing, and the limits that make it end although the server may be hostile (EN-8). Pure.

Keys must grow from page to page. A token may be used once. A few pages may be empty, as in a bucket full of delete
markers, but not many in a row. The number of pages is limited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gitindex.errors import RemoteMisbehaves

MAX_PAGES = 10_000  # of a thousand keys each
MAX_EMPTY_PAGES = 32  # in a row


class Pages:
    """The state of a listing: whether there is a next request, and its arguments."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._used_tokens: set[str] = set()
        self._last_key = ""
        self._page_count = 0
        self._empty_pages = 0
        self.has_more = True
        self.next_arguments: dict[str, str] = {}

    def take(self, page: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """The entries of a page that was received. Raises RemoteMisbehaves."""
        entries: Sequence[Mapping[str, Any]] = page.get("Contents", ())
        self._page_count += 1
        self._check_keys(entries)
        token = page.get("NextContinuationToken", "") if page.get("IsTruncated") else ""
        self.has_more = bool(token)
        if self.has_more:
            self._continue_from(token)
        return entries

    def _check_keys(self, entries: Sequence[Mapping[str, Any]]) -> None:
        if not all("Key" in entry for entry in entries):
            raise self._listing_error("holds an object without a key")
        self._empty_pages = 0 if entries else self._empty_pages + 1
        if entries and max(entry["Key"] for entry in entries) <= self._last_key:
            raise self._listing_error("brings keys that were listed before")
        self._last_key = max([self._last_key, *(entry["Key"] for entry in entries)])

    def _continue_from(self, token: str) -> None:
        if token in self._used_tokens:
            raise self._listing_error("leads back to an earlier page")
        if self._empty_pages >= MAX_EMPTY_PAGES:
            raise self._listing_error(f"goes on after {self._empty_pages} empty pages")
        if self._page_count >= MAX_PAGES:
            raise self._listing_error(f"goes on after {self._page_count} pages")
        self._used_tokens.add(token)
        self.next_arguments = {"ContinuationToken": token}

    def _listing_error(self, what: str) -> RemoteMisbehaves:
        return RemoteMisbehaves(f"{self._where}: the listing {what}", hint="check the endpoint")
