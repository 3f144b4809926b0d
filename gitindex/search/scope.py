"""Where a hit may lie: filters of the request and of the query text, resolved against the files of a snapshot. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from gitindex.files.ignore import Ignore, IgnoreRules
from gitindex.search.filekind import KINDS as FILE_KINDS
from gitindex.search.filekind import file_kind
from gitindex.search.parse import Query, normalize_language
from gitindex.search.request import Request

_GLOB = frozenset("*?[")


class SearchScope(NamedTuple):
    """None allows everything; an empty set allows nothing."""

    paths: frozenset[str] | None = None
    languages: frozenset[str] | None = None
    kinds: frozenset[str] | None = None  # symbol kinds
    not_languages: frozenset[str] = frozenset()
    not_kinds: frozenset[str] = frozenset()

    @property
    def is_unrestricted(self) -> bool:
        return self == SearchScope()

    @property
    def is_empty(self) -> bool:
        return any(
            allowed is not None and not allowed for allowed in (self.paths, self.languages, self.kinds)
        )

    def admits_path(self, path: str) -> bool:
        """May a file be named that nothing in it was asked about? Only where no chunk of it need pass a filter."""
        return (self.paths is None or path in self.paths) and self._replace(paths=None) == SearchScope()

    def admits(self, path: str, language: str, kind: str) -> bool:
        return (
            (self.paths is None or path in self.paths)
            and (self.languages is None or language in self.languages)
            and (self.kinds is None or kind in self.kinds)
            and language not in self.not_languages
            and kind not in self.not_kinds
        )


def resolve(
    request: Request,
    query: Query,
    note_paths: Iterable[str] | None,
    file_languages: Callable[[], Mapping[str, str]],
) -> SearchScope:
    """`note_paths`: what the metadata filters leave, None without such filters; `file_languages`: path → language."""
    wanted = {kind.lower() for kind in request.kinds} | set(query.only.kinds)
    unwanted = set(query.without.kinds)
    tests = _compile_path_tests(request, query, wanted, unwanted)
    paths = None if note_paths is None else frozenset(note_paths)
    if tests:
        known = file_languages() if paths is None else paths
        paths = frozenset(path for path in known if all(test(path) for test in tests))
    languages = {normalize_language(name) for name in request.languages} | set(query.only.languages)
    symbols = wanted - set(FILE_KINDS)
    return SearchScope(
        paths,
        frozenset(languages) or None,
        frozenset(symbols) or None,
        frozenset(query.without.languages),
        frozenset(unwanted - set(FILE_KINDS)),
    )


def _compile_path_tests(
    request: Request, query: Query, included_kinds: set[str], excluded_kinds: set[str]
) -> list[Callable[[str], bool]]:
    """Conditions on a path, all of which must hold."""
    tests: list[Callable[[str], bool]] = []
    if request.globs:
        tests.append(compile_globs(request.globs))
    if query.only.paths:
        tests.append(_any_of([_compile_path_test(value) for value in query.only.paths]))
    tests += [_negate(_compile_path_test(value)) for value in query.without.paths]
    kinds, others = included_kinds & set(FILE_KINDS), excluded_kinds & set(FILE_KINDS)
    if kinds:
        tests.append(lambda path: file_kind(path) in kinds)
    if others:
        tests.append(lambda path: file_kind(path) not in others)
    return tests


def compile_globs(globs: tuple[str, ...]) -> Callable[[str], bool]:
    """The ignore language: `*.py` at any depth, `src/**`, a directory stands for what is below it."""
    rules = Ignore([IgnoreRules.from_globs(globs)])
    return lambda path: rules.is_ignored(path, False)


def _compile_path_test(value: str) -> Callable[[str], bool]:
    if _GLOB & set(value):
        return compile_globs((value,))
    lowered = value.lower()
    return lambda path: lowered in path.lower()


def _any_of(tests: list[Callable[[str], bool]]) -> Callable[[str], bool]:
    return lambda path: any(test(path) for test in tests)


def _negate(test: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda path: not test(path)
