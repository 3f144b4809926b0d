"""What one refresh job does at one commit: private checkout, indexer, import (SE-2, SE-3).

`worker` owns the order; here is the content of its steps. Everything is taken from git objects of one tree, so the
user's working tree is neither read nor touched. Scratch space lies in the store's staging: the next
writer removes leftovers.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from gitindex.errors import ExactFactsError, GitindexError, LeaseHeld, LeaseLost
from gitindex.git.objects import Objects, open_objects
from gitindex.git.repo import Repo
from gitindex.model.ids import ulid
from gitindex.semantic import checkout, contexts, indexer_run, nodemodules, package_names, pythonenv
from gitindex.semantic.checkout import MAX_FILE_BYTES, BlobReader, Checkout
from gitindex.semantic.contexts import Context
from gitindex.semantic.importer import Imported, Source, context_key, import_documents
from gitindex.semantic.indexer_run import Bench, Indexed
from gitindex.semantic.indexers.adapter import Run
from gitindex.semantic.indexers.registry import indexer_for
from gitindex.semantic.job_queue import Job
from gitindex.semantic.job_worker import NoLongerCurrent, Steps
from gitindex.store import staging, steps
from gitindex.store.layout import Layout

_BEAT_SECONDS = 2.0
_LEASE_TRIES = 4


class Output(NamedTuple):
    """An accepted run, not yet imported."""

    context: Context
    scratch: ExitStack  # to close when it is no longer needed
    indexed: Indexed


@dataclass(slots=True)
class Refresher:
    """Refreshes contexts of one commit. `keys` maps the ids of the control file to (language, root)."""

    layout: Layout
    repo: Repo
    commit: str
    tree: str
    bench: Bench
    read_head: Callable[[], str]
    clock: Callable[[], float]
    keys: dict[int, tuple[str, str]] = field(default_factory=dict)
    done: dict[int, tuple[Indexed, Imported]] = field(default_factory=dict)
    lease_wait: float = 30.0
    python_env: Path | None = None  # of scip-python
    node_modules: Path | None = None  # of scip-typescript
    _stack: ExitStack = field(default_factory=ExitStack)
    _objects: Objects | None = None
    _blobs: dict[str, str] = field(default_factory=dict)
    _found: list[Context] | None = None

    def __enter__(self) -> Refresher:
        self._objects = self._stack.enter_context(open_objects(self.repo, bulk=True))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def objects(self) -> Objects:
        assert self._objects is not None, "use it in a with statement"
        return self._objects

    def contexts(self) -> list[Context]:
        """What the commit's tree holds (SE-1)."""
        if self._found is None:
            self._blobs = checkout.regular_blobs(self.objects, self.tree)
            read = BlobReader(self._blobs, self.objects, MAX_FILE_BYTES)
            self._found = contexts.discover(self._blobs, lambda path: read(path) or b"")
        return self._found

    def inputs(self, context: Context, version: str) -> str:
        """Hash of everything a full run over the context depends on: equal inputs, equal index."""
        digest = hashlib.sha256(f"{context_key(context)}\0{version}\0".encode())
        if context.language == "python":
            digest.update(pythonenv.fingerprint(self.python_env).encode())
        elif context.language == "typescript":
            digest.update(nodemodules.fingerprint(self.node_modules).encode())
        for path in sorted({*context.files, *context.project_files}):
            digest.update(f"{path}\0{self._blobs[path]}\0".encode())
        return digest.hexdigest()

    def steps(self) -> Steps[Output]:
        return Steps(
            run=self._run,
            read_head=self.read_head,
            publish=self._publish,
            discard=self._discard,
            clock=self.clock,
            reached=lambda name: steps.reach(f"refresh.{name}"),
        )

    # -- steps -----------------------------------------------------------------------------------

    def _run(self, job: Job, alive: Callable[[], bool]) -> Output:
        context = self._context(job)
        stack = ExitStack()
        try:
            scratch = Path(stack.enter_context(_scratch(self.layout)))
            made = checkout.check_out(self.objects, self.tree, scratch / "checkout", max_bytes=MAX_FILE_BYTES)
            work = scratch / "work"
            work.mkdir()
            run = self._described(context, made, work)
            indexed = indexer_run.index(
                indexer_for(context.language), run, self.bench, _seldom(alive, self.clock)
            )
            return Output(context, stack, indexed)
        except BaseException as error:
            stack.close()
            if isinstance(error, GitindexError) and not isinstance(error, ExactFactsError):
                raise ExactFactsError(error.message, hint=error.hint, diagnosis=error.code) from error
            raise

    def _publish(self, job: Job, output: Output, current: Callable[[], bool]) -> None:
        def confirm() -> None:
            if not current():
                raise NoLongerCurrent("HEAD moved while the index was made", hint="gitindex refresh --wait")

        try:
            done = self._import(self._source(job, output), confirm)
        except ExactFactsError:
            raise
        except GitindexError as error:
            busy = isinstance(error, LeaseHeld | LeaseLost)
            raise ExactFactsError(error.message, hint=error.hint, diagnosis=error.code, retry=busy) from error
        self.done[job.id] = (output.indexed, done)

    def _import(self, source: Source, confirm: Callable[[], None]) -> Imported:
        """A busy store is waited for several times over: the run that made the index cost more than waiting."""
        for _ in range(_LEASE_TRIES - 1):
            try:
                return import_documents(self.layout, source, confirm, wait=self.lease_wait)
            except (LeaseHeld, LeaseLost):
                confirm()
        return import_documents(self.layout, source, confirm, wait=self.lease_wait)

    def _discard(self, output: Output) -> None:
        output.scratch.close()

    # -- inside ----------------------------------------------------------------------------------

    def _context(self, job: Job) -> Context:
        wanted = self.keys.get(job.context_id)
        for context in self.contexts():
            if context.key == wanted:
                return context
        raise ExactFactsError("the project this job is about is gone", diagnosis="no_context")

    def _described(self, context: Context, made: Checkout, work: Path) -> Run:
        nested = tuple(
            other.root
            for other in self.contexts()
            if other.language == context.language and _inside(other.root, context.root)
        )
        listed = None
        if self.python_env is not None and context.language == "python":
            listed = work / "packages.json"
            listed.write_bytes(pythonenv.describe(self.python_env))
        return Run(
            checkout=made.root,
            root=context.root,
            files=tuple(path for path in context.files if path in made.blobs),
            work=Path(os.path.realpath(work)),
            project=_project(context.root),
            nested=nested,
            environment_file=listed,
            python_env=self.python_env if listed else None,
            node_modules=self.node_modules,
        )

    def _source(self, job: Job, output: Output) -> Source:
        context, indexed = output.context, output.indexed
        owned = {path: self._blobs[path] for path in context.files}
        about: dict[str, Any] = {
            "tool": indexed.tool,
            "version": indexed.version,
            "commit": self.commit,
            "excluded": list(indexed.excluded),
            "inputs": self.inputs(context, indexed.version) if job.scope is None else "",
            "elapsed_ms": round(indexed.seconds * 1000),
            "refreshed_at": datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="seconds"),
        }
        read = BlobReader(owned, self.objects, MAX_FILE_BYTES)
        everything = BlobReader(self._blobs, self.objects, MAX_FILE_BYTES)
        called = package_names.of(context, self._blobs, everything)
        return Source(
            indexed.output, indexed.prefix, context, owned, read, job.scope, about, called, self.repo
        )


def _project(root: str) -> str:
    """The name of a project in symbols: no other project of the repository has it."""
    return f"project/{root}".replace(" ", "_") if root else "project"


def _scratch(layout: Layout) -> AbstractContextManager[str | Path]:
    """A fresh directory whose path suits every indexer."""
    if "+" in str(layout.base):  # scip-typescript crashes on such a root
        return tempfile.TemporaryDirectory(prefix="gitindex-", ignore_cleanup_errors=True)
    return staging.open_transaction(layout, ulid())


def _seldom(alive: Callable[[], bool], clock: Callable[[], float]) -> Callable[[], bool]:
    """Ask only now and then: every heartbeat is a write."""
    last = [clock()]

    def asked() -> bool:
        if clock() - last[0] < _BEAT_SECONDS:
            return True
        last[0] = clock()
        return alive()

    return asked


def _inside(root: str, above: str) -> bool:
    return root != above and (above == "" or root.startswith(above + "/"))


def by_name(found: Iterable[Context], wanted: str) -> list[Context]:
    """Contexts a person means: by id, language or root."""
    return [context for context in found if wanted in (context.id, context.language, context.root or ".")]
