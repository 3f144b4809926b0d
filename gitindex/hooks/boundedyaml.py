"""Reads untrusted YAML under limits: plain data from the parser's events, never constructed values.

Every scalar is text (or None for null), an alias stays a `YamlAlias`: nothing is expanded, merged or looked up, so the
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


class YamlNotUnderstood(Exception):
    """Not YAML, or more of it than we read; the message says which."""


@dataclass(frozen=True)
class YamlAlias:
    name: str


@dataclass(frozen=True)
class YamlDocument:
    """`anchored` are the keys of the top level whose values are used elsewhere too."""

    value: Any
    anchored: frozenset[str] = frozenset()


def load(text: str) -> YamlDocument:
    """The one document in `text`; None for an empty text. Raises YamlNotUnderstood."""
    if len(text) > MAX_BYTES:
        raise YamlNotUnderstood(f"it is larger than {MAX_BYTES} bytes")
    builder = _YamlBuilder()
    try:
        for number, event in enumerate(yaml.parse(text, yaml.SafeLoader)):
            if number >= MAX_EVENTS:
                raise YamlNotUnderstood(f"it has more than {MAX_EVENTS} parts")
            builder.add(event)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise YamlNotUnderstood(f"{line}{error.problem}") from error
    # ValueError and OverflowError: numbers in escapes and directives.
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise YamlNotUnderstood("it is not YAML") from error
    return YamlDocument(builder.value, frozenset(builder.anchored))


@dataclass
class _OpenContainer:
    """A mapping or sequence that has not ended; `pending_key` is the key of a mapping whose value comes next."""

    container: dict[str, Any] | list[Any]
    pending_key: str | None = None


class _YamlBuilder:
    def __init__(self) -> None:
        self.value: Any = None
        self.anchored: set[str] = set()
        self._documents = 0
        self._open: list[_OpenContainer] = []

    def add(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise YamlNotUnderstood("it holds more than one document")
            case yaml.ScalarEvent():
                null = event.implicit[0] and event.value in _NULL
                self._add_value(None if null else event.value, event)
            case yaml.AliasEvent():
                self._add_value(YamlAlias(event.anchor or ""), None)
            case yaml.MappingStartEvent():
                self._enter({}, event)
            case yaml.SequenceStartEvent():
                self._enter([], event)
            case yaml.CollectionEndEvent():
                self._open.pop()

    def _enter(self, container: dict[str, Any] | list[Any], event: yaml.CollectionStartEvent) -> None:
        self._add_value(container, event)
        self._open.append(_OpenContainer(container))
        if len(self._open) > MAX_DEPTH:
            raise YamlNotUnderstood(f"it is nested deeper than {MAX_DEPTH} levels")

    def _add_value(self, value: Any, event: yaml.NodeEvent | None) -> None:
        if not self._open:
            self.value = value
            return
        innermost = self._open[-1]
        if isinstance(innermost.container, list):
            innermost.container.append(value)
        elif innermost.pending_key is not None:
            if len(self._open) == 1 and event is not None and event.anchor:
                self.anchored.add(innermost.pending_key)
            innermost.container[innermost.pending_key] = value
            innermost.pending_key = None
        elif isinstance(value, dict | list):
            raise YamlNotUnderstood("a key is not text")
        else:
            innermost.pending_key = value if isinstance(value, str) else f"({value})"
