"""Which embedder the settings ask for. Naming one is cheap; opening one may import much."""

from __future__ import annotations

from gitindex.errors import EmbeddingError
from gitindex.extract.embed.fake import FAKE_IDENTITY, FakeEmbedder
from gitindex.extract.embed.protocol import Embedder
from gitindex.model.settings import EmbedSettings
from gitindex.model.versions import STATIC_VERSION

PROVIDERS = ("none", "static", "sentence-transformers")  # what users choose from
KNOWN_PROVIDERS = (*PROVIDERS, "fake")  # accepted by name, offered in no help and no message


def open_embedder(settings: EmbedSettings) -> Embedder | None:
    """None for provider "none".

    Raises EmbeddingError for an unknown provider or a missing extra.
    """
    if settings.provider == "none":
        return None
    if settings.provider == "fake":
        return FakeEmbedder()
    if settings.provider == "static":
        from gitindex.extract.embed.static import StaticEmbedder

        return StaticEmbedder.load()
    if settings.provider == "sentence-transformers":
        return _open_transformers(settings)
    raise _unknown_provider_error(settings.provider)


def _open_transformers(settings: EmbedSettings) -> Embedder:
    from importlib.util import find_spec

    from gitindex.extract.embed.transformers import TransformersEmbedder

    if find_spec("sentence_transformers") is None:
        raise EmbeddingError(
            "sentence-transformers is not installed", hint="pip install 'gitindex[transformers]'"
        )
    return TransformersEmbedder(settings)


def embedder_identity(settings: EmbedSettings) -> str:
    """What goes into fingerprints: equal exactly when vectors are comparable."""
    if settings.provider == "none":
        return "none"
    if settings.provider == "fake":
        return FAKE_IDENTITY
    if settings.provider == "static":
        return f"static:{STATIC_VERSION}"
    if settings.provider == "sentence-transformers":
        from gitindex.extract.embed.transformers import transformers_identity

        return transformers_identity(settings)
    raise _unknown_provider_error(settings.provider)


def _unknown_provider_error(provider: str) -> EmbeddingError:
    return EmbeddingError(
        f"unknown embedding provider {provider!r}",
        hint=f"set embedding.provider in .gitindex.toml to one of: {', '.join(PROVIDERS)}",
    )
