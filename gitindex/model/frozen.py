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
def frozen(cls: type[Kind]) -> type[Kind]:
    """Make a class of annotated fields a frozen value."""
    for name, method in _METHODS.items():
        setattr(cls, name, method)
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # else `dataclass` asks `inspect` for a signature, which is slow
    return dataclass(init=False, repr=False, eq=False)(cls)


def _init(self: Any, *args: object, **kwargs: object) -> None:
    specs = self.__dataclass_fields__
    values = dict(zip(specs, args, strict=False))
    if len(args) > len(specs) or values.keys() & kwargs or kwargs.keys() - specs:
        raise TypeError(f"{type(self).__name__} takes {', '.join(specs)}; given {args!r} and {kwargs!r}")
    values |= kwargs
    for name, spec in specs.items():
        if name not in values:
            values[name] = _default_value(self, spec)
    self.__dict__.update(values)


def _default_value(self: object, spec: Any) -> object:
    if spec.default is not MISSING:
        return spec.default
    if spec.default_factory is not MISSING:
        return spec.default_factory()
    raise TypeError(f"{type(self).__name__} needs {spec.name}")


def _eq(self: Any, other: object) -> bool:
    return _compared_values(self) == _compared_values(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared_values(self))


def _compared_values(self: Any) -> tuple[object, ...]:
    return tuple(getattr(self, spec.name) for spec in fields(self) if spec.compare)


def _repr(self: Any) -> str:
    parts = (f"{spec.name}={getattr(self, spec.name)!r}" for spec in fields(self) if spec.repr)
    return f"{type(self).__qualname__}({', '.join(parts)})"


def _refuse_change(self: object, name: str, *_: object) -> Never:
    raise FrozenInstanceError(f"{type(self).__name__} is frozen: {name} stays as it is")


_METHODS = {
    "__init__": _init,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _refuse_change,
    "__delattr__": _refuse_change,
}
