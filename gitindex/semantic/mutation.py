"""The edit gate: may these files be edited on the strength of exact facts (SE-6)? Pure.

All files clean and certain: allowed. Clean but ambiguous: needs_decision, unless the same question was decided at this
HEAD with the same file contents. Everything else: blocked, with a witness per file that names the file, the reason and
the command that resolves it.
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

_REASONS = {
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
    because: str  # the dependency that changed, "" when it is the file itself
    command: str  # resolves it


class Decision(NamedTuple):
    """A stored answer to a question, and the state in which it was given."""

    signature: str
    head: str
    file_hashes: Mapping[str, str]
    choice: str  # JSON: the selected candidates
    proof: str


@dataclass(frozen=True, slots=True)
class Verdict:
    gate: str
    witnesses: tuple[Witness, ...] = ()
    ambiguous: tuple[str, ...] = ()  # files that need a decision
    signature: str = ""  # of the question, when there is one
    decision: Decision | None = None  # the stored answer that applies again


FindDecision = Callable[[str, str], Decision | None]  # (signature, head)


def check_edit(
    paths: Iterable[str],
    states: Mapping[str, FileState],
    facts: Mapping[str, FileFacts],
    head: str,
    find_decision: FindDecision | None = None,
) -> Verdict:
    """The verdict on editing all of `paths` together."""
    sorted_paths = sorted(set(paths))
    unclean_paths = [path for path in sorted_paths if states[path].freshness is not Freshness.CLEAN]
    witnesses = tuple(make_witness(path, states[path]) for path in unclean_paths)
    if witnesses:
        return Verdict(BLOCKED, witnesses)
    ambiguous_paths = tuple(path for path in sorted_paths if states[path].certainty is not Certainty.CERTAIN)
    if not ambiguous_paths:
        return Verdict(ALLOWED)
    hashes = {path: facts[path].content_hash for path in ambiguous_paths}
    question = hash_question({path: facts[path].ambiguity for path in ambiguous_paths})
    decision = find_decision(question, head) if find_decision else None
    if decision is not None and is_replayable(decision, question, head, hashes):
        return Verdict(ALLOWED, signature=question, decision=decision)
    return Verdict(NEEDS_DECISION, ambiguous=ambiguous_paths, signature=question)


def make_witness(path: str, state: FileState) -> Witness:
    because = state.because
    target = because or path
    reason = _REASONS[state.freshness] + (f": {because}" if because else "")
    command = f"gitindex refresh --wait --files {'-- ' * target.startswith('-')}{quote_argument(target)}"
    return Witness(
        path=path,
        freshness=state.freshness.value,
        certainty=state.certainty.value,
        reason=reason,
        because=because,
        command=command,
    )


def hash_question(ambiguity: Mapping[str, tuple[str, ...]]) -> str:
    """Identity of a question: its files and their kinds of ambiguity. File contents are compared separately."""
    value = {path: sorted(set(flags)) for path, flags in ambiguity.items()}
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def is_replayable(decision: Decision, question: str, head: str, hashes: Mapping[str, str]) -> bool:
    """Whether a stored answer applies: only to the same question, commit and file contents."""
    return (
        decision.signature == question
        and decision.head == head
        and dict(decision.file_hashes) == dict(hashes)
    )
