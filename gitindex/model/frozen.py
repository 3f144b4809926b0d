"""`@frozen`: a frozen dataclass that costs an import next to nothing.

`@dataclass(frozen=True)` writes and compiles six functions for each class, 0.8 ms of every start; a query passes
forty classes. Here the fields come from `dataclass` itself and the six methods are shared by all classes. Type
checkers, `fields`, `replace`, `asdict`, `copy` and `pickle` see no difference; making an instance is slower, so
what a build makes by the million is a NamedTuple. No `__post_init__`, no `InitVar`.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, Never, TypeVar, dataclass_transform

__all__ = ["field", "frozen"]

Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[Kind]) -> type[Kind]:
    """Make a class of annotated fields a frozen value."""
    for name, method in _METHODS.items():
        setattr(kind, name, method)
    if kind.__doc__ is None:
        kind.__doc__ = kind.__name__  # else `dataclass` asks `inspect` for a signature, which is slow
    return dataclass(init=False, repr=False, eq=False)(kind)


def _init(self: Any, *given: object, **named: object) -> None:
    known = self.__dataclass_fields__
    values = dict(zip(known, given, strict=False))
    if len(given) > len(known) or values.keys() & named or named.keys() - known:
        raise TypeError(f"{type(self).__name__} takes {', '.join(known)}; given {given!r} and {named!r}")
    values |= named
    for name, one in known.items():
        if name not in values:
            values[name] = _default(self, one)
    self.__dict__.update(values)


def _default(self: object, one: Any) -> object:
    if one.default is not MISSING:
        return one.default
    if one.default_factory is not MISSING:
        return one.default_factory()
    raise TypeError(f"{type(self).__name__} needs {one.name}")


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _compared(self: Any) -> tuple[object, ...]:
    return tuple(getattr(self, one.name) for one in fields(self) if one.compare)


def _repr(self: Any) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: object, name: str, *_: object) -> Never:
    raise FrozenInstanceError(f"{type(self).__name__} is frozen: {name} stays as it is")


_METHODS = {
    "__init__": _init,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
}
