"""Pairs as bags of sub-word rows: the vocabulary and the compact arrays the trainer draws batches from."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from ci.train.pairs import sentence
from gitindex.extract.tokens import subwords

WORDS, BUCKETS, RAREST = 48_000, 8_192, 3
CODE_TOKENS, CHUNK_TOKENS = 400, 160  # a whole function; about one 750-character chunk
TEXTS = ("sentence", "paragraph", "named", "plain", "anon")


@dataclass(frozen=True)
class Bags:
    """One kind of text of every pair: rows and counts, concatenated, and where each pair starts (and the end)."""

    rows: np.ndarray
    counts: np.ndarray
    starts: np.ndarray

    def span(self, pair: int) -> tuple[np.ndarray, np.ndarray]:
        where = slice(self.starts[pair], self.starts[pair + 1])
        return self.rows[where], self.counts[where]


@dataclass(frozen=True)
class Corpus:
    words: list[str]
    frequency: np.ndarray  # documents per row
    texts: dict[str, Bags]
    packages: np.ndarray  # package number per pair


def texts_of(pair: dict[str, str]) -> dict[str, list[str]]:
    """The five token lists of a pair (see TEXTS)."""
    code = subwords(pair["code"])
    name = pair["name"].rsplit(".", 1)[-1]
    nameless = re.sub(rf"\b{re.escape(name)}\b", " ", pair["code"])
    place = subwords(f"{' '.join(pair['path'].split('/')[-3:])} {pair['name']}")
    return {
        "sentence": subwords(sentence(pair["doc"])),
        "paragraph": subwords(pair["doc"]),
        "named": place + code[:CODE_TOKENS],
        "plain": code[:CHUNK_TOKENS],
        "anon": subwords(nameless)[:CODE_TOKENS],
    }


def read_pairs(path: Path) -> Iterator[dict[str, str]]:
    with path.open() as lines:
        for line in lines:
            yield json.loads(line)


def load(path: Path) -> Corpus:
    """Number sub-words as they come, then give the most frequent ones (by documents) the first rows."""
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
    numbered: dict[str, list[np.ndarray]] = {kind: [] for kind in TEXTS}
    packages: defaultdict[str, int] = defaultdict(lambda: len(packages))
    belongs = []
    for pair in read_pairs(path):
        belongs.append(packages[pair["package"]])
        for kind, tokens in texts_of(pair).items():
            numbered[kind].append(np.array([numbers[token] for token in tokens], np.int32))
    frequency = _documents(numbered, len(numbers))
    words, row_of = _rank(list(numbers), frequency)
    texts = {kind: _bags(numbered.pop(kind), row_of) for kind in TEXTS}
    per_row = np.bincount(row_of, weights=frequency, minlength=len(words) + BUCKETS)
    return Corpus(words, per_row, texts, np.array(belongs))


def _documents(numbered: dict[str, list[np.ndarray]], size: int) -> np.ndarray:
    """In how many pairs each sub-word occurs."""
    frequency = np.zeros(size, np.int64)
    for doc, code in zip(numbered["paragraph"], numbered["named"], strict=True):
        frequency[np.unique(np.concatenate([doc, code]))] += 1
    return frequency


def _rank(words: list[str], frequency: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The vocabulary, most frequent first, and the row of every sub-word: its own or its hash bucket."""
    order = sorted(
        np.flatnonzero(frequency >= RAREST), key=lambda number: (-frequency[number], words[number])
    )[:WORDS]
    row_of = np.array([len(order) + crc32(word.encode()) % BUCKETS for word in words])
    row_of[order] = np.arange(len(order))
    return [words[number] for number in order], row_of.astype(np.uint16)


def _bags(numbered: list[np.ndarray], row_of: np.ndarray) -> Bags:
    unique = [np.unique(row_of[numbers], return_counts=True) for numbers in numbered]
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows, _ in unique])])
    rows = np.concatenate([rows for rows, _ in unique])
    counts = np.concatenate([np.minimum(counts, 255).astype(np.uint8) for _, counts in unique])
    return Bags(rows, counts, starts)
