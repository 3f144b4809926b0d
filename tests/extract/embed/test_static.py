"""The bundled static table: what it promises (exact, stable, small, numpy only) and that it ranks code sensibly."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.errors import EmbeddingError
from gitindex.extract.embed import static
from gitindex.extract.embed.static import DATA_FILE, StaticEmbedder
from gitindex.extract.tokens import terms
from gitindex.model.versions import STATIC_VERSION

ROOT = Path(__file__).parents[3]
WEIGHTS = Path(static.__file__).parent / "data" / DATA_FILE
CARD = ROOT / "docs" / "model-card.md"

FUNCTIONS = {
    "Parse the command line and run the chosen subcommand.": """
        def main(argv):
            parser = ArgumentParser(prog="tool")
            subparsers = parser.add_subparsers(dest="command")
            args = parser.parse_args(argv)
            return COMMANDS[args.command](args)
    """,
    "Retry a request with exponential back-off when the server is busy.": """
        def call(url, attempts=5):
            for attempt in range(attempts):
                response = http.get(url)
                if response.status != 503:
                    return response
                time.sleep(2 ** attempt)
    """,
    "Compute the shortest path between two nodes of a weighted graph.": """
        def dijkstra(graph, source, target):
            queue, distance = [(0, source)], {source: 0}
            while queue:
                cost, node = heappop(queue)
                for neighbor, weight in graph.edges(node):
                    heappush(queue, (cost + weight, neighbor))
    """,
    "Escape special characters so that text is safe inside HTML.": """
        def quote_markup(value):
            return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    """,
    "Open a database connection and return a cursor.": """
        def cursor(self):
            if self._connection is None:
                self._connection = sqlite3.connect(self.path)
            return self._connection.cursor()
    """,
    "Resize an image, keeping its aspect ratio.": """
        def thumbnail(img, width, height):
            ratio = min(width / img.width, height / img.height)
            return img.resize((int(img.width * ratio), int(img.height * ratio)))
    """,
    "Verify a user's password against the stored hash.": """
        def authenticate(self, username, password):
            user = self.users.get(username)
            return bcrypt.checkpw(password.encode(), user.password_hash)
    """,
    "Convert a date string to a time zone aware datetime.": """
        def to_datetime(text, tz):
            return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=tz)
    """,
}


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return StaticEmbedder.load()


@given(st.lists(st.text(max_size=60), max_size=60))
@settings(max_examples=40, deadline=None)
def test_a_vector_does_not_depend_on_its_batch(texts):
    """SN-10: bit-equal alone and in any company, so incremental and clean builds agree."""
    embedder = StaticEmbedder.load()
    together = embedder.embed(texts)
    assert together.shape == (len(texts), embedder.dimension)
    assert together.dtype == np.float32
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(embedder.embed_query(text), vector)


@given(st.lists(st.text(alphabet="abcXYZ019_ .()éß中", max_size=80), min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_sub_words_already_split_give_the_same_vectors(texts):
    embedder = StaticEmbedder.load()
    split = [terms(text) for text in texts]
    assert np.array_equal(embedder.embed(texts), embedder.embed_terms(split))
    assert np.array_equal(embedder.embed(texts), embedder.embed(split))


def test_vectors_have_length_one_and_nothing_has_none(embedder):
    vectors = embedder.embed([*FUNCTIONS, "", "   \n", "?!", "λόγος", "xqzv" * 20, "a " * 5000])
    lengths = np.linalg.norm(vectors, axis=1)
    empty = [False] * len(FUNCTIONS) + [True, True, True, False, False, False]
    assert np.allclose(lengths, np.where(empty, 0, 1), atol=1e-6)
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_unknown_words_and_lone_surrogates_get_a_vector(embedder):
    vectors = embedder.embed(["zzyzxqwv", "函数名", "\ud800abc"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_sentence_finds_its_function(embedder):
    scores = embedder.embed(list(FUNCTIONS)) @ embedder.embed(list(FUNCTIONS.values())).T
    assert scores.argmax(axis=1).tolist() == list(range(len(FUNCTIONS)))


@pytest.mark.parametrize(("query", "near", "far"), [
    ("retry with backoff", "time.sleep(delay * 2 ** attempt)", "image.save(path)"),
    ("delete a file", "os.unlink(path)", "sum(values) / len(values)"),
    ("HTTPServer", "class http_server:", "class MatrixInverse:"),
    ("average of values", "return sum(values) / len(values)", "socket.connect((host, port))"),
])  # fmt: skip
def test_related_words_are_nearer(embedder, query, near, far):
    asked, close, distant = embedder.embed([query, near, far])
    assert asked @ close > asked @ distant


def test_the_identity_names_the_shipped_weights(embedder):
    """CF-2: the version enters the fingerprint, so it must change with the bytes."""
    assert embedder.identity == f"static:{STATIC_VERSION}"
    assert f"gitindex-static-v1@{static.weights_digest(WEIGHTS)}" == STATIC_VERSION


def test_another_table_has_another_identity(tmp_path, embedder):
    copy = tmp_path / "mine.bin"
    copy.write_bytes(WEIGHTS.read_bytes())
    assert StaticEmbedder.load(copy).identity == f"static:mine@{static.weights_digest(copy)}"
    assert np.array_equal(StaticEmbedder.load(copy).embed_query("a file"), embedder.embed_query("a file"))


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 100, b"GISTATC1" + b"\0" * 40])
def test_a_file_that_is_no_table_is_refused(tmp_path, content):
    broken = tmp_path / "broken.bin"
    broken.write_bytes(content)
    with pytest.raises(EmbeddingError) as refused:
        StaticEmbedder.load(broken)
    assert refused.value.hint


def test_an_absent_table_is_named(tmp_path):
    with pytest.raises(EmbeddingError, match=r"none\.bin"):
        StaticEmbedder.load(tmp_path / "none.bin")


def test_the_weights_are_small():
    assert WEIGHTS.stat().st_size <= 20_000_000


def test_numpy_arrives_late_and_torch_never():
    """UI-3: the version is known without numpy; embedding needs nothing heavier."""
    probe = (
        "import sys; from gitindex.extract.embed.static import StaticEmbedder\n"
        "assert 'numpy' not in sys.modules\n"
        "StaticEmbedder.load().embed(['def f(): pass'])\n"
        "print(sorted({'torch', 'lance', 'pyarrow', 'lancedb', 'scipy'} & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert shown.stdout.strip() == "[]"


def test_the_model_card_has_the_numbers_and_the_data():
    card = CARD.read_text()
    assert STATIC_VERSION in card
    assert "python -m ci.train.evaluate" in card
    for pool in ("django", "scikit-learn", "sqlalchemy", "sympy", "small", "mean"):
        assert re.search(rf"\| {pool} \|( [01]\.\d{{3}} \|){{7}}", card), pool


def test_held_out_projects_are_not_in_the_training_list():
    listed = (ROOT / "ci" / "train" / "packages.txt").read_text().lower()
    names = {re.sub(r"[-_.]+", "-", line.split("==")[0]) for line in listed.splitlines() if "==" in line}
    assert len(names) > 300
    held = (
        "django scikit-learn sqlalchemy sympy requests rich flask click pydantic attrs httpx celery networkx"
    )
    assert not names & set(held.split())
