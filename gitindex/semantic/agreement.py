"""Compares the text of an occurrence with its symbol (SE-7). Pure.

scip-python names a wrong symbol for about one reference in seventy-five: a sibling of the right one. The text in the
file decides. It may differ from the symbol's name for modules, import aliases, constructors, accessors, keywords such
as `self`, and quoted property names. Every other difference is a contradiction, and the occurrence is not exact.
"""

from __future__ import annotations

import re

from gitindex.scip.symbol_grammar import LastDescriptor, parse_last_descriptor

_KEYWORDS = frozenset(
    b"self this super Self cls base crate default new constructor module exports require init "
    b"__init__ __new__ import export typeof global".split()
)
_CONSTRUCTORS = frozenset(
    (b"__init__", b"<init>", b"<constructor>", b".ctor", b".cctor", b"constructor", b"new")
)
_ACCESSOR = re.compile(rb"<(?:get|set)>")
_GETTER = re.compile(rb"(?:get|set|is|with)([A-Z]\w*)")
_WORD = re.compile(rb"[^\W\d][\w$]*", re.ASCII)
# The same as `\bas`; a pattern that starts with letters is found several times quicker.
_AS = re.compile(rb"as(?<!\was)\s+([\w$]+)")
_BEFORE_AS = re.compile(rb"([\w$]+)[\s)*]*$")
_MAX_LOOKBACK_BYTES = 200


class Aliases:
    """The names that one file gives to imported symbols, read from its text at the first call."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._renames: dict[bytes, set[bytes]] | None = None

    def explains(self, text: bytes, last: LastDescriptor, scheme: bytes) -> bool:
        """Whether the file declares `text` as another name of `last`."""
        if not _WORD.fullmatch(text):
            return False
        names = self._read_renames().get(text, ())
        is_module = last.suffix in ("namespace", "meta")
        if last.name in names or (is_module and names):
            return True
        return scheme != b"scip-python" and self._is_declared(
            re.escape(text), re.escape(last.name), is_module
        )

    def _read_renames(self) -> dict[bytes, set[bytes]]:
        """alias → names for every `name as alias` (Python, TypeScript, Rust)."""
        if self._renames is None:
            self._renames = {}
            for match in _AS.finditer(self._source):
                before = _BEFORE_AS.search(
                    self._source, max(0, match.start() - _MAX_LOOKBACK_BYTES), match.start()
                )
                self._renames.setdefault(match[1], set()).add(before[1] if before else b"*")
        return self._renames

    def _is_declared(self, alias: bytes, name: bytes, is_module: bool) -> bool:
        patterns = [
            rb"\b%s\s*:\s*%s\b" % (name, alias),  # destructuring
            rb"\busing\s+%s\s*=[^;\n]*\b%s\b" % (alias, name),  # C#, C++
            rb"\bimport\s+(?:type\s+)?%s\b[^;\n]*\bfrom\b" % alias,  # default import
            rb"\btypedef\b[^;]*\b%s\b[^;]*\b%s\s*;" % (name, alias),
        ]
        if is_module:
            # The first: a module imported by a name that another module gave it.
            patterns += [
                rb"\bimport\b[^;]{0,400}?\b%s\b" % alias,
                rb"\b%s\s+[\"']" % alias,
                rb"\b%s\s*=\s*require\b" % alias,
            ]
        return any(re.search(pattern, self._source) for pattern in patterns)


def agrees_anywhere(text: bytes, symbol: bytes, last: LastDescriptor) -> bool:
    """Whether text and symbol agree whatever the file says; the answer can be cached for all files."""
    if not text or text == last.name or text in _KEYWORDS:
        return True
    before, _, after = text.partition(b" as ")
    if after:  # some tools give `name as alias` one range
        return agrees_anywhere(before.strip(), symbol, last)
    unquoted = text.strip(b"'\"`")
    if unquoted == last.name or _is_decorated_name(unquoted, last) or _is_decorated_name(text, last):
        return True
    parent = _find_constructed_type(symbol, last)
    if parent is not None and agrees_anywhere(text, symbol[: last.start], parent):
        return True
    if last.suffix == "namespace" and unquoted != text:
        return True  # a quoted import: settings of the package may map it to any file
    return last.suffix in ("namespace", "meta") and _names_module(unquoted, symbol, last)


def is_renamed_in_file(text: bytes, symbol: bytes, last: LastDescriptor, aliases: Aliases) -> bool:
    """Whether this file declares the text as a name of the symbol, or of the type that the symbol constructs."""
    unquoted = text.partition(b" as ")[0].strip(b" '\"`")
    scheme = symbol.partition(b" ")[0]
    if aliases.explains(unquoted, last, scheme):
        return True
    parent = _find_constructed_type(symbol, last)
    return parent is not None and aliases.explains(unquoted, parent, scheme)


def _find_constructed_type(symbol: bytes, last: LastDescriptor) -> LastDescriptor | None:
    """The type that the symbol constructs; None for anything but a constructor."""
    if last.name in _CONSTRUCTORS and last.suffix in ("method", "meta", "term"):
        return parse_last_descriptor(symbol[: last.start])
    return None


def _is_decorated_name(text: bytes, last: LastDescriptor) -> bool:
    """Whether only a decoration differs that tools add: accessors, numbered literals, operators, destructors."""
    name = last.name
    if _ACCESSOR.sub(b"", name) == text or name.lstrip(b"~") == text.lstrip(b"~"):
        return True
    if last.suffix == "meta" and name.startswith(text) and name[len(text) :].isdigit():
        return True
    if name.startswith(b"operator") and not _WORD.fullmatch(text):
        return True
    getter = _GETTER.fullmatch(name) or _GETTER.fullmatch(text)
    return getter is not None and getter[1].lower() in (text.lower(), name.lower())


def _names_module(text: bytes, symbol: bytes, last: LastDescriptor) -> bool:
    """Whether the text names the module: by any dotted or slashed part of its path, relative or with a file suffix."""
    text_parts = [part for part in re.split(rb"[./\\:]+", text) if part]
    path = symbol[: last.end].rpartition(b" ")[2].replace(b"`", b"")
    module_parts = set(re.split(rb"[./\\:@]+", path))
    return (
        not text_parts
        or text_parts[-1] in module_parts
        or (len(text_parts) > 1 and text_parts[-2] in module_parts)
    )
