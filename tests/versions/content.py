"""What the versions of content stand for: extraction, chunks, words, documents, vectors, order of answers."""

from __future__ import annotations

import ast
import inspect
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from gitindex.config import Environment
from gitindex.extract import (
    anchor,
    calls,
    comments,
    config_keys,
    cuts,
    definition_names,
    definitions,
    depth,
    frontmatter,
    grammars,
    headings,
    identifiers,
    import_statements,
    interface,
    nesting,  # fmt: skip
    tokens,
    yamlkeys,
)
from gitindex.extract import chunker as chunking
from gitindex.extract.embed import document
from gitindex.extract.embed.static import StaticEmbedder
from gitindex.extract.extractor import extract
from gitindex.extract.words import terms_and_compounds
from gitindex.files import language
from gitindex.model import versions
from gitindex.model.rows import Extraction
from gitindex.model.settings import IndexSettings
from gitindex.ops.answers.search_answer import query
from gitindex.ops.codebase import open_codebase
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions
from gitindex.search import (
    chunkscore,
    clues,
    engine,
    filekind,
    filescore,
    lexical,
    mentions,
    placescore,
    retrieve,
    symbols,
    termchoice,
    weights,
    wordforms,
)  # fmt: skip
from gitindex.search import (
    ranking as orders,
)
from gitindex.search.hit import Hit
from gitindex.search.request import Request
from tests.versions.corpus import (
    FILES,
    PROJECT,
    QUESTIONS,
    TEXTS,
    WORDS,
    extract_project_file,
    plain_chunks,
)
from tests.versions.guard import Guard, Sample

_TARGETS = (200, 240, 290, 350, 420, 500, 600, IndexSettings().chunk_chars, 1000, 4000)
_CHUNKING = (anchor, chunking, cuts)
_EXTRACTING = (
    calls, comments, definitions, depth, frontmatter, grammars, headings, identifiers, import_statements, interface, config_keys, definition_names,
    nesting, yamlkeys,
)  # fmt: skip
_PATHS = (
    "a/b.py", "tests/x.py", "a/b_test.go", "docs/x.py", "README.md", "vendor/x/y.go", "a_pb2.py", "poetry.lock",
    "x/__init__.py", "x.pyi", "examples/run.py", "a.yaml", "latest.py", "src/CartTest.java", "x.min.js", "a.spec.ts",
)  # fmt: skip


def extraction() -> Mapping[str, Sample]:
    samples = {
        name: Sample(data, _facts(extract(name, data, IndexSettings())))
        for name, data in {**FILES, **TEXTS}.items()
    }
    samples["languages"] = Sample("", _languages())
    samples["numbers"] = Sample("", numbers(_EXTRACTING))
    return samples


def _facts(found: Extraction) -> Any:
    """All but the chunks, which have a version of their own."""
    return found._replace(chunks=())


def _languages() -> Any:
    """A new language changes what is stored of files that were text or unsupported before."""
    return [
        language._BY_SUFFIX,
        language._BY_NAME,
        language._INTERPRETERS,
        sorted(grammars.SPECS),
        sorted(grammars.DATA_LANGUAGES),
    ]


def chunks() -> Mapping[str, Sample]:
    """Input: the bytes and what was extracted of them, so that a change of the extractor is not one of the chunker."""
    samples = {}
    for name, data in {**FILES, **TEXTS}.items():
        found = [extract(name, data, IndexSettings(chunk_chars=target)) for target in _TARGETS]
        places = [[_place(chunk) for chunk in item.chunks] for item in found]
        samples[name] = Sample([data, _TARGETS, _facts(found[0])], places)
    samples["numbers"] = Sample("", numbers(_CHUNKING))
    return samples


def numbers(modules: tuple[ModuleType, ...]) -> list[float]:
    """Limits and shares at the top of modules, without their names: some matter to rare files only."""
    values = [vars(module)[name] for module in modules for name in _assigned(module)]
    return sorted(
        value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)
    )


def _assigned(module: ModuleType) -> list[str]:
    """Names that a module itself gives values to, not those it imports."""
    tree = ast.parse(inspect.getsource(module))
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _place(chunk: Any) -> Any:
    """All but the words of the text, which have a version of their own."""
    return chunk._replace(terms="", idents="")


def words() -> Mapping[str, Sample]:
    texts = {f"text {at}": text for at, text in enumerate(WORDS)}
    texts |= {name: data.decode("utf-8-sig") for name, data in FILES.items()}
    return {name: Sample(text, _words(text)) for name, text in texts.items()}


