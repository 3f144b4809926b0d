"""Pasted text: an issue, a traceback, a log, a diff. What in it points at code, before any word is counted. Pure.

Such text is no query language (QU-7): its quotes, minus signs and `path:`-like words exclude nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

LONG = 400  # characters: nobody types that many
_LINES = 3
_TRACE = re.compile(
    r"""Traceback\ \(most\ recent\ call\ last\)
        |^\s*File\ "[^"\n]+",\ line\ \d+
        |^\s+at\ \S.*[(:]\S+:\d+
        |^panic:\ |^goroutine\ \d+
        |^(?:---|\+\+\+)\ [ab]/|^@@\ -\d|^```""",
    re.VERBOSE | re.MULTILINE,
)
# A file name with its folders, perhaps with a line: django/db/models/query.py, C:\x\y.cs:12
_PATH = re.compile(
    r"(?<![\w.])(?:[A-Za-z]:)?[\\/~.]{0,3}(?:[\w.+@-]+[\\/])*[\w+@-][\w.+@-]*\.[A-Za-z]\w{0,7}\b"
)
_FRAME = re.compile(r'^\s*File "(?P<path>[^"\n]+)", line \d+(?:, in (?P<name>\S+))?', re.MULTILINE)
_DOTTED = re.compile(r"(?<![\w./\\])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_TICKED = re.compile(r"`{1,2}([^`\n]{2,80})`")
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_RAISED = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning)\b")
_SHAPED = re.compile(
    r"_*[a-z0-9]+(?:_[a-z0-9]+)+_*|_+[a-z]\w*|(?:[A-Z]+[a-z0-9]+){2,}\w*|[a-z]+(?:[A-Z][a-z0-9]*)+"
)
_MOST_NAMES = 60
_MOST_READ = 100_000  # characters of one text; what follows says little that these do not


class Clues(NamedTuple):
    """What a pasted text points at, each in the order of its first appearance."""

    title: str = ""  # its first line
    paths: tuple[str, ...] = ()  # with / between folders
    frames: tuple[str, ...] = ()  # paths of a traceback, the innermost last
    dotted: tuple[str, ...] = ()  # modules and what is in them
    names: tuple[str, ...] = ()  # identifiers: quoted, raised, or spelled like code


def is_pasted(text: str) -> bool:
    """Long, of many lines, or with the frames of a traceback or the heads of a diff."""
    return (
        len(text) > LONG
        or sum(bool(line.strip()) for line in text.split("\n")) >= _LINES
        or _TRACE.search(text) is not None
    )


def cut_pasted(text: str) -> str:
    """Beginning and end of a text that is too long to read whole."""
    if len(text) <= _MOST_READ:
        return text
    half = _MOST_READ // 2
    return f"{text[:half]}\n{text[-half:]}"


def find_clues(text: str) -> Clues:
    lines = (line.strip() for line in text.split("\n"))
    frames = tuple(_use_slashes(found["path"]) for found in _FRAME.finditer(text))
    inner = [found["name"] for found in _FRAME.finditer(text) if found["name"]]
    paths = [_use_slashes(path) for path in _PATH.findall(text)]
    return Clues(
        next(filter(None, lines), ""),
        _distinct(path for path in paths if path not in frames),
        frames,
        _distinct(_DOTTED.findall(text)),
        _distinct(_find_names(text, inner))[:_MOST_NAMES],
    )


def _find_names(text: str, inner: Iterable[str]) -> Iterator[str]:
    for quoted in _TICKED.findall(text):
        yield from _IDENTIFIER.findall(quoted)
    yield from _RAISED.findall(text)
    yield from reversed([name for name in inner if _IDENTIFIER.fullmatch(name)])
    yield from (name for name in _IDENTIFIER.findall(text) if _SHAPED.fullmatch(name))


def _use_slashes(path: str) -> str:
    return path.replace("\\", "/").lstrip("./~")


def _distinct(found: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found))
