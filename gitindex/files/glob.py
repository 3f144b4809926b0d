"""Compiles one gitignore pattern to a regular expression over bytes. Pure.

Patterns come from untrusted repositories, so matching must not take exponential time: every `*` but the last, and
every stretch between two `**`, is an atomic group. Its earliest match suffices, because the text between two stars has
a fixed width and the text between two `**` a fixed number of slashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_SPECIAL = b"*?[\\"
_SLASH = ord("/")
_NAMED_CLASSES: dict[bytes, frozenset[int]] = {
    b"alnum": frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
    b"alpha": frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
    b"blank": frozenset(b" \t"),
    b"cntrl": frozenset((*range(32), 127)),
    b"digit": frozenset(b"0123456789"),
    b"graph": frozenset(range(33, 127)),
    b"lower": frozenset(range(ord("a"), ord("z") + 1)),
    b"print": frozenset(range(32, 127)),
    b"punct": frozenset(b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    b"space": frozenset(b" \t\n\r"),  # git's own table: no vertical tab, no form feed
    b"upper": frozenset(range(ord("A"), ord("Z") + 1)),
    b"xdigit": frozenset(b"0123456789ABCDEFabcdef"),
}


class MalformedPattern(ValueError):
    """A pattern that matches nothing, ever (open bracket, unknown class, trailing backslash)."""


class _PatternPart(NamedTuple):
    """`stars` says what precedes the expression: "" nothing, "*" a star, "**/" and "**" any directories."""

    stars: str
    expression: bytes


def compile_glob(pattern: bytes) -> re.Pattern[bytes]:
    """Matches the whole of a path relative to the pattern's directory; `pattern` has no leading slash.

    Raises MalformedPattern.
    """
    literal = _literal_length(pattern)
    # Git compares the literal start by itself and globs only the rest, so `a**/b` spans directories.
    parts = [_PatternPart("", re.escape(pattern[:literal])), *_split_parts(pattern[literal:])]
    stretches: list[list[_PatternPart]] = [[]]
    for part in parts:
        if part.stars.startswith("**"):
            stretches.append([])
        stretches[-1].append(part)
    body = b"".join(b"(?>%s)" % _compile_stretch(stretch, last=False) for stretch in stretches[:-1])
    return re.compile(body + _compile_stretch(stretches[-1], last=True) + rb"\Z", re.DOTALL)


def is_literal(pattern: bytes) -> bool:
    return _literal_length(pattern) == len(pattern)


def _literal_length(pattern: bytes) -> int:
    return next((position for position, byte in enumerate(pattern) if byte in _SPECIAL), len(pattern))


def _compile_stretch(parts: list[_PatternPart], *, last: bool) -> bytes:
    """Parts up to the next `**`; only the very last star of the pattern may need to try again."""
    out = []
    for index, (stars, expression) in enumerate(parts):
        if stars == "*":
            final = last and index == len(parts) - 1
            out.append(b"[^/]*" + expression if final else b"(?>[^/]*?%s)" % expression)
        else:
            prefix = {"": b"", "**/": b"(?:.*?/)??", "**": b".*?"}[stars]
            out.append(prefix + expression)
    return b"".join(out)


def _split_parts(pattern: bytes) -> Iterator[_PatternPart]:
    stars, run, position = "", bytearray(), 0
    while position < len(pattern):
        if pattern[position] != ord("*"):
            piece, position = _parse_single(pattern, position)
            run += piece
            continue
        yield _PatternPart(stars, bytes(run))
        stars, position = _parse_stars(pattern, position)
        run = bytearray()
    yield _PatternPart(stars, bytes(run))


def _parse_stars(pattern: bytes, position: int) -> tuple[str, int]:
    """A run of stars at `position`: what it means and where the pattern goes on."""
    end = position
    while end < len(pattern) and pattern[end] == ord("*"):
        end += 1
    bounded = position == 0 or pattern[position - 1] == _SLASH
    if end - position > 1 and bounded:
        if pattern[end : end + 1] == b"/":
            return "**/", end + 1
        if end == len(pattern) or pattern[end : end + 2] == b"\\/":
            return "**", end
    return "*", end


def _parse_single(pattern: bytes, position: int) -> tuple[bytes, int]:
    """The expression for one byte of text, and the position after it."""
    byte = pattern[position : position + 1]
    if byte == b"?":
        return b"[^/]", position + 1
    if byte == b"[":
        members, end = _parse_bracket(pattern, position + 1)
        return _render_set(members), end
    if byte == b"\\":
        if position + 1 == len(pattern):
            raise MalformedPattern("trailing backslash")
        return re.escape(pattern[position + 1 : position + 2]), position + 2
    return re.escape(byte), position + 1


def _render_set(members: frozenset[int]) -> bytes:
    allowed = sorted(members - {_SLASH})
    if not allowed:
        return rb"(?!)"
    return b"[" + b"".join(rb"\x%02x" % byte for byte in allowed) + b"]"


def _parse_bracket(pattern: bytes, position: int) -> tuple[frozenset[int], int]:
    """The bytes a bracket expression stands for, and the position after its `]`."""
    negated = pattern[position : position + 1] in (b"!", b"^")
    position += negated
    members: set[int] = set()
    previous = -1  # the start of a possible range
    first = True
    while first or pattern[position : position + 1] != b"]":
        first = False
        if position >= len(pattern):
            raise MalformedPattern("open bracket")
        previous, position = _parse_member(pattern, position, previous, members)
    return frozenset(range(256)) - members if negated else frozenset(members), position + 1


def _parse_member(pattern: bytes, position: int, previous: int, members: set[int]) -> tuple[int, int]:
    """Add one member or range at `position`; return what a following `-` would start from, and where to go on."""
    byte = pattern[position]
    following = pattern[position + 1 : position + 2]
    if byte == ord("-") and previous >= 0 and following and following != b"]":
        high, end = _parse_escaped(pattern, position + 1)
        members.update(range(previous, high + 1))
        return -1, end
    if byte == ord("[") and following == b":":
        name, end = _parse_class_name(pattern, position + 2)
        if name is not None:
            members |= _NAMED_CLASSES[name]
            return -1, end
    high, end = _parse_escaped(pattern, position)
    members.add(high)
    return high, end


def _parse_escaped(pattern: bytes, position: int) -> tuple[int, int]:
    if pattern[position] != ord("\\"):
        return pattern[position], position + 1
    if position + 1 >= len(pattern):
        raise MalformedPattern("open bracket")
    return pattern[position + 1], position + 2


def _parse_class_name(pattern: bytes, position: int) -> tuple[bytes | None, int]:
    """The name in `[:name:]`, or None when the bracket holds no such thing after all."""
    end = pattern.find(b"]", position)
    if end < 0:
        raise MalformedPattern("open bracket")
    if end == position or pattern[end - 1 : end] != b":":
        return None, position
    name = pattern[position : end - 1]
    if name not in _NAMED_CLASSES:
        raise MalformedPattern("unknown class")
    return name, end + 1
