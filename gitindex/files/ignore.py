"""Git's ignore rules (EL-5), for rule files git itself would not read. Pure; git is the oracle in tests.

Used for `.gitindexignore`, which holds for tracked files too, and for `.gitignore` files without git.
Rules work on raw bytes, as git's do; a `str` path is encoded as UTF-8. Every path is compared with every rule, so a
file with too many bytes or rules is refused: leaving some rules out would index files that they exclude.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Self

from gitindex.errors import ConfigError
from gitindex.files.glob import MalformedPattern, compile_glob, is_literal
from gitindex.model.frozen import frozen

MAX_BYTES = 256 * 1024
MAX_RULES = 5_000  # of one file; compiled in about a second at worst
_BOM = b"\xef\xbb\xbf"


@frozen
class Rule:
    negated: bool
    directory_only: bool
    basename: bool  # no slash inside: compared with the last component at any depth
    literal: bytes | None
    suffix: bytes | None  # of "*suffix"
    expression: re.Pattern[bytes] | None

    def matches(self, path: bytes, name: bytes) -> bool:
        """`path` is relative to the rule file's directory, `name` its last component."""
        text = name if self.basename else path
        if self.literal is not None:
            return text == self.literal
        if self.suffix is not None:
            return text.endswith(self.suffix)
        return self.expression is not None and self.expression.match(text) is not None


@frozen
class IgnoreRules:
    """One rule file: the directory it stands in ("" for the root) and its rules in order."""

    base: bytes
    rules: tuple[Rule, ...]

    @classmethod
    def parse(cls, base: str | bytes, data: bytes, name: str = "an ignore file") -> Self:
        """Raises ConfigError for a file of too many bytes or rules."""
        if len(data) > MAX_BYTES or sum(1 for _ in _split_lines(data)) > MAX_RULES:
            raise ConfigError(
                f"{name} has more than {MAX_RULES:,} rules or {MAX_BYTES:,} bytes",
                hint="use fewer, wider patterns",
            )
        rules = (_parse_rule(line) for line in _split_lines(data.removeprefix(_BOM)))
        return cls(_to_bytes(base).strip(b"/"), tuple(rule for rule in rules if rule is not None))

    @classmethod
    def from_globs(cls, patterns: Iterable[str]) -> Self:
        """Configured globs: the same language, without comments."""
        rules = (_parse_rule(pattern.encode("utf-8", "surrogateescape")) for pattern in patterns)
        return cls(b"", tuple(rule for rule in rules if rule is not None))

    def decide(self, path: bytes, *, is_dir: bool) -> bool | None:
        """Whether the last matching rule ignores this very path, given from the root; None without such a rule."""
        inner = path[len(self.base) + 1 :] if self.base else path
        name = path.rpartition(b"/")[2]
        for rule in reversed(self.rules):
            if (is_dir or not rule.directory_only) and rule.matches(inner, name):
                return not rule.negated
        return None


class Ignore:
    """The rule files of one tree. Immutable; caches its decisions on directories."""

    def __init__(self, files: Iterable[IgnoreRules] = ()) -> None:
        self._by_base = {rules.base: rules for rules in files if rules.rules}
        self._directories: dict[bytes, bool] = {}

    def with_rules(self, rules: IgnoreRules) -> Ignore:
        """A new object with these rules and one more file."""
        return Ignore((*self._by_base.values(), rules))

    def is_ignored(self, path: str | bytes, is_dir: bool) -> bool:
        """Whether git would ignore the path: nothing below an ignored directory can be re-included."""
        if not self._by_base:
            return False
        raw = _to_bytes(path)
        return self._is_directory_ignored(raw.rpartition(b"/")[0]) or bool(self.decide(raw, is_dir=is_dir))

    def decide(self, path: bytes, *, is_dir: bool) -> bool | None:
        """The decision of the deepest rule file that has one on this very path, whatever holds for its parents."""
        for base in _parent_directories(path):
            rules = self._by_base.get(base)
            decision = rules.decide(path, is_dir=is_dir) if rules else None
            if decision is not None:
                return decision
        return None

    def _is_directory_ignored(self, path: bytes) -> bool:
        """From the root down, in a loop: a path may be deeper than Python's recursion limit."""
        if path in self._directories:
            return self._directories[path]
        above = [parent for parent in (path, *_parent_directories(path)) if parent]
        parent_ignored = False
        for parent in reversed(above):
            if parent not in self._directories:
                self._directories[parent] = parent_ignored or bool(self.decide(parent, is_dir=True))
            parent_ignored = self._directories[parent]
        return parent_ignored


def fingerprint_rules(files: Mapping[str, bytes]) -> str:
    """`ignore_fingerprint` (CF-2): rule files in path order, each hashed as path NUL bytes."""
    digest = hashlib.sha256()
    for path, data in sorted((key.encode(), data) for key, data in files.items()):
        digest.update(hashlib.sha256(path + b"\0" + data).digest())
    return digest.hexdigest()


def _to_bytes(path: str | bytes) -> bytes:
    return path.encode("utf-8", "surrogateescape") if isinstance(path, str) else path


def _parent_directories(path: bytes) -> Iterator[bytes]:
    """Directories above the path, deepest first, the root last."""
    while path:
        path = path.rpartition(b"/")[0]
        yield path


def _split_lines(data: bytes) -> Iterator[bytes]:
    for line in data.split(b"\n"):
        text = line.removesuffix(b"\r")
        if text and not text.startswith(b"#"):
            yield _trim_spaces(text.partition(b"\0")[0])


def _trim_spaces(line: bytes) -> bytes:
    """Without trailing spaces, unless a backslash keeps the first of them."""
    text = line.rstrip(b" ")
    backslashes = len(text) - len(text.rstrip(b"\\"))
    return text + b" " if text != line and backslashes % 2 else text


def _parse_rule(line: bytes) -> Rule | None:
    """None for a line that can match nothing."""
    negated = line.startswith(b"!")
    body = line[1:] if negated else line
    directory_only = body.endswith(b"/")
    pattern = body[:-1] if directory_only else body
    basename = b"/" not in pattern
    pattern = pattern.removeprefix(b"/")
    if not pattern:
        return None
    literal = pattern if is_literal(pattern) else None
    suffix = pattern[1:] if basename and pattern.startswith(b"*") and is_literal(pattern[1:]) else None
    expression = None
    if literal is None and suffix is None:
        try:
            expression = compile_glob(pattern)
        except MalformedPattern:
            return None
    return Rule(negated, directory_only, basename, literal, suffix, expression)