def _words(text: str) -> list[list[str]]:
    """Without the white space between them, in which the compiled loops and the others differ."""
    [(terms, compounds)] = terms_and_compounds([text])
    found = [tokens.terms(text), tokens.compounds(text), terms, compounds]
    return [tokens.subwords(text), *(item.split() for item in found)]


def documents() -> Mapping[str, Sample]:
    pairs = {
        "method": ("Cart.add_item", "self.items[item] = count"),
        "no symbol": ("", "plain text of a page"),
        "acronym": ("HTTPServer", "class HTTPServer: pass"),
    }
    return {
        name: Sample(
            [pair, tokens.terms(" ".join(pair))],
            [
                document.compose_embed_text(*pair),
                document.compose_embed_terms(pair[0], tokens.terms(pair[1])),
            ],
        )
        for name, pair in pairs.items()
    }


def vectors() -> Mapping[str, Sample]:
    """Sums of integers: equal on every machine but for the last bits of one division and one root."""
    embedder = StaticEmbedder.load()
    texts = ["publish a snapshot", "def add_item(self, item): return item", "qzxv unknown_wörd", ""]
    rows = [[round(float(value), 5) for value in row] for row in embedder.embed(texts)]
    return {
        f"text {at}": Sample([text, tokens.subwords(text)], row)
        for at, (text, row) in enumerate(zip(texts, rows, strict=True))
    }


def ranking() -> Mapping[str, Sample]:
    with tempfile.TemporaryDirectory() as folder:
        answers = dict(_answers(Path(folder)))
    floats = [value for module in _RANKING for value in literal_weights(inspect.getsource(module))]
    others = [value for module in _RANKING for value in tables(module)]
    return {
        **answers,
        "weights": Sample("", sorted(floats)),
        "tables": Sample("", sorted(map(repr, others))),
        "kinds of files": Sample(_PATHS, [filekind.file_kind(path) for path in _PATHS]),
    }


_RANKING = (
    chunkscore, clues, engine, filekind, filescore, lexical, mentions, placescore, orders, retrieve, symbols, termchoice,
    weights, wordforms,
)  # fmt: skip


def literal_weights(source: str) -> list[float]:
    """Floats wherever they stand in a module, without names: a rename is no change of the order."""
    nodes = ast.walk(ast.parse(source))
    values = [
        node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, float)
    ]
    return sorted(value for value in values if value not in (0.0, 1.0))


def tables(module: ModuleType) -> Iterator[Any]:
    """Whole numbers, patterns and tables at the top of a module."""
    for name in _assigned(module):
        value = vars(module)[name]
        if isinstance(value, re.Pattern):
            yield value.pattern
        elif isinstance(value, (int, tuple)):
            yield value
        elif isinstance(value, Mapping):
            yield sorted(
                (key, sorted(item) if isinstance(item, set) else item) for key, item in value.items()
            )
        elif isinstance(value, frozenset):
            yield sorted(value)


def _answers(where: Path) -> Iterator[tuple[str, Sample]]:
    root = where / "project"
    for path, text in PROJECT.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")
    codebase = open_codebase(root, Environment(home=where / "home"))
    sync(codebase, SyncOptions(workers=1))
    stored = [[_facts(found), plain_chunks(found)] for found in map(extract_project_file, PROJECT)]
    for text, mode, shape in QUESTIONS:
        request = Request(text, mode, files=shape == "files", flat=shape == "flat")
        hits = query(codebase, request).result.hits
        name = f"{text.partition(chr(10))[0]} ({', '.join(filter(None, (mode, shape)))})"
        yield (
            name,
            Sample(
                [stored, versions.DOCUMENT_VERSION],
                [_told(hit) for hit in hits],
            ),
        )


def _told(hit: Hit) -> list[Any]:
    further = [place.start_line for place in hit.places]
    return [hit.path, hit.start_line, round(hit.score, 4), hit.layers, further]


GUARDS = (
    Guard("EXTRACTOR_VERSION", versions.EXTRACTOR_VERSION, extraction),
    Guard("CHUNKER_VERSION", versions.CHUNKER_VERSION, chunks),
    Guard("TOKENS_VERSION", versions.TOKENS_VERSION, words),
    Guard("DOCUMENT_VERSION", versions.DOCUMENT_VERSION, documents),
    Guard("STATIC_VERSION", versions.STATIC_VERSION, vectors),
    Guard("RANKING_VERSION", versions.RANKING_VERSION, ranking),
)
