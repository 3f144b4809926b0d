"""Ties a name in a file to the definition it stands for, by rules of scope and import alone.

A rule decides when it yields exactly one definition; any other result is marked undecided (`sure=False`). That only one
definition has a name decides nothing: most false call edges of name matchers come from that shortcut.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from typing import NamedTuple

from gitindex.navigate import fact_queries
from gitindex.navigate.fact_queries import (
    CALLABLES,
    CONTAINERS,
    PACKAGE_SCOPE,
    DefinitionSite,
    ImportSite,
    language_family,
)
from gitindex.navigate.modules import Modules
from gitindex.navigate.parameters import read_parameters
from gitindex.view.snapshot import SnapshotView

_SELF = frozenset({"self", "this", "cls", "Self", "$this", "static", "@"})
_SUPER = frozenset({"super", "super()", "base", "parent"})
# Members of the enclosing type are in scope without a receiver.
_IMPLICIT_THIS = frozenset({"java", "kotlin", "scala", "csharp", "cpp", "swift", "ruby"})
_CONSTRUCTION = re.compile(r"(?:new\s+)?([A-Za-z_$][\w$]*)\s*\(.*\)$", re.S)
_BASES = re.compile(r"[(:<]|\bextends\b|\bimplements\b")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_NOISE = frozenset(
    {"class", "extends", "implements", "public", "private", "protected", "internal", "virtual", "metaclass"}
)
_MAX_DEPTH = 4


class Resolution(NamedTuple):
    """`sure`: a rule decided on exactly one definition, or on none: a parameter. Otherwise `targets` are candidates."""

    targets: tuple[DefinitionSite, ...]
    how: str
    sure: bool


class FileScope(NamedTuple):
    path: str
    language: str
    definitions: list[DefinitionSite]
    by_name: dict[str, list[DefinitionSite]]
    imports: list[ImportSite]

    def enclosing_chain(self, ordinal: int) -> list[DefinitionSite]:
        """The definition and what encloses it, innermost first."""
        chain = []
        while 0 <= ordinal < len(self.definitions):
            chain.append(self.definitions[ordinal])
            ordinal = chain[-1].parent
        return chain

    def innermost_ordinal(self, line: int) -> int:
        """Ordinal of the innermost definition around a line, -1 at file level."""
        inside = [item for item in self.definitions if item.spans(line)]
        return max(inside, key=lambda item: (item.line, item.ordinal)).ordinal if inside else -1

    def sees_import(self, site: ImportSite, scope: int) -> bool:
        """An import inside a function is known there only; -1 asks for the top of the file."""
        around = self.enclosing_chain(self.innermost_ordinal(site.line))
        function = next((item for item in around if item.kind in CALLABLES), None)
        return function is None or function in self.enclosing_chain(scope)

    def is_parameter(self, name: str, scope: int) -> bool:
        """Is the name a parameter of an enclosing function, and no definition nearer than that?"""
        for enclosing in self.enclosing_chain(scope):
            if enclosing.kind not in CALLABLES:
                continue
            if any(item.parent == enclosing.ordinal for item in self.by_name.get(name, ())):
                return False
            if name in read_parameters(enclosing.signature, enclosing.name, self.language):
                return True
        return False


class Resolver:
    """Resolves names of one snapshot; caches what it reads."""

    def __init__(self, view: SnapshotView) -> None:
        self._view = view
        self._files: dict[str, FileScope] = {}
        self._by_name: dict[str, list[DefinitionSite]] = {}
        self._targets: dict[tuple[str, str, str], tuple[str, ...]] = {}

    @cached_property
    def languages(self) -> dict[str, str]:
        return fact_queries.read_languages(self._view)

    @cached_property
    def modules(self) -> Modules:
        return Modules(self.languages)

    def load_file(self, path: str) -> FileScope:
        if path not in self._files:
            definitions = fact_queries.definitions_in(self._view, path)
            by_name: dict[str, list[DefinitionSite]] = defaultdict(list)
            for item in definitions:
                by_name[item.name].append(item)
            language = self.languages.get(path, "")
            self._files[path] = FileScope(
                path, language, definitions, by_name, fact_queries.imports_in(self._view, path)
            )
        return self._files[path]

    def definitions_named(self, name: str) -> list[DefinitionSite]:
        if name not in self._by_name:
            self._by_name[name] = fact_queries.definitions_named(self._view, name)
        return self._by_name[name]

    def import_files(self, site: ImportSite) -> tuple[str, ...]:
        key = (site.path, site.module, site.name)
        if key not in self._targets:
            self._targets[key] = self.modules.find_files(site)
        return self._targets[key]

    def resolve_import(self, site: ImportSite) -> list[DefinitionSite]:
        """What an import statement brings in."""
        return self._find_exported(self.import_files(site), site.name, language_family(site.language))

    def resolve(self, path: str, name: str, receiver: str, scope: int) -> Resolution:
        """What `receiver.name` means inside definition number `scope` of the file."""
        file = self.load_file(path)
        if not receiver and file.is_parameter(name, scope):
            return Resolution((), "parameter", sure=True)
        if receiver:
            definitions, how = self._resolve_member(file, name, receiver, scope, 0)
        else:
            definitions, how = self._resolve_bare(file, name, scope)
        if len(definitions) == 1:
            return Resolution((definitions[0],), how, sure=True)
        if definitions:
            return Resolution(tuple(definitions), how, sure=False)
        return Resolution(self._same_name_definitions(file, name, receiver), "name", sure=False)

    # -- bare names ----------------------------------------------------------------------------

    def _resolve_bare(self, file: FileScope, name: str, scope: int) -> tuple[list[DefinitionSite], str]:
        local = self._find_in_scope(file, name, scope)
        if local:
            return local, "same_file"
        imported = self._find_imported(file, name, scope)
        if imported:
            return imported, "import"
        if file.language in PACKAGE_SCOPE:
            package = self._find_top_level(
                self.modules.neighbours(file.path), name, language_family(file.language)
            )
            if package:
                return package, "same_package"
        return self._find_top_level(
            self._wildcard_files(file), name, language_family(file.language)
        ), "import"

    def _find_in_scope(self, file: FileScope, name: str, scope: int) -> list[DefinitionSite]:
        """Innermost first: what the enclosing definitions hold, then the top of the file."""
        same_name = file.by_name.get(name, ())
        if not same_name:
            return []
        for enclosing in file.enclosing_chain(scope):
            if enclosing.kind in CONTAINERS and file.language not in _IMPLICIT_THIS:
                continue
            inner = [
                item
                for item in same_name
                if item.parent == enclosing.ordinal or item.owner == enclosing.qualified_name
            ]
            if inner:
                return _keep_last(inner)
        return _keep_last(
            [item for item in same_name if item.parent < 0 and (not item.owner or item.kind not in CALLABLES)]
        )

    def _find_imported(self, file: FileScope, name: str, scope: int) -> list[DefinitionSite]:
        for site in file.imports:
            if site.local_name != name or site.name == "*" or not file.sees_import(site, scope):
                continue
            real = name if site.name in ("", "default") else site.name
            definitions = self._find_exported(self.import_files(site), real, language_family(file.language))
            if definitions:
                return definitions
        return []

    def _wildcard_files(self, file: FileScope) -> list[str]:
        """Files whose names come in without being spelled: wildcards and C includes, headers with their bodies."""
        paths: list[str] = []
        for site in file.imports:
            if site.name == "*" and not site.alias:
                paths.extend(self.import_files(site))
            elif language_family(file.language) == "c" and not site.name:
                for header in self.import_files(site):
                    paths.extend((header, *self.modules.implementation_files(header)))
            elif file.language in ("bash", "ruby", "lua", "php") and not site.name:
                paths.extend(self.import_files(site))
        return list(dict.fromkeys(paths))

    def _find_exported(
        self, paths: tuple[str, ...], name: str, family_name: str, depth: int = 0
    ) -> list[DefinitionSite]:
        """Definitions that some files offer under a name: their own, or what they import to pass on."""
        definitions = self._find_top_level(paths, name, family_name)
        if definitions or depth >= _MAX_DEPTH or not self.definitions_named(name):
            return definitions
        for path in paths:
            exporter = self.load_file(path)
            for site in exporter.imports:
                if site.local_name == name and site.name and exporter.sees_import(site, -1):
                    definitions = self._find_exported(
                        self.import_files(site), site.name, family_name, depth + 1
                    )
                elif site.name == "*" and not site.alias:
                    definitions = self._find_exported(self.import_files(site), name, family_name, depth + 1)
                if definitions:
                    return definitions
        return []

    def _find_top_level(
        self, paths: tuple[str, ...] | list[str], name: str, family_name: str
    ) -> list[DefinitionSite]:
        """Top-level definitions of a name in some files. A declaration yields to its implementation."""
        path_set = set(paths)
        definitions = [
            item
            for item in self.definitions_named(name)
            if item.path in path_set
            and item.parent < 0
            and language_family(item.language) == family_name
            and _is_reachable_by_name(item)
        ]
        if len(definitions) > 1 and family_name == "c":
            bodies = [item for item in definitions if not item.path.endswith((".h", ".hh", ".hpp", ".hxx"))]
            definitions = bodies or definitions
        return definitions

    # -- members -------------------------------------------------------------------------------

    def _resolve_member(
        self, file: FileScope, name: str, receiver: str, scope: int, depth: int
    ) -> tuple[list[DefinitionSite], str]:
        if receiver in _SELF or receiver in _SUPER:
            return self._resolve_own_member(file, name, receiver, scope)
        construction = _CONSTRUCTION.fullmatch(receiver)
        words = re.split(r"\.|::|->", construction[1] if construction else receiver)
        if file.is_parameter(words[0], scope):
            return [], ""  # of a type that nothing here names
        module = self._find_module_member(file, name, receiver, scope)
        if module:
            return module, "import"
        if not all(_WORD.fullmatch(word) for word in words) or len(words) > 2 or depth > _MAX_DEPTH:
            return [], ""
        if len(words) == 2:
            owners, _ = self._resolve_member(file, words[1], words[0], scope, depth + 1)
        else:
            owners, _ = self._resolve_bare(file, words[0], scope)
        owners = [item for item in owners if item.kind in CONTAINERS]
        return (self._find_members(owners[0], name, 0), "class") if len(owners) == 1 else ([], "")

    def _resolve_own_member(
        self, file: FileScope, name: str, receiver: str, scope: int
    ) -> tuple[list[DefinitionSite], str]:
        owner = self._enclosing_type(file, scope)
        if owner is None:
            return [], ""
        if receiver in _SELF:
            own = self._find_direct_members(owner, name)
            if own:
                return _keep_last(own), "same_class"
        return self._find_inherited(owner, name, 0), "inherited"

    def _enclosing_type(self, file: FileScope, scope: int) -> DefinitionSite | None:
        for enclosing in file.enclosing_chain(scope):
            if enclosing.kind in CONTAINERS:
                return enclosing
            if enclosing.owner:  # methods written outside their type, as in Go, Rust and C++
                short = enclosing.owner.rpartition(".")[2]
                types = [item for item in self.definitions_named(short) if item.kind in CONTAINERS]
                nearby = [item for item in types if item.path == file.path] or types
                if len(nearby) == 1:
                    return nearby[0]
        return None

    def _find_module_member(
        self, file: FileScope, name: str, receiver: str, scope: int
    ) -> list[DefinitionSite]:
        for site in file.imports:
            if receiver not in _module_names(site) or not file.sees_import(site, scope):
                continue
            definitions = self._find_exported(self.import_files(site), name, language_family(file.language))
            if definitions:
                return definitions
        return []

    def _find_members(self, owner: DefinitionSite, name: str, depth: int) -> list[DefinitionSite]:
        return _keep_last(self._find_direct_members(owner, name)) or self._find_inherited(owner, name, depth)

    def _find_direct_members(self, owner: DefinitionSite, name: str) -> list[DefinitionSite]:
        return [
            item
            for item in self.definitions_named(name)
            if item.owner == owner.qualified_name
            and (item.path == owner.path or self._same_package(item, owner))
        ]

    def _same_package(self, item: DefinitionSite, owner: DefinitionSite) -> bool:
        here, there = item.path.rpartition("/")[0], owner.path.rpartition("/")[0]
        return (
            here == there
            and language_family(item.language) == language_family(owner.language)
            and item.language in ("go", "cpp", "c")
        )

    def _find_inherited(self, owner: DefinitionSite, name: str, depth: int) -> list[DefinitionSite]:
        """Members of base types, as far as the signature names them and they resolve."""
        if depth >= _MAX_DEPTH:
            return []
        file = self.load_file(owner.path)
        for base in _base_names(owner):
            definitions, _ = self._resolve_bare(file, base, owner.parent)
            types = [item for item in definitions if item.kind in CONTAINERS and item.place != owner.place]
            if len(types) == 1 and (members := self._find_members(types[0], name, depth + 1)):
                return members
        return []

    # -- candidates by name -------------------------------------------------------------------------------

    def _same_name_definitions(self, file: FileScope, name: str, receiver: str) -> tuple[DefinitionSite, ...]:
        family_name = language_family(file.language)
        return tuple(
            item
            for item in self.definitions_named(name)
            if language_family(item.language) == family_name
            and item.kind in (CALLABLES | CONTAINERS)
            and (bool(item.owner) or not receiver or family_name in ("ecma", "lua"))
        )


def _is_reachable_by_name(item: DefinitionSite) -> bool:
    """Reachable by its bare name from another file."""
    return not item.owner or item.kind in CONTAINERS or item.kind not in ("method", "field")


def _keep_last(definitions: list[DefinitionSite]) -> list[DefinitionSite]:
    """Of several definitions of one name in one scope the last one holds (overloads and rebinding)."""
    return definitions[-1:]


def _module_names(site: ImportSite) -> tuple[str, ...]:
    """Names by which members of the imported module are reached in the importing file."""
    if site.alias:
        return (site.alias,)
    if site.name not in ("", "*"):
        return (site.name,)
    return (site.module, re.split(r"[./:\\]+", site.module.strip("./"))[-1])


def _base_names(owner: DefinitionSite) -> list[str]:
    head = owner.signature.partition(owner.name)[2]
    if not _BASES.search(head):
        return []
    return [word for word in _WORD.findall(head) if word not in _NOISE][:6]
