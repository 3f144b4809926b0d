"""The stored form of exact facts: one blob of positions per symbol, one per file (SE-7, SE-8).

Symbols are identified by their 64-bit hash, files by a number within their segment, so segments combine without a
table between them. `packing` writes these forms from arrays. Reading is plain Python and lazy, because a query
reads few blobs and should import little. Lines and columns are 1-based.

All numbers are varints; a step is the difference to the previous value; [brackets] mark optional numbers.

- A symbol's blob: the number of its name, then per occurrence `line step << 2 | new file << 1 | new flags`,
  [file step; the line then counts from 0], [flags], column. Flags start as READ, which most references have.
- A file's blob: the numbers of global symbols, local symbols and occurrences, 8 bytes (the hash) per global symbol,
  then per occurrence: line step, column (on the same line its step), `width << 1` or `height << 1 | 1` and end
  column, symbol number, flags.
- Definitions of a file, one after the other: symbol number, line step, column, height, end column, lines back to
  the start of the enclosing range plus one (0 without such a range; AHEAD more where it starts below),
  [its start column, height, end column], description plus one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

DEFINITION, IMPORT, WRITE, READ = 1, 2, 4, 8  # SCIP's roles
EXACT, DEMOTED, REPAIRED = 0, 1, 2  # qualities: does the text in the file agree with the symbol?
QUALITY_SHIFT = 7  # flags = SCIP roles (7 bits) | quality << 7
AHEAD = 1 << 31  # beyond any number of lines


class Posting(NamedTuple):
    file: int
    line: int
    column: int
    flags: int


class Occurrence(NamedTuple):
    symbol: int  # number within the file
    line: int
    column: int
    end_line: int
    end_column: int
    flags: int  # SCIP roles | quality << QUALITY_SHIFT


class DefinitionRow(NamedTuple):
    """One definition. Arrays of definitions have these ten columns in this order.

    Line 0: the document describes a local symbol that it does not define.
    """

    symbol: int  # number within the file
    line: int
    column: int
    end_line: int
    end_column: int
    start_line: int  # of the enclosing range: the definition with its body; 0 unknown
    start_column: int
    stop_line: int
    stop_column: int
    description: int  # number within the document's hover, -1 without


# The number of each column in an array of occurrences or definitions.
OCCURRENCE_COLUMNS = Occurrence(*range(len(Occurrence._fields)))
DEFINITION_COLUMNS = DefinitionRow(*range(len(DefinitionRow._fields)))


class FileBlob(NamedTuple):
    """A file's symbols, with its occurrences still packed."""

    hashes: tuple[int, ...]  # of the global symbols, ascending; the file's locals have the numbers after them
    locals: int  # how many there are
    total: int  # occurrences
    packed: bytes
    start: int  # of the occurrences within `packed`


def read_name_number(blob: bytes) -> int:
    """The number of a symbol's name, from the symbol's blob."""
    return next(iter_varints(blob))


def unpack_symbol(blob: bytes) -> Iterator[Posting]:
    file = line = 0
    flags = READ
    numbers = iter_varints(blob)
    next(numbers)  # the number of the name
    for head in numbers:
        if head & 2:  # another file
            file += next(numbers)
            line = 0
        if head & 1:  # other flags
            flags = next(numbers)
        line += head >> 2
        yield Posting(file, line, next(numbers), flags)


def open_file(blob: bytes) -> FileBlob:
    numbers = iter_varints(blob)
    global_count, local_count, total = next(numbers), next(numbers), next(numbers)
    # The hashes follow the three varints, each of which has one byte per 7 bits.
    start = sum(max(1, (count.bit_length() + 6) // 7) for count in (global_count, local_count, total))
    hashes = struct.unpack_from(f"<{global_count}q", blob, start)
    return FileBlob(hashes, local_count, total, packed=blob, start=start + 8 * global_count)


def unpack_occurrences(file: FileBlob) -> Iterator[Occurrence]:
    line = column = 0
    numbers = iter_varints(file.packed, file.start)
    for step in numbers:
        column = next(numbers) if step else column + next(numbers)
        line += step
        size = next(numbers)
        if size & 1:  # several lines
            end_line, end_column = line + (size >> 1), next(numbers)
        else:
            end_line, end_column = line, column + (size >> 1)
        yield Occurrence(next(numbers), line, column, end_line, end_column, flags=next(numbers))


def unpack_definitions(blob: bytes) -> Iterator[DefinitionRow]:
    line = 0
    numbers = iter_varints(blob)
    for symbol in numbers:
        line += next(numbers)
        column, height, end_column, lines_back = next(numbers), next(numbers), next(numbers), next(numbers)
        start_line = start_column = stop_line = stop_column = 0
        if lines_back:  # stored plus one: 0 means that there is no enclosing range
            start_line = line - (lines_back - 1) if lines_back <= AHEAD else line + (lines_back - 1 - AHEAD)
            start_column, stop_line, stop_column = next(numbers), start_line + next(numbers), next(numbers)
        name = (symbol, line, column, line + height, end_column)
        enclosing = (start_line, start_column, stop_line, stop_column)
        yield DefinitionRow(*name, *enclosing, next(numbers) - 1)  # keywords would take half as long again


def iter_varints(blob: bytes, offset: int = 0) -> Iterator[int]:
    """The numbers of a blob, from an offset on."""
    value = shift = 0
    for byte in memoryview(blob)[offset:]:
        if byte < 128:
            yield value | byte << shift
            value = shift = 0
        else:
            value |= (byte & 127) << shift
            shift += 7
