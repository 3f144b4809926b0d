from collections.abc import Callable, Sequence, Set
from typing import Any

VERSION: int

def words(
    texts: list[str], most: int, finish: Callable[[str, str], tuple[str, str]], /
) -> list[tuple[str, str] | None]: ...
def names(
    data: bytes, hidden: list[Any], shown: list[Any], keywords: Set[bytes], most: int, /
) -> list[tuple[str, bytes]]: ...
def starts(data: bytes, /) -> list[int]: ...
def spans(
    data: bytes,
    extents: Sequence[tuple[int, int]],
    target: int,
    whole: int,
    crumb: int,
    looked_at: int,
    after_blank: int,
    /,
) -> list[tuple[int, int, int, int]]: ...
def calls(
    data: bytes,
    nodes: list[Any],
    others: list[tuple[int, int, int]],
    owners: tuple[tuple[int, int, int], ...],
    tail: int,
    find: Callable[[bytes], tuple[int, int] | None],
    shown: int,
    most: int,
    fold: Callable[[bytes], str],
    /,
) -> list[tuple[str, str, int, int, int]]: ...
