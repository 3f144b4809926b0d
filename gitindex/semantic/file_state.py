"""File states: freshness and certainty of the exact facts of each file (SE-5). Pure.

- unindexed: the file has no exact facts.
- dirty: its content differs from the indexed one.
- stale: unchanged, but the interface of a dependency has changed, or the dependency is stale.
- pending_check: unchanged, but a dependency changed whose interface is unknown, or the dependency is pending.
- clean: none of these.

A dirty dependency whose syntactic interface is the same as before does not affect its dependants. Stale and pending
spread from dependencies to dependants, by one breadth-first walk each over the reversed graph: linear in files and
edges, without recursion, and cycles need no special case.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Freshness(StrEnum):
    CLEAN = "clean"
    DIRTY = "dirty"
    STALE = "stale"
    PENDING_CHECK = "pending_check"
    UNINDEXED = "unindexed"


class Certainty(StrEnum):
    CERTAIN = "certain"
    AMBIGUOUS = "ambiguous"
    UNKNOWN = "unknown"


class FileState(NamedTuple):
    freshness: Freshness
    certainty: Certainty
    because: str = ""  # the file whose change is the reason; "" when it is the file itself


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Hashes of one file on disk and in the index. Interfaces are syntactic; "" where unknown."""

    content_hash: str  # now
    indexed_hash: str = ""  # "": no exact facts
    interface_hash: str = ""  # now
    indexed_interface_hash: str = ""
    ambiguity: tuple[str, ...] = ()  # kinds of ambiguity in the exact facts


class DependencyGraph:
    """Files of one context and the files that each depends on. The constructor computes the states of all files."""

    def __init__(self, facts: Mapping[str, FileFacts], depends: Mapping[str, Collection[str]]) -> None:
        self._facts = facts
        self._dependants: dict[str, list[str]] = {}
        for source, targets in depends.items():
            for target in targets:
                self._dependants.setdefault(target, []).append(source)
        self._own_states = {path: _compute_own_state(fact) for path, fact in facts.items()}
        self._stale = self._spread_to_dependants(
            path for path, own_state in self._own_states.items() if own_state.interface_changed
        )
        self._pending = self._spread_to_dependants(
            path for path, own_state in self._own_states.items() if own_state.interface_unknown
        )

    def file_state(self, path: str) -> FileState:
        own_state = self._own_states.get(path)
        if own_state is None or own_state.freshness is Freshness.UNINDEXED:
            return FileState(Freshness.UNINDEXED, Certainty.UNKNOWN)
        if own_state.freshness is Freshness.DIRTY:
            return FileState(Freshness.DIRTY, Certainty.UNKNOWN)
        certainty = Certainty.AMBIGUOUS if self._facts[path].ambiguity else Certainty.CERTAIN
        if path in self._stale:
            return FileState(Freshness.STALE, certainty, self._stale[path])
        if path in self._pending:
            return FileState(Freshness.PENDING_CHECK, certainty, self._pending[path])
        return FileState(Freshness.CLEAN, certainty)

    def file_states(self, paths: Iterable[str]) -> dict[str, FileState]:
        return {path: self.file_state(path) for path in paths}

    def _spread_to_dependants(self, origins: Iterable[str]) -> dict[str, str]:
        """Each file that depends on an origin, directly or not → the nearest origin, of several the first by name."""
        origin_of: dict[str, str] = {}
        queue = deque((origin, origin) for origin in sorted(origins))
        while queue:
            path, origin = queue.popleft()
            for dependant in self._dependants.get(path, ()):
                if dependant not in origin_of:
                    origin_of[dependant] = origin
                    queue.append((dependant, origin))
        return origin_of


class _OwnState(NamedTuple):
    """The state of a file without regard to its dependencies."""

    freshness: Freshness  # clean, dirty or unindexed
    interface_changed: bool
    interface_unknown: bool


def _compute_own_state(facts: FileFacts) -> _OwnState:
    if not facts.indexed_hash:
        # There is no earlier interface to compare with: dependants are not affected.
        return _OwnState(Freshness.UNINDEXED, interface_changed=False, interface_unknown=False)
    if facts.content_hash == facts.indexed_hash:
        return _OwnState(Freshness.CLEAN, interface_changed=False, interface_unknown=False)
    interface_known = bool(facts.interface_hash and facts.indexed_interface_hash)
    interface_changed = interface_known and facts.interface_hash != facts.indexed_interface_hash
    return _OwnState(
        Freshness.DIRTY, interface_changed=interface_changed, interface_unknown=not interface_known
    )
