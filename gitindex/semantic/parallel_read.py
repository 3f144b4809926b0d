"""Reads a large SCIP file in two processes: this one and a helper, which decodes the second half of the documents.

The halves are cut by path, so documents of one path stay together and the helper's come after ours. Between their two
passes both processes exchange the symbols that their documents define; the result is therefore the same as that of one
process. When the helper dies, `HelperLost` is raised and the caller starts again alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from gitindex.errors import GitindexError, UnsafePath
from gitindex.extract.gc_pause import pause_gc
from gitindex.git.objects import open_objects
from gitindex.git.repo import Repo
from gitindex.scip.reader import IndexFile
from gitindex.segment import scipfacts
from gitindex.segment.scipfacts import StorableDocument
from gitindex.segment.scipsymbols import SymbolColumns
from gitindex.semantic.checkout import MAX_FILE_BYTES, BlobReader
from gitindex.semantic.decode import DecodedIndex, Summary, parse_document_path
from gitindex.semantic.interning import DefinedSymbols
from gitindex.semantic.package_names import Naming
from gitindex.view.exact_facts import ScipView

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

MIN_SPLIT_BYTES = 8 * 1024 * 1024  # for a smaller index, starting a process costs more than it saves
_OWN_FRACTION = 0.5  # of the documents' bytes
MESSAGE_TIMEOUT_SECONDS = 600.0  # a helper that sends nothing for so long counts as lost
_DOCUMENTS_PER_MESSAGE = 200


class HelperLost(Exception):
    """The helper ended, or stopped sending, before its work was done."""


class HelperTask(NamedTuple):
    """Everything that a helper needs to decode its half."""

    file: Path
    prefix: str
    naming: Naming
    repo: Repo
    blobs: dict[str, str]
    stored_files: tuple[Path, ...]  # scip files of the snapshot, which define the symbols of other contexts
    context: str  # `importer.context_key`
    documents: tuple[int, ...]  # numbers of the helper's documents


class HelperProcess:
    """The helper process as its parent sees it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sender: Thread | None = None
        self.symbols: SymbolColumns
        self.summary: Summary

    def send_task(self, task: HelperTask) -> None:
        """Sends from a thread: a task is larger than the buffer of a pipe, and the helper is still starting."""
        self._sender = Thread(target=self._send, args=(task,), daemon=True)
        self._sender.start()

    def exchange_defined(self, defined: DefinedSymbols) -> DefinedSymbols:
        """Send the symbols that our documents define; returns those that all documents define."""
        helper_defined: DefinedSymbols = self._receive()
        self._send(defined)
        return helper_defined | defined

    def receive_documents(self) -> Iterator[StorableDocument]:
        """The helper's documents. Sets `symbols` and `summary` after the last one."""
        while batch := self._receive():
            yield from batch
        self.symbols, self.summary = self._receive()

    def close(self) -> None:
        """Call it after the process has ended: only that ends a message still being sent."""
        if self._sender is not None:
            self._sender.join()
        self._connection.close()

    def _send(self, message: object) -> None:
        with suppress(OSError):  # when the helper is gone, the next `_receive` raises
            self._connection.send(message)

    def _receive(self) -> Any:
        try:
            if not self._connection.poll(MESSAGE_TIMEOUT_SECONDS):
                raise HelperLost
            return self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise HelperLost from error


class SplitIndex(NamedTuple):
    helper: HelperProcess
    own_documents: list[int]  # the documents that are not the helper's


def defined_elsewhere_check(stored: ScipView, context: str) -> Callable[[int], bool]:
    """A function that says, by hash, whether a stored document of another context defines a symbol."""
    return partial(stored.is_defined_outside, context=context)


def split_halves(file: IndexFile, prefix: str) -> tuple[list[int], list[int]]:
    """The numbers of our documents and of the helper's, in order of path.

    Cut near the middle of their bytes and never between documents of one path.
    """
    spans = file.layout.documents
    ordered = sorted((_sort_key(file.read_path(span), prefix), number) for number, span in enumerate(spans))
    target_bytes = _OWN_FRACTION * sum(end - start for start, end in spans)
    own_bytes, cut = 0, len(ordered)
    for index, (key, number) in enumerate(ordered):
        if own_bytes >= target_bytes and key != ordered[index - 1][0]:
            cut = index
            break
        own_bytes += spans[number][1] - spans[number][0]
    return [number for _, number in ordered[:cut]], [number for _, number in ordered[cut:]]


def _sort_key(raw: bytes, prefix: str) -> str:
    try:
        return parse_document_path(raw, prefix)
    except UnsafePath:
        return ""


def is_worth_splitting(file: Path) -> bool:
    return file.stat().st_size >= MIN_SPLIT_BYTES and (os.cpu_count() or 1) > 1


@contextmanager
def start_helper() -> Iterator[HelperProcess]:
    """A helper process. It starts up while the caller still prepares its task."""
    from multiprocessing import get_context

    # "spawn", because forking a process with threads (Lance, heartbeat) is not safe.
    spawn_context = get_context("spawn")
    parent_end, helper_end = spawn_context.Pipe()
    process = spawn_context.Process(target=_serve, args=(helper_end,), daemon=True)
    process.start()
    helper_end.close()  # so that reading ends (EOF) when the helper dies
    helper_process = HelperProcess(parent_end)
    try:
        yield helper_process
    finally:
        process.kill()  # SIGTERM does not reach a stopped process
        process.join()
        helper_process.close()


def _serve(connection: Connection) -> None:
    """Entry point of the helper. Exits with 1 on an error: the parent then decodes alone and reports the error itself.

    When the parent is gone, the next message raises, which ends the helper as well.
    """
    try:
        with pause_gc():
            _read_half(connection, connection.recv())
    except (GitindexError, OSError, EOFError):
        sys.exit(1)


def _read_half(connection: Connection, task: HelperTask) -> None:
    def exchange_defined(defined: DefinedSymbols) -> DefinedSymbols:
        connection.send(defined)
        parent_defined: DefinedSymbols = connection.recv()
        return parent_defined | defined

    store_defines = defined_elsewhere_check(ScipView(task.stored_files, lambda _: None), task.context)
    with IndexFile(task.file) as file, open_objects(task.repo, bulk=True) as objects:
        decoded = DecodedIndex(
            file,
            BlobReader(task.blobs, objects, MAX_FILE_BYTES),
            prefix=task.prefix,
            store_defines=store_defines,
            naming=task.naming,
            document_numbers=task.documents,
            exchange_defined=exchange_defined,
        )
        # All documents before the first message: the parent is still busy with its own.
        documents = list(scipfacts.pack_documents(decoded.documents()))
        for start in range(0, len(documents), _DOCUMENTS_PER_MESSAGE):
            connection.send(documents[start : start + _DOCUMENTS_PER_MESSAGE])
        connection.send([])
        connection.send((decoded.symbols_by_name(), decoded.summary))
