"""sentence-transformers on the CPU: an extra, for those who can afford torch.

The model is a hub name with a pinned revision or a local directory; a directory's identity is what it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitindex.errors import EmbeddingError
from gitindex.model.settings import EmbedSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
_EXTRA = "pip install 'gitindex[transformers]'"
_IDENTITY_FILES = ("config.json", "modules.json", "tokenizer.json", "config_sentence_transformers.json")


def transformers_identity(settings: EmbedSettings) -> str:
    """Costs no import of torch and no read of the weights."""
    model = settings.model or DEFAULT_MODEL
    revision = settings.revision or _directory_revision(Path(model))
    return f"sentence-transformers:{_shown(model)}@{revision or 'unpinned'}/{settings.dimension}/{settings.max_chars}"


def _shown(model: str) -> str:
    """A directory counts by name and content, so two machines with the same files agree."""
    path = Path(model)
    return path.name if path.is_dir() else model


def _directory_revision(path: Path) -> str:
    if not path.is_dir():
        return ""
    digest = hashlib.sha256()
    for name in _IDENTITY_FILES:
        if (path / name).is_file():
            digest.update(name.encode() + b"\0" + (path / name).read_bytes())
    for weights in sorted([*path.glob("*.safetensors"), *path.glob("*.bin")]):
        digest.update(f"{weights.name}\0{weights.stat().st_size}\0".encode())
    return digest.hexdigest()[:16]


class TransformersEmbedder:
    """Loads its model at first use."""

    def __init__(self, settings: EmbedSettings) -> None:
        self._settings = settings
        self.identity = transformers_identity(settings)

    @property
    def dimension(self) -> int:
        return self._settings.dimension or int(_dimension_of(self._model))

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise EmbeddingError("sentence-transformers is not installed", hint=_EXTRA) from error
        name = self._settings.model or DEFAULT_MODEL
        try:
            return SentenceTransformer(
                name,
                device="cpu",
                revision=self._settings.revision or None,
                truncate_dim=self._settings.dimension or None,
            )
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbeddingError(
                f"cannot load model {name!r}: {error}",
                hint="set embedding.model to a local directory, or check the network and embedding.revision",
            ) from error

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        cut = [text[: self._settings.max_chars] for text in texts]
        if not cut:
            return np.zeros((0, self.dimension), dtype=np.float32)
        found = self._model.encode(
            cut,
            batch_size=self._settings.batch,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        rows = np.ascontiguousarray(found, dtype=np.float32)
        rows[[not text.strip() for text in cut]] = 0.0
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self.embed([text])[0]
        return row


def _dimension_of(model: Any) -> int:
    """The method was renamed in version 5; both are about."""
    ask = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    return int(ask())
