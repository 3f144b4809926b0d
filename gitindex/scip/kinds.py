"""The kind of a symbol, in the words that extracted symbols use: from SCIP's kind number, else from its descriptor."""

from __future__ import annotations

from gitindex.scip.symbol_grammar import LastDescriptor, parse_last_descriptor

_KIND_NUMBERS = {
    "class": (7, 20, 33, 75),
    "method": (9, 18, 26, 45, 66, 67, 68, 69, 70, 71, 72, 74, 76, 80),
    "function": (17, 34),
    "interface": (21, 42, 86),
    "trait": (53, 56, 85),
    "struct": (46, 49, 59),
    "enum": (11,),
    "constant": (8, 12, 60),
    "module": (16, 29, 30, 35, 36, 64),
    "macro": (25,),
    "type": (3, 10, 54, 55, 57, 58, 73),
    "field": (4, 13, 15, 41, 47, 77, 78, 79, 81),
    "variable": (61, 82),
    "parameter": (27, 37, 38, 44, 52),
}
_KIND_BY_NUMBER = {number: kind for kind, numbers in _KIND_NUMBERS.items() for number in numbers}
_KIND_BY_SUFFIX = {
    "namespace": "module",
    "meta": "module",
    "type": "class",
    "macro": "macro",
    "type_parameter": "type",
    "parameter": "parameter",
}


def kind_of(number: int, symbol: bytes, last: LastDescriptor | None) -> str:
    """`number` is SCIP's kind, 0 for none; `last` is the last descriptor of `symbol`, None for a local: a variable."""
    kind = _KIND_BY_NUMBER.get(number)
    if kind or last is None:
        return kind or "variable"
    if last.suffix in _KIND_BY_SUFFIX:
        return _KIND_BY_SUFFIX[last.suffix]
    parent = parse_last_descriptor(symbol[: last.start])
    in_type = parent is not None and parent.suffix == "type"
    if last.suffix == "method":
        return "method" if in_type else "function"
    return "field" if in_type else "variable"
