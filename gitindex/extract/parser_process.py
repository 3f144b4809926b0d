"""The process in which grammars and YAML run: reads requests from standard input, writes replies to standard output.

A request names a generator function of this package and its arguments; each value that it yields is one reply. The
process exits when no request arrives for a while and when its memory has grown; a file that exceeds its limits kills
it (`file_limits`).
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
# Version 2 of the format writes no references; of plain tuples it is five times quicker than pickling the classes.
_MARSHAL = 2
_IDLE_SECONDS = 60
_MAX_RESIDENT = 256 * 1024 * 1024
_MAX_CALLS = 20_000  # nested Python calls: a chain of `else if` nests as deeply as it is long
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
    """`extract` within the limits of the file; exceeding them kills this process, unless Python noticed it first."""
    from gitindex.extract.extractor import extract

    try:
        with file_limits.enforce_limits(len(data)):
            return extract(path, data, settings, text_only=text_only)
    except MemoryError:
        if text_only:
            raise
    return extract_limited(path, data, settings, textonly.MEMORY)


def to_plain(extraction: Extraction) -> tuple[Any, ...]:
    """The fields of an extraction in their order, as plain tuples: `marshal` knows no classes."""
    return (
        extraction.language,
        extraction.parse_error,
        extraction.lines,
        extraction.interface_hash,
        tuple(map(_as_plain_tuple, extraction.symbols)),
        tuple(map(_as_plain_tuple, extraction.imports)),
        tuple(map(_as_plain_tuple, extraction.calls)),
        tuple(map(_as_plain_tuple, extraction.identifiers)),
        tuple(map(_as_plain_tuple, extraction.chunks)),
        extraction.entity and extraction.entity[:],
        extraction.truncated,
        extraction.text_only,
    )


def main() -> None:
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null_fd = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):  # so that nothing a library prints reaches the pipe
        os.dup2(null_fd, number)
    gc.disable()
    sys.setrecursionlimit(_MAX_CALLS)
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):  # no core dumps, and no file is written
        resource.setrlimit(kind, (0, 0))
    while (request := _read_request(source)) is not None:
        for reply in _run_request(*request):
            body = marshal.dumps(reply, _MARSHAL)
            sink.write(HEADER.pack(len(body)) + body)
            sink.flush()
        if _resident_bytes() > _MAX_RESIDENT:
            return


def _read_request(source: BinaryIO) -> tuple[str, str, tuple[Any, ...]] | None:
    """Module, function and arguments; None when the pipe is closed or silent for too long."""
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
    """Resident memory now. Not `getrusage`: its maximum is inherited from the parent process."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(
            resource.RUSAGE_SELF
        ).ru_maxrss  # macOS: in bytes, and of this process alone


if __name__ == "__main__":
    main()
