"""The process in which grammars and YAML run: reads requests from standard input, writes replies to standard output.

A request names a generator function of ours and its arguments; each value that it yields is one reply. The process
ends by itself when nobody asks any more, when it has grown, and when a file exceeds its limits (`limits`).
"""

from __future__ import annotations

import gc
import marshal
import os
import pickle
import resource
import select
import struct
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gitindex.extract import file_limits
from gitindex.model import textonly

if TYPE_CHECKING:
    from gitindex.model.rows import Extraction
    from gitindex.model.settings import IndexSettings

HEADER = struct.Struct(">Q")  # length of what follows
VALUE, END, EXCEEDED, FAILED = "value", "end", "exceeded", "failed"
# Plain tuples in the form without references: five times cheaper than pickling what they are copied from.
_MARSHAL = 2
_IDLE_SECONDS = 60
_MAX_RESIDENT = 256 * 1024 * 1024
_MAX_CALLS = 20_000  # of Python calls: chains of `else if` nest as deeply as they are long
_as_plain_tuple = itemgetter(slice(None))

WorkerFile = tuple[str, bytes, str]  # path key, bytes, the limit that keeps its syntax out ("" for none)


def extract_files(
    files: list[WorkerFile], settings: IndexSettings
) -> Iterator[tuple[float, tuple[Any, ...]]]:
    """Processor seconds and extraction of each file."""
    for path, data, text_only in files:
        start = time.process_time()
        extraction = extract_limited(path, data, settings, text_only)
        yield time.process_time() - start, to_plain(extraction)


def extract_limited(path: str, data: bytes, settings: IndexSettings, text_only: str = "") -> Extraction:
    """`extract` that ends this process rather than exceed its limits. What Python itself notices costs no process."""
    from gitindex.extract.extractor import extract

    try:
        with file_limits.enforce_limits(len(data)):
            return extract(path, data, settings, text_only=text_only)
    except MemoryError:
        if text_only:
            raise
    return extract_limited(path, data, settings, textonly.MEMORY)


def to_plain(extraction: Extraction) -> tuple[Any, ...]:
    """Without the classes, for `marshal`."""
    rows = (tuple(map(_as_plain_tuple, part)) for part in extraction[4:9])
    return (*extraction[:4], *rows, extraction.entity and extraction.entity[:], *extraction[10:])


def main() -> None:
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null_fd = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):  # whatever prints must not reach the pipe
        os.dup2(null_fd, number)
    gc.disable()
    sys.setrecursionlimit(_MAX_CALLS)
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):  # leaves no core dump and writes no file
        resource.setrlimit(kind, (0, 0))
    while (request := _read_request(source)) is not None:
        for reply in _run_request(*request):
            body = marshal.dumps(reply, _MARSHAL)
            sink.write(HEADER.pack(len(body)) + body)
            sink.flush()
        if _resident_bytes() > _MAX_RESIDENT:
            return


def _read_request(source: BinaryIO) -> tuple[str, str, tuple[Any, ...]] | None:
    """None when nobody asks any more."""
    if not select.select([source], [], [], _IDLE_SECONDS)[0]:
        return None
    header = source.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    request: tuple[str, str, tuple[Any, ...]] = pickle.loads(source.read(HEADER.unpack(header)[0]))  # noqa: S301 - from the process that started us
    return request


def _run_request(module: str, name: str, arguments: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    try:
        for value in getattr(import_module(module), name)(*arguments):
            yield VALUE, value
    except (MemoryError, RecursionError) as error:
        yield EXCEEDED, textonly.DEPTH if isinstance(error, RecursionError) else textonly.MEMORY
    except Exception as error:  # noqa: BLE001 - raised again by the process that asked
        yield FAILED, f"{type(error).__name__}: {error}"
    else:
        yield END, None


def _resident_bytes() -> int:
    """Bytes now. Not `getrusage`: its maximum is inherited from whoever started us."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS: in bytes, and our own


if __name__ == "__main__":
    main()
