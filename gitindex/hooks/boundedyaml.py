"""YAML that somebody else wrote, read under limits: plain data from the parser's events, never constructed values.

Every scalar is text (or None for null), an alias stays an `Alias`: nothing is expanded, merged or looked up, so the
result is never larger than the text, and reading it takes a bounded time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

MAX_BYTES = 128 * 1024
MAX_EVENTS = 10_000
MAX_DEPTH = 32
_NULL = ("", "~", "null", "Null", "NULL")


class NotUnderstood(Exception):
    """Not YAML, or more of it than we read; the message says which."""


@dataclass(frozen=True)
class Alias:
    name: str


@dataclass(frozen=True)
class Document:
    """`anchored` are the keys of the top level whose values are used elsewhere too."""

    value: Any
    anchored: frozenset[str] = frozenset()


def load(text: str) -> Document:
    """The one document in `text`; None for an empty text. Raises NotUnderstood."""
    if len(text) > MAX_BYTES:
        raise NotUnderstood(f"it is larger than {MAX_BYTES} bytes")
    builder = _Builder()
    try:
        for number, event in enumerate(yaml.parse(text, yaml.SafeLoader)):
            if number >= MAX_EVENTS:
                raise NotUnderstood(f"it has more than {MAX_EVENTS} parts")
            builder.add(event)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise NotUnderstood(f"{line}{error.problem}") from error
    except (
        yaml.YAMLError,
        ValueError,
        OverflowError,
    ) as error:  # the last two: numbers in escapes and directives
        raise NotUnderstood("it is not YAML") from error
    return Document(builder.value, frozenset(builder.anchored))


class _Builder:
    def __init__(self) -> None:
        self.value: Any = None
        self.anchored: set[str] = set()
        self._documents = 0
        self._open: list[
            tuple[dict[str, Any] | list[Any], list[str]]
        ] = []  # with the key that awaits its value

    def add(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise NotUnderstood("it holds more than one document")
            case yaml.ScalarEvent():
                null = event.implicit[0] and event.value in _NULL
                self._put(None if null else event.value, event)
            case yaml.AliasEvent():
                self._put(Alias(event.anchor or ""), None)
            case yaml.MappingStartEvent():
                self._enter({}, event)
            case yaml.SequenceStartEvent():
                self._enter([], event)
            case yaml.CollectionEndEvent():
                self._open.pop()

    def _enter(self, container: dict[str, Any] | list[Any], event: yaml.CollectionStartEvent) -> None:
        self._put(container, event)
        self._open.append((container, []))
        if len(self._open) > MAX_DEPTH:
            raise NotUnderstood(f"it is nested deeper than {MAX_DEPTH} levels")

    def _put(self, value: Any, event: yaml.NodeEvent | None) -> None:
        if not self._open:
            self.value = value
            return
        container, key = self._open[-1]
        if isinstance(container, list):
            container.append(value)
        elif key:
            if len(self._open) == 1 and event is not None and event.anchor:
                self.anchored.add(key[0])
            container[key.pop()] = value
        elif isinstance(value, dict | list):
            raise NotUnderstood("a key is no text")
        else:
            key.append(value if isinstance(value, str) else f"({value})")
