"""What can be said about a file now: freshness × certainty (SE-5). Pure over facts and a dependency graph.

- unindexed: no semantic facts. dirty: its content differs from the indexed one.
- stale: unchanged itself, but a dependency's interface is confirmed to have changed, or it is stale in turn.
- pending_check: a dependency changed, nobody knows yet whether its interface did, or it waits in turn.
- clean: none of these.

A dirty dependency whose syntactic interface is known to be the same does not disturb its dependants.
Both verdicts spread against the direction of dependency, so two breadth-first walks over the reversed graph
suffice: linear in files and edges, cycles need no care and nothing recurses.
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
    """What the index and the disk say about one file. `indexed_hash` "": no semantic facts."""

    content_hash: str  # now
    indexed_hash: str = ""
    interface_hash: str = ""  # now, syntactic; "" unknown
    indexed_interface_hash: str = ""  # when indexed, syntactic; "" unknown
    ambiguity: tuple[str, ...] = ()


class DependencyGraph:
    """file → files it depends on, within one context. States of all files are computed at once and kept."""

    def __init__(self, facts: Mapping[str, FileFacts], depends: Mapping[str, Collection[str]]) -> None:
        self._facts = facts
        self._dependants: dict[str, list[str]] = {}
        for source, targets in depends.items():
            for target in targets:
                self._dependants.setdefault(target, []).append(source)
        self._own_states = {path: _compute_own_state(fact) for path, fact in facts.items()}
        self._stale = self._spread_to_dependants(
            path for path, own in self._own_states.items() if own.interface_changed
        )
        self._pending = self._spread_to_dependants(
            path for path, own in self._own_states.items() if own.interface_unknown
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
        """Every file that reaches an origin by its dependencies → the nearest such origin (first by name)."""
        reached: dict[str, str] = {}
        queue = deque((origin, origin) for origin in sorted(origins))
        while queue:
            path, origin = queue.popleft()
            for dependant in self._dependants.get(path, ()):
                if dependant not in reached:
                    reached[dependant] = origin
                    queue.append((dependant, origin))
        return reached


class _OwnState(NamedTuple):
    freshness: Freshness  # clean, dirty or unindexed: what the file says of itself
    interface_changed: bool
    interface_unknown: bool


def _compute_own_state(facts: FileFacts) -> _OwnState:
    if not facts.indexed_hash:
        # Never indexed: dependants have nothing confirmed against them, and nothing confirmed for them.
        return _OwnState(Freshness.UNINDEXED, interface_changed=False, interface_unknown=False)
    if facts.content_hash == facts.indexed_hash:
        return _OwnState(Freshness.CLEAN, interface_changed=False, interface_unknown=False)
    interface_known = bool(facts.interface_hash and facts.indexed_interface_hash)
    interface_changed = interface_known and facts.interface_hash != facts.indexed_interface_hash
    return _OwnState(
        Freshness.DIRTY, interface_changed=interface_changed, interface_unknown=not interface_known
    )
