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
from gitindex.git.objects import open_objects
from gitindex.git.repo import Repo
from gitindex.scip.reader import IndexFile
from gitindex.segment import scipfacts
from gitindex.segment.scipfacts import StorableDocument
from gitindex.segment.scipsymbols import SymbolColumns
from gitindex.semantic.checkout import MAX_FILE_BYTES, BlobReader
from gitindex.semantic.decode import Decoded, Summary, path_of
from gitindex.semantic.interning import Seen
from gitindex.semantic.package_names import Naming
from gitindex.view.exact_facts import ScipView

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

WORTH_A_HELPER = 8 * 1024 * 1024  # bytes of an index below which starting a process costs more than it saves
_OURS = 0.5  # of the documents' bytes
PATIENCE = 600.0  # seconds without a message: whatever takes longer was stopped
_MESSAGE_DOCUMENTS = 200


class HelperLost(Exception):
    """The other process ended before its work did."""


class Order(NamedTuple):
    """What a helper needs to know to read its share."""

    file: Path
    prefix: str
    naming: Naming
    repo: Repo
    blobs: dict[str, str]
    stored: tuple[Path, ...]  # scip files of the store, for symbols of other contexts
    context: str
    documents: tuple[int, ...]


class Helper:
    """The helper process as its parent sees it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sender: Thread | None = None
        self.named: SymbolColumns
        self.summary: Summary

    def begin(self, order: Order) -> None:
        """Returns at once: an order is larger than what a pipe holds, and the helper has yet to start up."""
        self._sender = Thread(target=self._send, args=(order,), daemon=True)
        self._sender.start()

    def exchange(self, seen: Seen) -> Seen:
        theirs: Seen = self._receive()
        self._send(seen)
        return theirs | seen

    def ready(self) -> Iterator[StorableDocument]:
        """Its documents; `named` and `summary` are there when they end."""
        while batch := self._receive():
            yield from batch
        self.named, self.summary = self._receive()

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
            if not self._connection.poll(PATIENCE):
                raise HelperLost
            return self._connection.recv()
        except (EOFError, ConnectionError) as error:
            raise HelperLost from error


class Team(NamedTuple):
    helper: Helper
    ours: list[int]  # the documents that are not the helper's


def known_elsewhere(stored: ScipView, context: str) -> Callable[[int], bool]:
    """Whether another context's documents define a symbol."""
    return partial(stored.is_defined_outside, context=context)


def halves(file: IndexFile, prefix: str) -> tuple[list[int], list[int]]:
    """Numbers of the documents in order of path, cut near the middle of their bytes and never within a path."""
    spans = file.layout.documents
    keyed = sorted((_key(file.path_in(span), prefix), number) for number, span in enumerate(spans))
    enough = _OURS * sum(end - start for start, end in spans)
    done, cut = 0, len(keyed)
    for at, (key, number) in enumerate(keyed):
        if done >= enough and key != keyed[at - 1][0]:
            cut = at
            break
        done += spans[number][1] - spans[number][0]
    return [number for _, number in keyed[:cut]], [number for _, number in keyed[cut:]]


def _key(raw: bytes, prefix: str) -> str:
    try:
        return path_of(raw, prefix)
    except UnsafePath:
        return ""


def worth_it(file: Path) -> bool:
    return file.stat().st_size >= WORTH_A_HELPER and (os.cpu_count() or 1) > 1


@contextmanager
def helper() -> Iterator[Helper]:
    """A process that starts up while its order is still being written."""
    from multiprocessing import get_context

    # Forking a process with threads (Lance, heartbeat) is not safe.
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()  # so that the helper's death is the end of the stream
    made = Helper(ours)
    try:
        yield made
    finally:
        process.kill()  # one that was stopped would not hear anything milder
        process.join()
        made.close()


def _serve(connection: Connection) -> None:
    """The helper's whole life. A parent that is gone ends it at the next message; what goes wrong here goes
    wrong again in the parent, which can tell somebody.
    """
    try:
        with pause_gc():
            _read_share(connection, connection.recv())
    except (GitindexError, OSError, EOFError):
        sys.exit(1)


def _read_share(connection: Connection, order: Order) -> None:
    def exchange(seen: Seen) -> Seen:
        connection.send(seen)
        ours: Seen = connection.recv()
        return ours | seen

    known = known_elsewhere(ScipView(order.stored, lambda _: None), order.context)
    with IndexFile(order.file) as file, open_objects(order.repo, bulk=True) as objects:
        decoded = Decoded(
            file,
            BlobReader(order.blobs, objects, MAX_FILE_BYTES),
            prefix=order.prefix,
            known=known,
            naming=order.naming,
            only=order.documents,
            exchange=exchange,
        )
        every = list(
            scipfacts.pack_documents(decoded.documents())
        )  # before the first message: the parent is busy
        for at in range(0, len(every), _MESSAGE_DOCUMENTS):
            connection.send(every[at : at + _MESSAGE_DOCUMENTS])
        connection.send([])
        connection.send((decoded.named(), decoded.summary))
