"""A deterministic stand-in: every sub-word adds its own hashed direction. For tests, not for meaning."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitindex.extract.tokens import subwords
from gitindex.model.versions import TOKENS_VERSION

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FAKE_DIMENSION = 32
FAKE_IDENTITY = f"fake:hash@1/{TOKENS_VERSION}"


class FakeEmbedder:
    """Texts that share sub-words are near; nothing else is known about them."""

    identity = FAKE_IDENTITY
    dimension = FAKE_DIMENSION

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        rows = np.zeros((len(texts), FAKE_DIMENSION), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            sums = _sum_directions(text)
            length = sum(value * value for value in sums) ** 0.5
            if length:
                row[:] = [value / length for value in sums]
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self.embed([text])[0]
        return row


def _sum_directions(text: str) -> list[int]:
    sums = [0] * FAKE_DIMENSION
    words = subwords(text)
    for word in words:
        digest = hashlib.sha256(word.encode()).digest()
        sums = [total + byte - 127 for total, byte in zip(sums, digest, strict=True)]
    # Words may cancel out exactly; a text with words still needs a direction.
    return sums if any(sums) or not words else [1] + [0] * (FAKE_DIMENSION - 1)
