"""Write a trained table as the package's data file: int8 rows, one 16-bit scale per row, the vocabulary as text.

    python -m ci.train.quantise TRAINED.npz OUTPUT.bin

Prints the smallest cosine between a row and its quantised form and the digest for STATIC_VERSION.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from gitindex.extract.embed.static import HEADER, MAGIC, weights_digest


def quantise(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 rows and integer scales: row ≈ int8 · scale, up to one factor common to all rows."""
    largest = np.abs(table).max(axis=1)
    scales = np.ceil(largest / largest.max() * 65535).clip(min=1)
    step = largest.max() / 127 / 65535
    return np.rint(table / (scales[:, None] * step)).astype(np.int8), scales.astype("<u2")


def worst_cosine(table: np.ndarray, rows: np.ndarray) -> float:
    rounded = rows.astype(np.float32)
    lengths = np.linalg.norm(table, axis=1) * np.linalg.norm(rounded, axis=1)
    return float(((table * rounded).sum(axis=1) / lengths).min())


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("trained", type=Path)
    arguments.add_argument("output", type=Path)
    given = arguments.parse_args()
    trained = np.load(given.trained)
    table, words, buckets = trained["table"], str(trained["words"]).encode(), int(trained["buckets"])
    rows, scales = quantise(table)
    header = HEADER.pack(MAGIC, table.shape[1], len(table) - buckets, buckets, len(words))
    given.output.write_bytes(header + words + scales.tobytes() + rows.tobytes())
    print(f"worst cosine {worst_cosine(table, rows):.5f}, {given.output.stat().st_size} bytes")
    print(f"digest {weights_digest(given.output)}")


if __name__ == "__main__":
    main()
