"""What is embedded of a chunk: its name and its text, never its path (SN-3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gitindex.extract.embed.document import compose_embed_terms, compose_embed_text
from gitindex.extract.embed.fake import FakeEmbedder
from gitindex.extract.embed.static import StaticEmbedder
from gitindex.extract.extractor import extract
from gitindex.indexing.vectors import VectorCache, Vectors
from gitindex.model.rows import Chunk
from gitindex.model.settings import IndexSettings

SOURCE = (
    b"class Cart:\n    def checkout(self):\n        return self.total\n\n\ndef pay(card):\n    return card\n"
    * 20
)


def chunks(path: str) -> list[Chunk]:
    return [chunk for chunk in extract(path, SOURCE, IndexSettings()).chunks if chunk.kind == "text"]


def test_the_name_comes_before_the_text() -> None:
    assert compose_embed_text("Cart.checkout", "pay()") == "Cart.checkout\npay()"
    assert compose_embed_text("", "pay()") == "pay()"
    assert compose_embed_terms("Cart.checkout", "pay").split() == ["cart", "checkout"] * 4 + ["pay"]
    assert compose_embed_terms("", "pay") == "pay"


def test_a_rename_embeds_nothing_anew_and_a_name_counts(tmp_path: Path) -> None:
    """SN-3: vectors depend on content; equal text under another name is another vector, in any batch."""
    here, there = chunks("a.py"), chunks("moved/b.py")
    twin = here[0]._replace(symbol="Other.name")
    cached = Vectors(FakeEmbedder(), VectorCache(tmp_path, "fake"))
    first, again = cached.embed_chunks([*here, twin]), cached.embed_chunks([*there, twin])
    assert first is not None
    assert np.array_equal(first, again)
    assert cached.embedded == len({(chunk.symbol, chunk.text) for chunk in (*here, twin)})
    for vectors in (Vectors(FakeEmbedder()), Vectors(StaticEmbedder.load())):
        together = vectors.embed_chunks([*here, twin])
        assert together is not None
        assert not np.array_equal(together[0], together[-1])
        for chunk, row in zip((*here, twin), together, strict=True):
            alone = vectors.embed_chunks([chunk])
            assert alone is not None
            assert np.array_equal(alone[0], row)
