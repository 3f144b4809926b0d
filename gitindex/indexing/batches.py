"""Groups files into batches that are large enough to send to another process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_MAX_BYTES = 256 * 1024
_MAX_FILES = 64


def split_into_batches(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """A batch ends with the item that reaches _MAX_BYTES or _MAX_FILES; `size` gives the bytes of an item."""
    batch: list[T] = []
    batch_bytes = 0
    for item in items:
        batch.append(item)
        batch_bytes += size(item)
        if batch_bytes >= _MAX_BYTES or len(batch) >= _MAX_FILES:
            yield batch
            batch, batch_bytes = [], 0
    if batch:
        yield batch
