"""Strict parsing of untrusted JSON: bounded size, no duplicate keys, exact fields. Pure.

Refuses everything ambiguous, so that two readers of one document never see different values. All functions raise
`MalformedError`; callers translate it into the error that fits what they were reading.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import NoReturn

MAX_INT = 2**53 - 1  # the largest integer that every JSON implementation represents exactly


class MalformedError(ValueError):
    """The bytes are not the document they should be; the message says where."""


def parse(data: bytes, *, limit: int) -> object:
    """The value in `data`; refuses more than `limit` bytes before parsing."""
    if len(data) > limit:
        raise MalformedError(f"{len(data)} bytes, more than the {limit} allowed")
    try:
        return json.loads(
            data.decode("utf-8"), object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise MalformedError("nested too deeply") from None
    except ValueError as error:
        raise error if isinstance(error, MalformedError) else MalformedError(f"not JSON: {error}") from None


def dump(value: object) -> bytes:
    """The one form in which we write JSON: sorted keys, no white space, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def require_record(value: object, names: Iterable[str], what: str) -> Mapping[str, object]:
    """An object with exactly these keys."""
    if not isinstance(value, dict):
        raise MalformedError(f"{what} is not an object")
    expected = set(names)
    if value.keys() != expected:
        unexpected = sorted(value.keys() ^ expected)
        raise MalformedError(f"{what} has missing or unknown fields: {', '.join(unexpected)}")
    return value


def require_list(value: object, what: str, *, maximum: int) -> list[object]:
    if not isinstance(value, list):
        raise MalformedError(f"{what} is not a list")
    if len(value) > maximum:
        raise MalformedError(f"{what} has {len(value)} entries, more than the {maximum} allowed")
    return value


def require_text(value: object, what: str, *, maximum: int = 256) -> str:
    """A printable string, since untrusted text may be shown on a terminal."""
    if not isinstance(value, str) or len(value) > maximum or not value.isprintable():
        raise MalformedError(f"{what} is not a printable string of at most {maximum} characters")
    return value


def require_match(value: object, pattern: re.Pattern[str], what: str) -> str:
    if not isinstance(value, str) or pattern.fullmatch(value) is None:
        raise MalformedError(f"{what} is malformed")
    return value


def require_count(value: object, what: str, *, maximum: int = MAX_INT) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
        raise MalformedError(f"{what} is not a count up to {maximum}")
    return value


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise MalformedError("an object repeats a key")
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise MalformedError(f"{name} is not JSON")
