"""Several lanes, a process each: files go in as bytes, finished segments stay where they were written.

Extraction, embedding and writing then use every core, and nothing but the bytes of files and one record per file
crosses the process border. A lane that dies (a grammar is C code fed with anything) takes its segments with it:
`LaneDied` tells the caller to write again the careful way.
"""

from __future__ import annotations

import os
import socket
import struct
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Pipe, wait
from pathlib import Path
from typing import Any, Self

from gitindex import launch
from gitindex.indexing.batches import batches
from gitindex.indexing.lane import Berth, File, Grave
from gitindex.model.records import FileRecord
from gitindex.model.settings import EmbedSettings, IndexSettings
from gitindex.segment import chunks
from gitindex.segment.lexicalunion import unite
from gitindex.segment.writer import Written
from gitindex.store import atomic, steps

MOST = 4  # each lane makes a segment of its own, and readers open every segment
PATIENCE = 300.0  # seconds without an answer: whatever takes longer was stopped, or will never end
WORKER = "gitindex.indexing.laneworker"


class LaneDied(Exception):
    """A worker process ended without an answer."""


class Crew:
    """Processes that are about to be lanes: they load what that takes while the caller still finds out what to do.
    Leaving the context ends them, finished or not."""

    def __init__(self, count: int) -> None:
        self.hands = [_Hand() for _ in range(min(count, MOST))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for hand in self.hands:
            hand.dismiss()


class Lanes:
    """A crew at work: it fills segments below `folder`."""

    def __init__(
        self, crew: Crew, folder: Path, snapshot_id: str, settings: IndexSettings, embedding: EmbedSettings
    ) -> None:
        self._crew = crew.hands
        self._lexical = folder / "lexical"
        self._parts = [folder / f"lexical_{number}" for number in range(len(self._crew))]
        room = settings.limits.sync_bytes
        for number, (hand, part) in enumerate(zip(self._crew, self._parts, strict=True)):
            hand.assign(Berth(folder, part, snapshot_id, room, number, len(self._crew)), settings, embedding)

    def fill(self, files: Iterable[File]) -> Iterator[FileRecord]:
        """Index files; yields each record with what was found in it. The next batch goes to whoever is free."""
        free = deque(self._crew)
        for batch in batches(files, lambda file: len(file[1] or b"")):
            while not free:
                for hand in self._answering():
                    yield from hand.answer()
                    free.append(hand)
            free.popleft().give(batch)
        while len(free) < len(self._crew):
            for hand in self._answering():
                yield from hand.answer()
                free.append(hand)

    def finish(self, graves: Iterable[Grave], marker: dict[str, Any]) -> tuple[Written, ...]:
        """Close every file; tombstones stand with the first segment, the marker in the last table."""
        steps.reach("publish.chunks")
        for hand in self._crew:
            hand.end(
                list(graves) if hand is self._crew[0] else [], marker if hand is self._crew[-1] else None
            )
        chunks.load()  # the gate will read a table: time for that while the lanes write theirs
        steps.reach("publish.facts")
        written = tuple(segment for hand in self._crew for segment in hand.answer())
        steps.reach("publish.lexical")
        unite(self._parts, self._lexical, atomic.link_or_copy)
        for part in self._parts:
            atomic.remove_tree(part)
        return written

    def _answering(self) -> list[_Hand]:
        ready = wait([hand.pipe for hand in self._crew if hand.busy], PATIENCE)
        if not ready:
            raise LaneDied
        return [hand for hand in self._crew if hand.busy and hand.pipe in ready]


class _Hand:
    """Our end of one lane."""

    def __init__(self) -> None:
        self.pipe, theirs = Pipe()
        self._process = launch.start(WORKER, str(theirs.fileno()), descriptors=(theirs.fileno(),))
        theirs.close()
        _limit_sending(self.pipe.fileno())
        self.busy = False

    def assign(self, berth: Berth, settings: IndexSettings, embedding: EmbedSettings) -> None:
        self._send((berth, settings, embedding))
        self.busy = False

    def give(self, batch: list[File]) -> None:
        self._send(batch)

    def end(self, graves: list[Grave], marker: dict[str, Any] | None) -> None:
        self._send([])
        self._send((graves, marker))

    def answer(self) -> Any:
        """Raises LaneDied, and whatever the lane could not do."""
        if not self.pipe.poll(PATIENCE):
            raise LaneDied
        try:
            found = self.pipe.recv()
        except (EOFError, ConnectionError) as error:
            raise LaneDied from error
        self.busy = False
        if isinstance(found, Exception):
            raise found
        return found

    def dismiss(self) -> None:
        self.pipe.close()
        self._process.kill()
        self._process.communicate()

    def _send(self, message: object) -> None:
        self.busy = True
        try:
            self.pipe.send(message)
        except (ConnectionError, BlockingIOError) as error:
            raise LaneDied from error


def _limit_sending(pipe: int) -> None:
    """A stopped process reads nothing: writing to it must not block for ever."""
    with socket.socket(fileno=os.dup(pipe)) as end:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(PATIENCE), 0))
