"""Answers as JSON: the one way from a frozen value to plain dictionaries and lists.

A field becomes a key of the same name. The metadata of a field may say otherwise: `EMBEDDED` puts the fields of its
value in its place, `OPTIONAL` leaves the key out while the value is None, false or empty, `json_key` gives the key
another name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

EMBEDDED: Mapping[str, Any] = {"embedded": True}
OPTIONAL: Mapping[str, Any] = {"optional": True}

Value = TypeVar("Value")


def json_key(name: str, *, optional: bool = False) -> Mapping[str, Any]:
    """Metadata of a field whose key a source document fixes, or that Python does not allow as a name."""
    return {"key": name, "optional": optional}


def to_json(value: Any) -> Any:
    """A value made of dataclasses, NamedTuples, mappings and sequences as what `json.dumps` takes."""
    if is_dataclass(value) and not isinstance(value, type):
        return _fields_to_json(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: to_json(item) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, list | tuple):
        return list(
            map(to_json, value)
        )  # `map`, not a comprehension: one stack frame less per level of an outline
    return value


def _fields_to_json(value: Any) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for spec in fields(value):
        item = getattr(value, spec.name)
        if spec.metadata.get("embedded"):
            data.update(to_json(item) if item is not None else {})
        elif not (spec.metadata.get("optional") and _is_empty(item)):
            data[spec.metadata.get("key", spec.name)] = to_json(item)
    return data


def _is_empty(item: object) -> bool:
    """None, false, "" or an empty collection. Zero is a number like any other."""
    return item is None or item is False or (isinstance(item, Sized) and len(item) == 0)


def read_field(value: Any, name: str) -> Any:
    """A field of a value or of what is embedded in it; None without one."""
    holder = _find_holder(value, name)
    return None if holder is None else getattr(holder, name)


def replace_field(value: Value, name: str, item: object) -> Value:
    """A copy with another value in one field, of its own or of what is embedded in it.

    Raises KeyError when nothing has the field.
    """
    own_fields = {spec.name: spec for spec in fields(value)}  # type: ignore[arg-type]
    if name in own_fields:
        return replace(value, **{name: item})  # type: ignore[type-var]
    for spec in own_fields.values():
        embedded = getattr(value, spec.name)
        if spec.metadata.get("embedded") and _find_holder(embedded, name) is not None:
            return replace(value, **{spec.name: replace_field(embedded, name, item)})  # type: ignore[type-var]
    raise KeyError(name)


def _find_holder(value: Any, name: str) -> Any:
    if value is None:
        return None
    for spec in fields(value):
        if spec.name == name:
            return value
        if spec.metadata.get("embedded"):
            holder = _find_holder(getattr(value, spec.name), name)
            if holder is not None:
                return holder
    return None
