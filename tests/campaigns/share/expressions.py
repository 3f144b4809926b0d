"""The expressions of GitHub Actions, as far as our files use them: contexts, literals, operators, a few functions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_TOKEN = re.compile(r"\s*('(?:[^']|'')*'|&&|\|\||[!=]=|[!(),]|[\w.-]+)")
_STATUS = re.compile(r"\b(success|failure|always|cancelled)\(\)")
Functions = Mapping[str, Callable[..., Any]]


def expand(text: str, contexts: Mapping[str, Any]) -> str:
    """A value with every `${{ … }}` replaced by what it means."""
    return _EXPRESSION.sub(lambda found: as_text(evaluate(found[1], contexts)), text)


def holds(condition: str, contexts: Mapping[str, Any], *, failed: bool = False) -> bool:
    """An `if:`; one that asks for no status means `success()`."""
    text = _EXPRESSION.sub(r"\1", condition)
    if failed and not _STATUS.search(text):
        return False
    status = {"success": lambda: not failed, "failure": lambda: failed, "always": lambda: True}
    return bool(evaluate(text, contexts, status))


def evaluate(expression: str, contexts: Mapping[str, Any], functions: Functions | None = None) -> Any:
    parser = _Parser(expression, contexts, functions or {})
    value = parser.alternatives()
    assert not parser.left, f"cannot read {expression!r}: {parser.left}"
    return value


def as_text(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Parser:
    def __init__(self, expression: str, contexts: Mapping[str, Any], functions: Functions) -> None:
        self.left = _TOKEN.findall(expression)
        assert re.sub(r"\s", "", "".join(self.left)) == re.sub(r"\s", "", expression), expression
        self.contexts = contexts
        self.functions = {"contains": _contains, "fromJSON": json.loads, **functions}

    def take(self, *tokens: str) -> str:
        return self.left.pop(0) if self.left and self.left[0] in tokens else ""

    def alternatives(self) -> Any:
        value = self.conjunction()
        while self.take("||"):
            other = self.conjunction()
            value = value or other
        return value

    def conjunction(self) -> Any:
        value = self.comparison()
        while self.take("&&"):
            other = self.comparison()
            value = value and other
        return value

    def comparison(self) -> Any:
        value = self.operand()
        sign = self.take("==", "!=")
        if not sign:
            return value
        same = as_text(value) == as_text(self.operand())
        return same if sign == "==" else not same

    def operand(self) -> Any:
        if self.take("!"):
            return not self.operand()
        if self.take("("):
            return self.closed(self.alternatives())
        token = self.left.pop(0)
        if token.startswith("'"):
            return token[1:-1].replace("''", "'")
        if self.take("("):
            return self.functions[token](*self.arguments())
        return {"true": True, "false": False}.get(token, self.context(token))

    def arguments(self) -> list[Any]:
        found: list[Any] = []
        while not self.take(")"):
            found.append(self.alternatives())
            self.take(",")
        return found

    def closed(self, value: Any) -> Any:
        assert self.take(")"), "unbalanced"
        return value

    def context(self, name: str) -> Any:
        """A property that is missing is null, as on GitHub; a context that is missing is a mistake."""
        first, *rest = name.split(".")
        value = self.contexts[first] if first not in ("true", "false") else None
        for part in rest:
            value = value.get(part) if isinstance(value, Mapping) else None
        return value


def _contains(where: Any, what: Any) -> bool:
    return what in where
