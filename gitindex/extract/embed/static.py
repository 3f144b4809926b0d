"""The default embedder: a bundled table of sub-word vectors (docs/model-card.md). numpy only, no network, no model run.

A text is the bag of its distinct sub-words, each weighted 1 + ln(frequency), summed and L2-normalised.
Rows, row scales and weights are all integers and their sum is exact in float64, so a vector does not depend on the
batch it was made in nor on the machine's BLAS: a clean build and an incremental one agree bit by bit.
"""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Self
from zlib import crc32

from gitindex.errors import EmbeddingError
from gitindex.extract.tokens import subwords
from gitindex.model.versions import STATIC_VERSION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DATA_FILE = "static-v1.bin"
MAGIC = b"GISTATC1"
HEADER = struct.Struct("<8sIIII")  # magic, dimension, words, buckets, bytes of the vocabulary

_REINSTALL = "pip install --force-reinstall gitindex"
_BATCH = 16  # chunks per matrix product: more share rows better but multiply more zeros
_MAX_COUNT = 1023  # a sub-word repeated more often counts as this often


class _RowNumbers(dict[str, int]):
    """Sub-word → row; one outside the vocabulary falls into a hash bucket after the words."""

    def __init__(self, words: list[str], buckets: int) -> None:
        super().__init__(zip(words, range(len(words)), strict=True))
        self._first, self._buckets = len(words), buckets

    def __missing__(self, token: str) -> int:
        return self._first + crc32(token.encode(errors="replace")) % self._buckets


class StaticEmbedder:
    """Sub-word vectors in memory; open with `load()`. Safe to share between threads: nothing changes after load."""

    def __init__(
        self, rows: _RowNumbers, table: NDArray[np.int8], scales: NDArray[np.float64], name: str
    ) -> None:
        import numpy as np

        self.identity = name
        self.dimension = int(table.shape[1])
        self._rows, self._table, self._scales = rows, table, scales
        by_count = (round(256 * (1 + math.log(count))) for count in range(1, _MAX_COUNT + 1))
        self._weights = np.array([0, *by_count], np.float64)

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """The bundled table, or another file in the same format (ci/train/quantise.py writes them).

        Raises EmbeddingError when the file is absent or is no table.
        """
        from importlib.resources import as_file, files  # costs more than the rest of this module

        if path is not None:
            return cls._open(path, f"static:{path.stem}@{weights_digest(path)}")
        with as_file(files(__package__) / "data" / DATA_FILE) as bundled:
            return cls._open(bundled, f"static:{STATIC_VERSION}")

    @classmethod
    def _open(cls, path: Path, identity: str) -> Self:
        import numpy as np

        content = _map_file(path)
        header = content[: HEADER.size].ljust(HEADER.size)
        magic, dimension, words, buckets, vocabulary = HEADER.unpack(header)
        count, start = words + buckets, HEADER.size + vocabulary
        if magic != MAGIC or not count or len(content) != start + count * (2 + dimension):
            raise EmbeddingError(f"{path} is not a static embedding table", hint=_REINSTALL)
        rows = _RowNumbers(content[HEADER.size : start].decode().split("\n"), buckets)
        scales = np.frombuffer(content, "<u2", count, start).astype(np.float64)
        table = np.frombuffer(content, np.int8, count * dimension, start + 2 * count)
        return cls(rows, table.reshape(count, dimension), scales, identity)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit vector per text; a text without sub-words gives zeros."""
        return self._embed([subwords(text) for text in texts])

    def embed_terms(self, terms: Sequence[str]) -> NDArray[np.float32]:
        """The same from sub-words already split and joined by spaces, as the lexical index keeps them; faster."""
        return self._embed([text.split() for text in terms])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector

    def _embed(self, texts: list[list[str]]) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for start in range(0, len(texts), _BATCH):
            total = self._sum_rows(texts[start : start + _BATCH])
            length = np.sqrt((total * total).sum(axis=1, keepdims=True))
            vectors[start : start + _BATCH] = total / np.where(length == 0, 1, length)
        return vectors

    def _sum_rows(self, texts: list[list[str]]) -> NDArray[np.float64]:
        """Weighted row sums of a batch as one product (texts × distinct rows) @ (distinct rows × dimension)."""
        import numpy as np

        lengths = [len(tokens) for tokens in texts]
        tokens = chain.from_iterable(texts)
        token_rows = np.fromiter(map(self._rows.__getitem__, tokens), np.intp, sum(lengths))
        is_used = np.zeros(len(self._scales), np.bool_)  # marking rows is several times faster than np.unique
        is_used[token_rows] = True
        distinct = np.flatnonzero(is_used)
        column = np.empty(len(is_used), np.intp)
        column[distinct] = np.arange(len(distinct))
        cell = np.repeat(np.arange(len(texts)) * len(distinct), lengths) + column[token_rows]
        counts = np.bincount(cell, minlength=len(texts) * len(distinct)).reshape(len(texts), len(distinct))
        weights = self._weights[np.minimum(counts, _MAX_COUNT)] * self._scales[distinct]
        return weights @ self._table[distinct].astype(np.float64)


def weights_digest(path: Path) -> str:
    """What names a table: the first 12 digits of the sha256 of its file."""
    import hashlib

    return hashlib.sha256(_map_file(path)).hexdigest()[:12]


def _map_file(path: Path) -> mmap.mmap:
    """The file mapped read-only: a query touches a few pages, not 14 MB."""
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # ValueError: an empty file cannot be mapped
        raise EmbeddingError(f"no embedding table at {path}: {error}", hint=_REINSTALL) from error
