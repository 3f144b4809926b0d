from collections.abc import Callable, Set
from typing import Any

VERSION: int

def words(
    texts: list[str], most: int, finish: Callable[[str, str], tuple[str, str]], /
) -> list[tuple[str, str] | None]: ...
def names(
    data: bytes, hidden: list[Any], shown: list[Any], keywords: Set[bytes], most: int, /
) -> list[tuple[str, bytes]]: ...
def best_line(data: bytes, offset: int, lines: int, looked_at: int, after_blank: int, /) -> int: ...
