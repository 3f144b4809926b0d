"""`state`: how fresh and certain the exact facts about files are, and whether these files may be edited (SE-5, SE-6).

The present is HEAD's tree with the working tree's changes, whatever is indexed; the past is what each imported
document was made from.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from gitindex.errors import NotARepository, UsageError
from gitindex.files.safeopen import ReadError, Root, Vanished
from gitindex.files.stableread import stable_read
from gitindex.git.objects import open_objects
from gitindex.git.repo import Head, Repo, read_head
from gitindex.git.status import list_dirty
from gitindex.indexing.extractionpool import extract_file
from gitindex.model.frozen import frozen
from gitindex.model.ids import blob_id
from gitindex.model.settings import MAX_FILE_BYTES
from gitindex.ops.answers.answer_types import SnapshotAnswer
from gitindex.ops.answers.gated_read import Reading, ReadOptions, open_reading
from gitindex.ops.codebase import Codebase
from gitindex.ops.exact.refresh import open_job_queue
from gitindex.segment.scipfacts import DocumentHeader
from gitindex.semantic import control_database, mutation
from gitindex.semantic.checkout import list_regular_blobs
from gitindex.semantic.contexts import FAMILIES
from gitindex.semantic.file_state import DependencyGraph, FileFacts, FileState
from gitindex.semantic.mutation import Decision, Verdict, Witness

MAX_PATHS = 10_000
_ABSENT = "absent"


@frozen
class FileStateEntry:
    """Freshness and certainty of the exact facts about one file."""

    path: str
    freshness: str
    certainty: str
    because: str
    ambiguity: tuple[str, ...]


@frozen
class RecordedDecision:
    choice: str  # JSON
    proof: str


@frozen
class FileStatesAnswer(SnapshotAnswer):
    """What may be believed about files, and whether all of them may be edited on the strength of it."""

    head: str | None
    gate: str  # allowed | needs_decision | blocked
    files: tuple[FileStateEntry, ...]
    witnesses: tuple[Witness, ...]
    ambiguous: tuple[str, ...]
    signature: str
    decision: RecordedDecision | None


def read_file_states(
    codebase: Codebase, paths: tuple[str, ...], options: ReadOptions, *, decide: str = "", proof: str = ""
) -> FileStatesAnswer:
    """State of every path and the gate for editing all of them; `decide` answers an ambiguity for this HEAD.

    Raises NotARepository, UsageError, and Gated as every read does.
    """
    if not paths or len(paths) > MAX_PATHS:
        raise UsageError(f"expected 1 to {MAX_PATHS:,} paths, found {len(paths)}")
    if codebase.repo is None:
        raise NotARepository(f"{codebase.root} is not in a git repository", hint="git init")
    revision = read_head(codebase.repo)
    with open_reading(codebase, options) as read:
        keys = list(dict.fromkeys(read.resolve_path(path) for path in paths))
        facts = _collect_facts(read, codebase.repo, revision, keys)
        states = _compute_states(read, facts, keys)
        verdict = _check_edit_gate(
            codebase,
            keys=keys,
            states=states,
            facts=facts,
            commit=revision.commit or "",
            choice=decide,
            proof=proof,
        )
        verdict = replace(verdict, witnesses=_add_advice(verdict, codebase, codebase.repo, facts))
        return _make_answer(read, revision, {path: (states[path], facts[path]) for path in keys}, verdict)


# -- facts -------------------------------------------------------------------------------------------


def _collect_facts(read: Reading, repo: Repo, revision: Head, keys: list[str]) -> dict[str, FileFacts]:
    """Facts of every file with a document, and of the files asked about."""
    documents = {item.path: item for item in read.view.scip.documents()}
    contents = _read_contents(read.codebase, repo, revision)
    return {path: _make_file_facts(read, path, documents.get(path), contents) for path in {*documents, *keys}}


def _read_contents(codebase: Codebase, repo: Repo, revision: Head) -> dict[str, str | bytes]:
    """path → blob id at HEAD, or the bytes of a file that differs from it."""
    with open_objects(repo) as objects:
        contents: dict[str, str | bytes] = (
            dict(list_regular_blobs(objects, revision.tree)) if revision.tree else {}
        )
    with Root(codebase.root) as root:
        for dirty in list_dirty(repo, untracked=False):
            try:
                contents[dirty.key] = stable_read(root, dirty.path, MAX_FILE_BYTES).data
            except (ReadError, Vanished):
                contents.pop(dirty.key, None)
    return contents


def _make_file_facts(
    read: Reading, path: str, document: DocumentHeader | None, contents: Mapping[str, str | bytes]
) -> FileFacts:
    present_content = contents.get(path)
    content = (
        present_content
        if isinstance(present_content, str)
        else _ABSENT
        if present_content is None
        else blob_id(present_content, _hash_algorithm(read))
    )
    if document is None:
        return FileFacts(content)
    record = read.view.record(path)
    interface = ""
    if content != document.blob:
        if record is not None and record.content == content:
            interface = record.interface_hash
        elif isinstance(present_content, bytes):
            interface = extract_file(path, present_content, read.codebase.settings.index).interface_hash
    flags = ["contradicted_references"] if document.demoted else []
    flags += ["parse_error"] if record is not None and record.parse_error else []
    return FileFacts(content, document.blob, interface, document.syntax, tuple(flags))


def _hash_algorithm(read: Reading) -> str:
    return read.codebase.repo.algorithm if read.codebase.repo else "sha1"


def _compute_states(read: Reading, facts: Mapping[str, FileFacts], keys: list[str]) -> dict[str, FileState]:
    """States of `keys`; dependencies are read only where something changed."""
    changed = any(fact.indexed_hash and fact.indexed_hash != fact.content_hash for fact in facts.values())
    graph = DependencyGraph(facts, read.view.scip.dependencies() if changed else {})
    return graph.file_states(keys)


# -- the gate ----------------------------------------------------------------------------------------


def _check_edit_gate(
    codebase: Codebase,
    *,
    keys: list[str],
    states: Mapping[str, FileState],
    facts: Mapping[str, FileFacts],
    commit: str,
    choice: str,
    proof: str,
) -> Verdict:
    verdict = mutation.check_edit(keys, states, facts, commit)
    if verdict.gate != mutation.NEEDS_DECISION:
        return verdict
    if choice:
        hashes = {path: facts[path].content_hash for path in verdict.ambiguous}
        decision = Decision(verdict.signature, commit, hashes, json.dumps(choice), proof)
        with open_job_queue(codebase) as connection:
            control_database.save_decision(connection, decision, time.time())
    return mutation.check_edit(keys, states, facts, commit, _make_recall(codebase.layout.control))


def _make_recall(path: Path) -> Callable[[str, str], Decision | None]:
    """A function that finds recorded decisions and never creates or changes their file: `state` reads (EN-5)."""

    def recall(signature: str, head: str) -> Decision | None:
        if not path.exists():
            return None
        try:
            with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                connection.row_factory = sqlite3.Row
                return control_database.find_decision(connection, signature, head)
        except (
            sqlite3.DatabaseError
        ):  # no table yet, damaged, or only a writer may open it: nothing was decided
            return None

    return recall


def _add_advice(
    verdict: Verdict, codebase: Codebase, repo: Repo, facts: Mapping[str, FileFacts]
) -> tuple[Witness, ...]:
    """Add to each witness what to do besides a refresh: commit, add, or that nothing helps."""
    changed = {dirty.key for dirty in list_dirty(repo, untracked=False)}

    def advise(item: Witness) -> Witness:
        if facts[item.path] == FileFacts(_ABSENT):
            if not os.path.lexists(codebase.root / item.path):
                return item._replace(reason="there is no such file", command="git ls-files")
            return item._replace(
                reason="git does not track it", command=f"git add, git commit, then {item.command}"
            )
        if not facts[item.path].indexed_hash and not any(item.path.endswith(f.suffixes) for f in FAMILIES):
            return item._replace(
                reason="no exact indexer knows this kind of file", command="gitindex indexers"
            )
        if (item.because or item.path) in changed:
            return item._replace(command=f"git commit, then {item.command}")
        return item

    return tuple(advise(item) for item in verdict.witnesses)


def _make_answer(
    read: Reading, revision: Head, files: Mapping[str, tuple[FileState, FileFacts]], verdict: Verdict
) -> FileStatesAnswer:
    decision = verdict.decision
    return FileStatesAnswer(
        status="ok",
        basis=read.basis(),
        head=revision.commit,
        gate=verdict.gate,
        files=tuple(
            FileStateEntry(
                path=path,
                freshness=state.freshness.value,
                certainty=state.certainty.value,
                because=state.because,
                ambiguity=facts.ambiguity,
            )
            for path, (state, facts) in files.items()
        ),
        witnesses=verdict.witnesses,
        ambiguous=verdict.ambiguous,
        signature=verdict.signature,
        decision=RecordedDecision(decision.choice, decision.proof) if decision else None,
    )
