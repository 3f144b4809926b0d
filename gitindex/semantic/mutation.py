"""May this set of files be edited on the strength of the index (SE-6)? Pure.

clean + certain → allowed; clean + ambiguous → needs_decision, unless the same question was decided at this
HEAD with the same file contents; everything else → blocked, with a witness packet per file: which, why, what
clears it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gitindex.model.foreign import quote_argument
from gitindex.semantic.file_state import Certainty, FileFacts, FileState, Freshness

ALLOWED, NEEDS_DECISION, BLOCKED = "allowed", "needs_decision", "blocked"

_WHY = {
    Freshness.DIRTY: "content changed since it was indexed",
    Freshness.STALE: "the interface of a dependency changed",
    Freshness.PENDING_CHECK: "a dependency changed and its interface is not known yet",
    Freshness.UNINDEXED: "no semantic facts exist for it",
}


class Witness(NamedTuple):
    """Why one file stops the edit."""

    path: str
    freshness: str
    certainty: str
    reason: str
    because: str  # the dependency at fault, "" when it is the file itself
    command: str  # clears it


class Decision(NamedTuple):
    """An answer given before, and what it rested on."""

    signature: str
    head: str
    file_hashes: Mapping[str, str]
    choice: str  # JSON: the selected candidates
    proof: str


@dataclass(frozen=True, slots=True)
class Verdict:
    gate: str
    witnesses: tuple[Witness, ...] = ()
    ambiguous: tuple[str, ...] = ()  # files a decision is needed for
    signature: str = ""  # of the question, when one is asked or was answered
    decision: Decision | None = None  # the replayed answer


FindDecision = Callable[[str, str], Decision | None]  # (signature, head)


def check(
    paths: Iterable[str],
    states: Mapping[str, FileState],
    facts: Mapping[str, FileFacts],
    head: str,
    find: FindDecision | None = None,
) -> Verdict:
    """The gate for editing all of `paths` together."""
    wanted = sorted(set(paths))
    unfit = [path for path in wanted if states[path].freshness is not Freshness.CLEAN]
    blocked = tuple(witness(path, states[path]) for path in unfit)
    if blocked:
        return Verdict(BLOCKED, blocked)
    unsure = tuple(path for path in wanted if states[path].certainty is not Certainty.CERTAIN)
    if not unsure:
        return Verdict(ALLOWED)
    hashes = {path: facts[path].content_hash for path in unsure}
    question = signature({path: facts[path].ambiguity for path in unsure})
    known = find(question, head) if find else None
    if known is not None and replayable(known, question, head, hashes):
        return Verdict(ALLOWED, signature=question, decision=known)
    return Verdict(NEEDS_DECISION, ambiguous=unsure, signature=question)


def witness(path: str, state: FileState) -> Witness:
    because = state.because
    target = because or path
    reason = _WHY[state.freshness] + (f": {because}" if because else "")
    command = f"gitindex refresh --wait --files {'-- ' * target.startswith('-')}{quote_argument(target)}"
    return Witness(path, state.freshness.value, state.certainty.value, reason, because, command)


def signature(ambiguity: Mapping[str, tuple[str, ...]]) -> str:
    """Identity of a question: which files, which kinds of ambiguity. Not their contents: those are
    compared.
    """
    value = {path: sorted(set(flags)) for path, flags in ambiguity.items()}
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def replayable(known: Decision, question: str, head: str, hashes: Mapping[str, str]) -> bool:
    """An old answer holds only for the same question, commit and bytes."""
    return known.signature == question and known.head == head and dict(known.file_hashes) == dict(hashes)
