"""A lane's process: receives files, indexes them into segments of its own, and answers with a record per file.

It may die: a file that exceeds its limits ends it (`extract.limits`), and the tree is then written the careful way.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

from gitindex.extract.limits import Allowance
from gitindex.extract.worker import extract_limited
from gitindex.indexing.lane import Extracted, File, Lane
from gitindex.indexing.vectors import Vectors
from gitindex.model.settings import IndexSettings
from gitindex.model.textonly import BUDGET
from gitindex.segment import chunks, lexical


def main() -> None:
    serve(Connection(int(sys.argv[1])))


def serve(pipe: Connection) -> None:
    gc.disable()
    try:
        _work(pipe)
    except (EOFError, ConnectionError):
        return  # nobody waits for an answer any more
    except Exception as error:  # noqa: BLE001 - raised on the other side
        pipe.send(error)


def _work(pipe: Connection) -> None:
    from gitindex.extract.embed.registry import open_embedder

    if not pipe.poll():
        chunks.load()  # needed last, but there is time now
    berth, settings, embedding = pipe.recv()
    lexical.create(berth.lexical)
    lane = Lane(berth, Vectors(open_embedder(embedding)), bulk=True)
    allowance = Allowance()
    while batch := pipe.recv():
        pipe.send(list(lane.add(_extracted(batch, settings, allowance))))
    lane.settle()
    graves, marker = pipe.recv()
    pipe.send(lane.finish(graves, marker))


def _extracted(batch: list[File], settings: IndexSettings, allowance: Allowance) -> Iterator[Extracted]:
    for record, data in batch:
        if data is None:
            yield record, None
            continue
        start = time.thread_time()
        found = extract_limited(record.path, data, settings, BUDGET if allowance.spent else "")
        allowance.charge(time.thread_time() - start, len(data))
        yield record, found


if __name__ == "__main__":
    main()
