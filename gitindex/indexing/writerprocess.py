"""A process of the writer pool: receives batches of files, writes them into its own segments, sends their records.

A file that exceeds its limits ends the process (`extract.file_limits`); the parent then writes with `LocalWriter`.
"""

from __future__ import annotations

import gc
import sys
import time
from multiprocessing.connection import Connection

from gitindex.extract.file_limits import Allowance
from gitindex.extract.parser_process import extract_limited
from gitindex.indexing.indexwriter import ExtractedFile, FileContent, IndexWriter
from gitindex.indexing.vectors import Vectors
from gitindex.model.settings import IndexSettings
from gitindex.model.textonly import BUDGET
from gitindex.segment import chunk_table, lexical_index


def main() -> None:
    serve(Connection(int(sys.argv[1])))


def serve(pipe: Connection) -> None:
    """Messages: (target, settings, embedding), batches of files, an empty batch, (tombstones, marker)."""
    gc.disable()  # indexing makes many objects and no cycles
    try:
        _serve(pipe)
    except (EOFError, ConnectionError):
        return  # the parent is gone
    except Exception as error:  # noqa: BLE001 - the parent raises it
        pipe.send(error)


def _serve(pipe: Connection) -> None:
    from gitindex.extract.embed.embedders import open_embedder

    if not pipe.poll():
        chunk_table.load()  # needed last, but the process is idle now
    target, settings, embedding = pipe.recv()
    lexical_index.create(target.lexical)
    writer = IndexWriter(target, Vectors(open_embedder(embedding)), bulk=True)
    allowance = Allowance()
    while batch := pipe.recv():
        pipe.send(writer.add([_extract(file, settings, allowance) for file in batch]))
    writer.flush()
    tombstones, marker = pipe.recv()
    pipe.send(writer.finish(tombstones, marker))


def _extract(file: FileContent, settings: IndexSettings, allowance: Allowance) -> ExtractedFile:
    if file.data is None:
        return ExtractedFile(file.record, None)
    start = time.thread_time()
    extraction = extract_limited(file.record.path, file.data, settings, BUDGET if allowance.is_spent else "")
    allowance.charge(time.thread_time() - start, len(file.data))
    return ExtractedFile(file.record, extraction)


if __name__ == "__main__":
    main()
