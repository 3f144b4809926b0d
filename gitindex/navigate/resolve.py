"""Ties a name in a file to the definition it stands for, by rules of scope and import alone.

A rule either decides or stays silent; when none decides, the answer is a guess and says so. A name that is merely
unique is not decided: most invented call edges of name matchers come from that shortcut.
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
    Definition,
    ImportSite,
    family,
)
from gitindex.navigate.modules import Modules
from gitindex.view.snapshot import SnapshotView

_SELF = frozenset({"self", "this", "cls", "Self", "$this", "static", "@"})
_SUPER = frozenset({"super", "super()", "base", "parent"})
# Members of the enclosing type are in scope without a receiver.
_IMPLICIT_THIS = frozenset({"java", "kotlin", "scala", "csharp", "cpp", "swift", "ruby"})
_MADE = re.compile(r"(?:new\s+)?([A-Za-z_$][\w$]*)\s*\(.*\)$", re.S)
_BASES = re.compile(r"[(:<]|\bextends\b|\bimplements\b")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_NOISE = frozenset(
    {"class", "extends", "implements", "public", "private", "protected", "internal", "virtual", "metaclass"}
)
_DEEPEST = 4


class Resolution(NamedTuple):
    """`sure`: a rule decided on exactly one definition. Otherwise `targets` are candidates."""

    targets: tuple[Definition, ...]
    how: str
    sure: bool


class File(NamedTuple):
    path: str
    language: str
    definitions: list[Definition]
    by_name: dict[str, list[Definition]]
    imports: list[ImportSite]

    def chain(self, ordinal: int) -> list[Definition]:
        """The definition and what encloses it, innermost first."""
        found = []
        while 0 <= ordinal < len(self.definitions):
            found.append(self.definitions[ordinal])
            ordinal = found[-1].parent
        return found

    def innermost(self, line: int) -> int:
        """Ordinal of the innermost definition around a line, -1 at file level."""
        inside = [item for item in self.definitions if item.spans(line)]
        return max(inside, key=lambda item: (item.line, item.ordinal)).ordinal if inside else -1


class Resolver:
    """Answers for one snapshot; remembers what it read."""

    def __init__(self, view: SnapshotView) -> None:
        self._view = view
        self._files: dict[str, File] = {}
        self._named: dict[str, list[Definition]] = {}
        self._targets: dict[tuple[str, str, str], tuple[str, ...]] = {}

    @cached_property
    def languages(self) -> dict[str, str]:
        return fact_queries.languages(self._view)

    @cached_property
    def modules(self) -> Modules:
        return Modules(self.languages)

    def file(self, path: str) -> File:
        if path not in self._files:
            definitions = fact_queries.in_file(self._view, path)
            by_name: dict[str, list[Definition]] = defaultdict(list)
            for item in definitions:
                by_name[item.name].append(item)
            language = self.languages.get(path, "")
            self._files[path] = File(
                path, language, definitions, by_name, fact_queries.imports_in(self._view, path)
            )
        return self._files[path]

    def named(self, name: str) -> list[Definition]:
        if name not in self._named:
            self._named[name] = fact_queries.named(self._view, name)
        return self._named[name]

    def import_files(self, site: ImportSite) -> tuple[str, ...]:
        key = (site.path, site.module, site.name)
        if key not in self._targets:
            self._targets[key] = self.modules.files(site)
        return self._targets[key]

    def imported(self, site: ImportSite) -> list[Definition]:
        """What an import statement brings in."""
        return self._exported(self.import_files(site), site.name, family(site.language))

    def resolve(self, path: str, name: str, receiver: str, scope: int) -> Resolution:
        """What `receiver.name` means inside definition number `scope` of the file."""
        file = self.file(path)
        if receiver:
            found, how = self._member(file, name, receiver, scope, 0)
        else:
            found, how = self._bare(file, name, scope)
        if len(found) == 1:
            return Resolution((found[0],), how, sure=True)
        if found:
            return Resolution(tuple(found), how, sure=False)
        return Resolution(self._candidates(file, name, receiver), "name", sure=False)

    # -- bare names ----------------------------------------------------------------------------

    def _bare(self, file: File, name: str, scope: int) -> tuple[list[Definition], str]:
        local = self._in_scope(file, name, scope)
        if local:
            return local, "same_file"
        imported = self._imported(file, name)
        if imported:
            return imported, "import"
        if file.language in PACKAGE_SCOPE:
            package = self._tops(self.modules.neighbours(file.path), name, family(file.language))
            if package:
                return package, "same_package"
        return self._tops(self._open_imports(file), name, family(file.language)), "import"

    def _in_scope(self, file: File, name: str, scope: int) -> list[Definition]:
        """Innermost first: what the enclosing definitions hold, then the top of the file."""
        same = file.by_name.get(name, ())
        if not same:
            return []
        for around in file.chain(scope):
            if around.kind in CONTAINERS and file.language not in _IMPLICIT_THIS:
                continue
            inner = [
                item for item in same if item.parent == around.ordinal or item.owner == around.qualified_name
            ]
            if inner:
                return _last(inner)
        return _last(
            [item for item in same if item.parent < 0 and (not item.owner or item.kind not in CALLABLES)]
        )

    def _imported(self, file: File, name: str) -> list[Definition]:
        for site in file.imports:
            if site.local != name or site.name == "*":
                continue
            real = name if site.name in ("", "default") else site.name
            found = self._exported(self.import_files(site), real, family(file.language))
            if found:
                return found
        return []

    def _open_imports(self, file: File) -> list[str]:
        """Files whose names come in without being spelled: wildcards and C includes, headers with their bodies."""
        found: list[str] = []
        for site in file.imports:
            if site.name == "*" and not site.alias:
                found.extend(self.import_files(site))
            elif family(file.language) == "c" and not site.name:
                for header in self.import_files(site):
                    found.extend((header, *self.modules.bodies(header)))
            elif file.language in ("bash", "ruby", "lua", "php") and not site.name:
                found.extend(self.import_files(site))
        return list(dict.fromkeys(found))

    def _exported(self, paths: tuple[str, ...], name: str, kin: str, depth: int = 0) -> list[Definition]:
        """Definitions that some files offer under a name: their own, or what they import to pass on."""
        found = self._tops(paths, name, kin)
        if found or depth >= _DEEPEST or not self.named(name):
            return found
        for path in paths:
            for site in self.file(path).imports:
                if site.local == name and site.name:
                    found = self._exported(self.import_files(site), site.name, kin, depth + 1)
                elif site.name == "*" and not site.alias:
                    found = self._exported(self.import_files(site), name, kin, depth + 1)
                if found:
                    return found
        return []

    def _tops(self, paths: tuple[str, ...] | list[str], name: str, kin: str) -> list[Definition]:
        """Top-level definitions of a name in some files. A declaration yields to its implementation."""
        wanted = set(paths)
        found = [
            item
            for item in self.named(name)
            if item.path in wanted and item.parent < 0 and family(item.language) == kin and _free(item)
        ]
        if len(found) > 1 and kin == "c":
            bodies = [item for item in found if not item.path.endswith((".h", ".hh", ".hpp", ".hxx"))]
            found = bodies or found
        return found

    # -- members -------------------------------------------------------------------------------

    def _member(
        self, file: File, name: str, receiver: str, scope: int, depth: int
    ) -> tuple[list[Definition], str]:
        if receiver in _SELF or receiver in _SUPER:
            return self._own_member(file, name, receiver, scope)
        module = self._module_member(file, name, receiver)
        if module:
            return module, "import"
        made = _MADE.fullmatch(receiver)
        words = re.split(r"\.|::|->", made[1] if made else receiver)
        if not all(_WORD.fullmatch(word) for word in words) or len(words) > 2 or depth > _DEEPEST:
            return [], ""
        if len(words) == 2:
            owners, _ = self._member(file, words[1], words[0], scope, depth + 1)
        else:
            owners, _ = self._bare(file, words[0], scope)
        owners = [item for item in owners if item.kind in CONTAINERS]
        return (self._members(owners[0], name, 0), "class") if len(owners) == 1 else ([], "")

    def _own_member(self, file: File, name: str, receiver: str, scope: int) -> tuple[list[Definition], str]:
        owner = self._enclosing_type(file, scope)
        if owner is None:
            return [], ""
        if receiver in _SELF:
            mine = self._direct(owner, name)
            if mine:
                return _last(mine), "same_class"
        return self._inherited(owner, name, 0), "inherited"

    def _enclosing_type(self, file: File, scope: int) -> Definition | None:
        for around in file.chain(scope):
            if around.kind in CONTAINERS:
                return around
            if around.owner:  # methods written outside their type, as in Go, Rust and C++
                short = around.owner.rpartition(".")[2]
                types = [item for item in self.named(short) if item.kind in CONTAINERS]
                near = [item for item in types if item.path == file.path] or types
                if len(near) == 1:
                    return near[0]
        return None

    def _module_member(self, file: File, name: str, receiver: str) -> list[Definition]:
        for site in file.imports:
            if receiver not in _module_names(site):
                continue
            found = self._exported(self.import_files(site), name, family(file.language))
            if found:
                return found
        return []

    def _members(self, owner: Definition, name: str, depth: int) -> list[Definition]:
        return _last(self._direct(owner, name)) or self._inherited(owner, name, depth)

    def _direct(self, owner: Definition, name: str) -> list[Definition]:
        return [
            item
            for item in self.named(name)
            if item.owner == owner.qualified_name
            and (item.path == owner.path or self._same_package(item, owner))
        ]

    def _same_package(self, item: Definition, owner: Definition) -> bool:
        here, there = item.path.rpartition("/")[0], owner.path.rpartition("/")[0]
        return (
            here == there
            and family(item.language) == family(owner.language)
            and item.language in ("go", "cpp", "c")
        )

    def _inherited(self, owner: Definition, name: str, depth: int) -> list[Definition]:
        """Members of base types, as far as the signature names them and they resolve."""
        if depth >= _DEEPEST:
            return []
        file = self.file(owner.path)
        for base in _base_names(owner):
            found, _ = self._bare(file, base, owner.parent)
            types = [item for item in found if item.kind in CONTAINERS and item.place != owner.place]
            if len(types) == 1 and (members := self._members(types[0], name, depth + 1)):
                return members
        return []

    # -- guesses -------------------------------------------------------------------------------

    def _candidates(self, file: File, name: str, receiver: str) -> tuple[Definition, ...]:
        kin = family(file.language)
        return tuple(
            item
            for item in self.named(name)
            if family(item.language) == kin
            and item.kind in (CALLABLES | CONTAINERS)
            and (bool(item.owner) or not receiver or kin in ("ecma", "lua"))
        )


def _free(item: Definition) -> bool:
    """Reachable by its bare name from another file."""
    return not item.owner or item.kind in CONTAINERS or item.kind not in ("method", "field")


def _last(found: list[Definition]) -> list[Definition]:
    """Of several definitions of one name in one scope the last one holds (overloads and rebinding)."""
    return found[-1:]


def _module_names(site: ImportSite) -> tuple[str, ...]:
    """Names by which members of the imported module are reached in the importing file."""
    if site.alias:
        return (site.alias,)
    if site.name not in ("", "*"):
        return (site.name,)
    return (site.module, re.split(r"[./:\\]+", site.module.strip("./"))[-1])


def _base_names(owner: Definition) -> list[str]:
    head = owner.signature.partition(owner.name)[2]
    if not _BASES.search(head):
        return []
    return [word for word in _WORD.findall(head) if word not in _NOISE][:6]
