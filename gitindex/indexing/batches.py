"""Files in groups worth sending to another process: by bytes and by number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
_BYTES = 256 * 1024
_FILES = 64


def batches(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    batch: list[T] = []
    held = 0
    for item in items:
        batch.append(item)
        held += size(item)
        if held >= _BYTES or len(batch) >= _FILES:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch
