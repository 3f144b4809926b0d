"""The steps of a refresh job at one commit: private checkout, indexer, import (SE-2, SE-3).

`job_worker` runs the steps in order. They read the git objects of one tree only; the user's working tree is neither
read nor changed. Scratch directories are transactions of the store: the next writer removes those of a dead process.
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
from gitindex.semantic.importer import ImportResult, ImportSource, context_key, import_documents
from gitindex.semantic.indexer_run import IndexerResult, IndexerSettings
from gitindex.semantic.indexers.adapter import IndexerRun
from gitindex.semantic.indexers.registry import indexer_for
from gitindex.semantic.job_queue import RefreshJob
from gitindex.semantic.job_worker import NoLongerCurrent, Steps
from gitindex.store import staging, steps
from gitindex.store.layout import Layout

_HEARTBEAT_SECONDS = 2.0
_LEASE_ATTEMPTS = 4


class RefreshOutput(NamedTuple):
    """An accepted run, not yet imported."""

    context: Context
    scratch: ExitStack  # removes the scratch directory when it is closed
    indexed: IndexerResult


class RefreshResult(NamedTuple):
    """A finished job: the run of the indexer and the import of its output."""

    indexed: IndexerResult
    imported: ImportResult


@dataclass(slots=True)
class Refresher:
    """Refreshes contexts of one commit. `keys` maps the ids of the control file to (language, root)."""

    layout: Layout
    repo: Repo
    commit: str
    tree: str
    settings: IndexerSettings
    read_head: Callable[[], str]
    clock: Callable[[], float]
    keys: dict[int, tuple[str, str]] = field(default_factory=dict)
    results: dict[int, RefreshResult] = field(default_factory=dict)  # by job id
    lease_wait: float = 30.0
    python_env: Path | None = None  # installed packages for scip-python
    node_modules: Path | None = None  # installed packages for scip-typescript
    _stack: ExitStack = field(default_factory=ExitStack)
    _objects: Objects | None = None
    _blobs: dict[str, str] = field(default_factory=dict)
    _contexts: list[Context] | None = None

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
        """The contexts of the commit's tree (SE-1)."""
        if self._contexts is None:
            self._blobs = checkout.list_regular_blobs(self.objects, self.tree)
            read = BlobReader(self._blobs, self.objects, MAX_FILE_BYTES)
            self._contexts = contexts.discover(self._blobs, lambda path: read(path) or b"")
        return self._contexts

    def hash_inputs(self, context: Context, version: str) -> str:
        """Hash of everything a full run over the context depends on: equal inputs, equal index."""
        digest = hashlib.sha256(f"{context_key(context)}\0{version}\0".encode())
        if context.language == "python":
            digest.update(pythonenv.hash_packages(self.python_env).encode())
        elif context.language == "typescript":
            digest.update(nodemodules.hash_packages(self.node_modules).encode())
        for path in sorted({*context.files, *context.project_files}):
            digest.update(f"{path}\0{self._blobs[path]}\0".encode())
        return digest.hexdigest()

    def steps(self) -> Steps[RefreshOutput]:
        return Steps(
            run=self._run,
            read_head=self.read_head,
            publish=self._publish,
            discard=self._discard,
            clock=self.clock,
            on_step=lambda name: steps.reach(f"refresh.{name}"),
        )

    # -- steps -----------------------------------------------------------------------------------

    def _run(self, job: RefreshJob, alive: Callable[[], bool]) -> RefreshOutput:
        context = self._find_context(job)
        stack = ExitStack()
        try:
            scratch = Path(stack.enter_context(_scratch_directory(self.layout)))
            tree_copy = checkout.check_out(
                self.objects, self.tree, scratch / "checkout", max_bytes=MAX_FILE_BYTES
            )
            work = scratch / "work"
            work.mkdir()
            run = self._describe_run(context, tree_copy, work)
            indexed = indexer_run.index(
                indexer_for(context.language), run, self.settings, _throttle_heartbeat(alive, self.clock)
            )
            return RefreshOutput(context, stack, indexed)
        except BaseException as error:
            stack.close()
            if isinstance(error, GitindexError) and not isinstance(error, ExactFactsError):
                raise ExactFactsError(error.message, hint=error.hint, diagnosis=error.code) from error
            raise

    def _publish(self, job: RefreshJob, output: RefreshOutput, current: Callable[[], bool]) -> None:
        def confirm() -> None:
            if not current():
                raise NoLongerCurrent("HEAD moved while the index was made", hint="gitindex refresh --wait")

        try:
            imported = self._import(self._build_source(job, output), confirm)
        except ExactFactsError:
            raise
        except GitindexError as error:
            lease_busy = isinstance(error, LeaseHeld | LeaseLost)
            raise ExactFactsError(
                error.message, hint=error.hint, diagnosis=error.code, retry=lease_busy
            ) from error
        self.results[job.id] = RefreshResult(output.indexed, imported)

    def _import(self, source: ImportSource, confirm: Callable[[], None]) -> ImportResult:
        """Waits for a busy store several times: running the indexer again would cost more than waiting."""
        for _ in range(_LEASE_ATTEMPTS - 1):
            try:
                return import_documents(self.layout, source, confirm, wait=self.lease_wait)
            except (LeaseHeld, LeaseLost):
                confirm()
        return import_documents(self.layout, source, confirm, wait=self.lease_wait)

    def _discard(self, output: RefreshOutput) -> None:
        output.scratch.close()

    # -- inside ----------------------------------------------------------------------------------

    def _find_context(self, job: RefreshJob) -> Context:
        key = self.keys.get(job.context_id)
        for context in self.contexts():
            if context.key == key:
                return context
        raise ExactFactsError("the project this job is about is gone", diagnosis="no_context")

    def _describe_run(self, context: Context, tree_copy: Checkout, work: Path) -> IndexerRun:
        nested = tuple(
            other.root
            for other in self.contexts()
            if other.language == context.language and _is_inside(other.root, context.root)
        )
        package_list = None
        if self.python_env is not None and context.language == "python":
            package_list = work / "packages.json"
            package_list.write_bytes(pythonenv.describe_packages(self.python_env))
        return IndexerRun(
            checkout=tree_copy.root,
            root=context.root,
            files=tuple(path for path in context.files if path in tree_copy.blobs),
            work=Path(os.path.realpath(work)),
            project=_project_name(context.root),
            nested=nested,
            environment_file=package_list,
            python_env=self.python_env if package_list else None,
            node_modules=self.node_modules,
        )

    def _build_source(self, job: RefreshJob, output: RefreshOutput) -> ImportSource:
        context, indexed = output.context, output.indexed
        owned_blobs = {path: self._blobs[path] for path in context.files}
        entry_fields: dict[str, Any] = {
            "tool": indexed.tool,
            "version": indexed.version,
            "commit": self.commit,
            "excluded": list(indexed.excluded),
            "inputs": self.hash_inputs(context, indexed.version) if job.scope is None else "",
            "elapsed_ms": round(indexed.seconds * 1000),
            "refreshed_at": datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="seconds"),
        }
        read_owned = BlobReader(owned_blobs, self.objects, MAX_FILE_BYTES)
        read_any = BlobReader(self._blobs, self.objects, MAX_FILE_BYTES)
        package_naming = package_names.collect_naming(context, self._blobs, read_any)
        return ImportSource(
            file=indexed.output,
            prefix=indexed.prefix,
            context=context,
            blobs=owned_blobs,
            read=read_owned,
            scope=job.scope,
            entry_fields=entry_fields,
            naming=package_naming,
            repo=self.repo,
        )


def _project_name(root: str) -> str:
    """The name of a project in symbols, unique within the repository."""
    return f"project/{root}".replace(" ", "_") if root else "project"


def _scratch_directory(layout: Layout) -> AbstractContextManager[str | Path]:
    """A fresh directory whose path suits every indexer."""
    if "+" in str(layout.base):  # scip-typescript crashes on such a root
        return tempfile.TemporaryDirectory(prefix="gitindex-", ignore_cleanup_errors=True)
    return staging.open_transaction(layout, ulid())


def _throttle_heartbeat(alive: Callable[[], bool], clock: Callable[[], float]) -> Callable[[], bool]:
    """`alive`, called at most every two seconds: each call writes a heartbeat."""
    last_check = [clock()]

    def check_alive() -> bool:
        if clock() - last_check[0] < _HEARTBEAT_SECONDS:
            return True
        last_check[0] = clock()
        return alive()

    return check_alive


def _is_inside(root: str, parent: str) -> bool:
    return root != parent and (parent == "" or root.startswith(parent + "/"))


def select_contexts(discovered: Iterable[Context], name: str) -> list[Context]:
    """The contexts that have `name` as their id, language or root ("." for the repository root)."""
    return [context for context in discovered if name in (context.id, context.language, context.root or ".")]
