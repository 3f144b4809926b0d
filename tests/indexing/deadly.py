"""Processes that die or fail at one file, started in place of ours: what a crashing grammar or a full disk does."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

from gitindex.extract import extractor, parser_process
from gitindex.indexing import indexwriter, writerprocess
from gitindex.model.settings import IndexSettings

VICTIM = "m77.py"
extract = extractor.extract


def crash(path: str, data: bytes, settings: IndexSettings, *, text_only: str = "") -> object:
    if path.endswith(VICTIM) and not text_only:
        os.kill(os.getpid(), signal.SIGSEGV)
    return extract(path, data, settings, text_only=text_only)


def stop(path: str, data: bytes, settings: IndexSettings, *, text_only: str = "") -> object:
    if path.endswith(VICTIM) and not text_only:
        os.kill(os.getpid(), signal.SIGSTOP)
    return extract(path, data, settings, text_only=text_only)


def crashing_files(files: list[parser_process.WorkerFile], settings: IndexSettings) -> Iterator[Any]:
    extractor.extract = crash  # type: ignore[assignment]
    yield from parser_process.extract_files(files, settings)


def stopping_files(files: list[parser_process.WorkerFile], settings: IndexSettings) -> Iterator[Any]:
    extractor.extract = stop  # type: ignore[assignment]
    yield from parser_process.extract_files(files, settings)


def failing_files(files: list[parser_process.WorkerFile], settings: IndexSettings) -> Iterator[Any]:
    raise ZeroDivisionError("a mistake of ours")
    yield


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


if __name__ == "__main__":  # a process of the writer pool
    *_, how, pipe = sys.argv
    if how == "full":
        indexwriter.IndexWriter.finish = full  # type: ignore[assignment,method-assign]
    else:
        extractor.extract = {"crash": crash, "stop": stop}[how]  # type: ignore[assignment]
    writerprocess.serve(Connection(int(pipe)))
