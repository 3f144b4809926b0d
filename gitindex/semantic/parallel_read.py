"""A large SCIP file is read by two processes: this one, and a helper that reads the documents from the middle on.

Shares are cut by path, so documents of one path stay together and the helper's come after ours. Between their
passes both tell each other what their documents define; what they make of their documents is then what one
process alone would have made. A helper that dies is no failure: the caller starts again alone.
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
from gitindex.git.object_reader import open_objects
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

MIN_SPLIT_BYTES = 8 * 1024 * 1024  # bytes of an index below which starting a process costs more than it saves
_OWN_FRACTION = 0.5  # of the documents' bytes
MESSAGE_TIMEOUT_SECONDS = 600.0  # seconds without a message: whatever takes longer was stopped
_DOCUMENTS_PER_MESSAGE = 200


class HelperLost(Exception):
    """The other process ended before its work did."""


class HelperTask(NamedTuple):
    """What a helper needs to know to read its share."""

    file: Path
    prefix: str
    naming: Naming
    repo: Repo
    blobs: dict[str, str]
    stored_files: tuple[Path, ...]  # scip files of the store, for symbols of other contexts
    context: str
    documents: tuple[int, ...]


class HelperProcess:
    """The helper process as its parent sees it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sender: Thread | None = None
        self.symbols: SymbolColumns
        self.summary: Summary

    def send_task(self, task: HelperTask) -> None:
        """Returns at once: an order is larger than what a pipe holds, and the helper has yet to start up."""
        self._sender = Thread(target=self._send, args=(task,), daemon=True)
        self._sender.start()

    def exchange_defined(self, defined: DefinedSymbols) -> DefinedSymbols:
        helper_defined: DefinedSymbols = self._receive()
        self._send(defined)
        return helper_defined | defined

    def receive_documents(self) -> Iterator[StorableDocument]:
        """Its documents; `symbols` and `summary` are there when they end."""
        while batch := self._receive():
            yield from batch
        self.symbols, self.summary = self._receive()

    def close(self) -> None:
        """Only when the process is gone: that ends a message still under way."""
        if self._sender is not None:
            self._sender.join()
        self._connection.close()

    def _send(self, message: object) -> None:
        with suppress(OSError):  # a helper that is gone is noticed by who waits for its answer
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
    """Whether another context's documents define a symbol."""
    return partial(stored.is_defined_outside, context=context)


def split_halves(file: IndexFile, prefix: str) -> tuple[list[int], list[int]]:
    """Numbers of the documents in order of path, cut near the middle of their bytes and never within a path."""
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
    """A process that starts up while its order is still being written."""
    from multiprocessing import get_context

    # Forking a process with threads (Lance, heartbeat) is not safe.
    spawn_context = get_context("spawn")
    parent_end, helper_end = spawn_context.Pipe()
    process = spawn_context.Process(target=_serve, args=(helper_end,), daemon=True)
    process.start()
    helper_end.close()  # so that the helper's death is the end of the stream
    helper_process = HelperProcess(parent_end)
    try:
        yield helper_process
    finally:
        process.kill()  # one that was stopped would not hear anything milder
        process.join()
        helper_process.close()


def _serve(connection: Connection) -> None:
    """The helper's whole life. A parent that is gone ends it at the next message; what goes wrong here goes
    wrong again in the parent, which can tell somebody.
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
        documents = list(
            scipfacts.pack_documents(decoded.documents())
        )  # before the first message: the parent is busy
        for start in range(0, len(documents), _DOCUMENTS_PER_MESSAGE):
            connection.send(documents[start : start + _DOCUMENTS_PER_MESSAGE])
        connection.send([])
        connection.send((decoded.symbols_by_name(), decoded.summary))
