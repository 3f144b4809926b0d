"""sentence-transformers on the CPU: an extra, for those who can afford torch.

The model is a pinned revision of the hub or a directory that the user named; no code of a model is ever run (CF-4).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gitindex.errors import EmbeddingError
from gitindex.model.settings import EmbedSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_INSTALL_HINT = "pip install 'gitindex[transformers]'"
_OTHER_FORMATS = ("onnx/*", "openvino/*", "*.h5", "*.msgpack", "*.ot", "*.onnx", "*.py")


def transformers_identity(settings: EmbedSettings) -> str:
    """Costs no import of torch and no read of the weights."""
    name = f"{settings.model}@{settings.revision}"
    return f"sentence-transformers:{name}/{settings.dimension}/{settings.max_chars}"


class TransformersEmbedder:
    """Loads its model at first use."""

    def __init__(self, settings: EmbedSettings) -> None:
        self._settings = settings
        self.identity = transformers_identity(settings)

    @property
    def dimension(self) -> int:
        return self._settings.dimension or int(self._model.get_embedding_dimension())

    @cached_property
    def _model(self) -> Any:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise EmbeddingError("sentence-transformers is not installed", hint=_INSTALL_HINT) from error
        try:
            return SentenceTransformer(
                self._settings.directory or self._download(),
                device="cpu",
                trust_remote_code=False,
                local_files_only=True,
                truncate_dim=self._settings.dimension or None,
            )
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise EmbeddingError(
                f"cannot load model {self._settings.model!r}: {error}",
                hint="name a directory of yours in [models] of config.toml, or check the network and the revision",
            ) from error

    def _download(self) -> str:
        """Where the hub's cache keeps the revision. Its name alone would also mean a directory of that name here."""
        from huggingface_hub import snapshot_download

        settings = self._settings
        return str(
            snapshot_download(
                settings.model, revision=settings.revision, ignore_patterns=list(_OTHER_FORMATS)
            )
        )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        cut_texts = [text[: self._settings.max_chars] for text in texts]
        if not cut_texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        encoded = self._model.encode(
            cut_texts,
            batch_size=self._settings.batch,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        rows = np.ascontiguousarray(encoded, dtype=np.float32)
        rows[[not text.strip() for text in cut_texts]] = 0.0
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self.embed([text])[0]
        return row
