"""Full build: time against its floor (tree-sitter parsing + Tantivy indexing of the same bytes), memory, disk."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace
from pathlib import Path

from benchmarks import corpus
from benchmarks.measure import Row, child, disk, environment, gitindex, mebibytes, show, summary, weighed


def run(cache: Path, quick: bool) -> list[Row]:
    root = corpus.repository(corpus.DJANGO, cache)
    runs = 1 if quick else 3
    floors, plain, static = [], [], []
    peak = size = whole = text = 0
    for _ in range(runs):  # interleaved: whatever else the machine does hits all three
        floors.append(sum(floor(root, cache)))
        home = cache / "homes" / "build"
        done = _build(root, home, "none")
        plain.append(done.wall)
        peak = max(peak, done.peak_rss)
        size = disk(home / "data")
        text = json.loads(done.out)["text_bytes"]
        static.append(_build(root, cache / "homes" / "build-static", "static").wall)
        whole = disk(cache / "homes" / "build-static" / "data")
    base, ours, vectors = summary(floors), summary(plain), summary(static)
    return [
        Row(
            "full build, no vectors",
            str(ours),
            f"parse + Tantivy {show(base.median)}",
            ours.median / base.median,
            2.5,
        ),
        Row(
            "full build, static vectors",
            str(vectors),
            f"without {show(ours.median)}",
            vectors.median / ours.median,
            2.0,
        ),
        Row("peak memory, full build", f"{peak / 2**20:.0f} MiB", "1.5 GB", peak / 1.5e9, 1.0),
        Row(
            "index on disk, no vectors",
            f"{size / 2**20:.1f} MiB",
            f"text {text / 2**20:.1f} MiB",
            size / text,
            3.0,
        ),
        Row("index on disk, static vectors", mebibytes(whole), f"text {mebibytes(text)}", whole / text, None),
        *_other(cache, corpus.TYPESCRIPT),
        *(() if quick else _other(cache, corpus.MIXED)),
    ]


def _other(cache: Path, what: str) -> list[Row]:
    """Another corpus, once: time, memory and size against the same measures."""
    root, name = corpus.repository(what, cache), corpus.label(what)
    home = cache / "homes" / f"build-{name}"
    least = sum(floor(root, cache))
    done = _build(root, home, "none")
    size, text = disk(home / "data"), json.loads(done.out)["text_bytes"]
    shutil.rmtree(home)
    against = f"parse + Tantivy {show(least)}"
    return [
        Row(f"full build, {name}", f"{show(done.wall)} (n=1)", against, done.wall / least, None, what),
        Row(f"peak memory, {name}", mebibytes(done.peak_rss), "1.5 GB", done.peak_rss / 1.5e9, 1.0),
        Row(f"index on disk, {name}", mebibytes(size), f"text {mebibytes(text)}", size / text, None),
    ]


def _build(root: Path, home: Path, provider: str):
    shutil.rmtree(home, ignore_errors=True)
    configured = root / ".gitindex.toml"
    configured.write_text(f'[embedding]\nprovider = "{provider}"\n')
    try:
        done = weighed(gitindex("sync", "--full", "--json"), root, environment(home))
        status = json.loads(child(gitindex("status", "--json"), root, environment(home)).out)
    finally:
        configured.unlink()
    report = {**json.loads(done.out), "text_bytes": status["counts"]["text_bytes"]}
    return replace(done, out=json.dumps(report))


def floor(root: Path, cache: Path) -> tuple[float, float]:
    """Seconds to parse, and to index with Tantivy's default tokenizer, every file that gitindex indexes."""
    import tantivy
    from tree_sitter_language_pack import get_parser

    from gitindex.extract import grammars
    from gitindex.files.language import language_of

    files = []
    for name in corpus.git(root, "ls-files", "-z").split("\0"):
        path = root / name
        if name and path.is_file() and not path.is_symlink() and language_of(name):
            try:
                files.append((language_of(name), path.read_bytes().decode()))
            except UnicodeDecodeError:
                continue
    parsed_too = {*grammars.SPECS, *grammars.DATA_LANGUAGES}  # what gitindex parses, nothing more
    parsers = {
        language: get_parser(language) for language in {language for language, _ in files} & parsed_too
    }
    started = time.perf_counter()
    for language, text in files:
        if language in parsers:
            parsers[language].parse(text.encode())
    parsed = time.perf_counter() - started
    where = cache / "homes" / "floor"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("body", stored=True)
    index = tantivy.Index(builder.build(), path=str(where))
    started = time.perf_counter()
    writer = index.writer(256_000_000, 2)
    for _, text in files:
        document = tantivy.Document()
        document.add_text("body", text)
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    return parsed, time.perf_counter() - started
