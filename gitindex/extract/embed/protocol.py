"""What every embedder offers: texts in, one unit vector each out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Deterministic for one `identity`; a row is zero only for a text without tokens."""

    @property
    def identity(self) -> str:
        """provider:model@revision or version; part of every fingerprint."""
        ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32, one L2-normalised row per text."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]: ...
