"""Every embedder that needs no model keeps the promises of the protocol."""

from __future__ import annotations

import numpy as np
import pytest

from gitindex.extract.embed.fake import FakeEmbedder
from gitindex.extract.embed.protocol import Embedder
from gitindex.extract.embed.static import StaticEmbedder

TEXTS = ["def parse_header(line): return line", "", "class Session: keeps cookies between requests"]


@pytest.fixture(params=[FakeEmbedder, StaticEmbedder.load], ids=["fake", "static"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return request.param()


def test_a_row_for_each_text_of_length_one_or_zero(embedder: Embedder):
    rows = embedder.embed(TEXTS)
    assert (rows.shape, rows.dtype) == ((len(TEXTS), embedder.dimension), np.float32)
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 0, 1], abs=1e-5)


def test_the_same_text_gives_the_same_row_alone_and_among_others(embedder: Embedder):
    assert np.array_equal(embedder.embed(TEXTS[2:])[0], embedder.embed(TEXTS)[2])
    assert embedder.embed_query(TEXTS[0]).shape == (embedder.dimension,)
    assert ":" in embedder.identity
