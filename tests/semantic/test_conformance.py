"""SE-7: scip-typescript's own published snapshot suite, indexed and decoded, against the annotations it ships."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from gitindex.scip.reader import IndexFile
from gitindex.semantic import contexts
from gitindex.semantic.decode import DEMOTED, QUALITY_SHIFT, Decoded
from gitindex.semantic.indexers.base import IndexerFailure, Run
from gitindex.semantic.indexers.npm_tool import home as npm_home
from gitindex.semantic.indexers.registry import indexer_for
from gitindex.semantic.indexing import Bench, index
from tests.semantic.test_real_indexers import bench  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow

_ANNOTATION = re.compile(r"//(?P<space> *)(?P<mark><|\^+) (?P<role>definition|reference) (?P<symbol>.+)$")


def annotations(source: str, annotated: str) -> set[tuple[int, int, str, str]]:
    """(line, column, role, symbol) of the shipped output; symbols without versions, locals without numbers."""
    lines, out, row = source.split("\n"), set(), -1
    for line in annotated.split("\n"):
        match = _ANNOTATION.match(line)
        if match is None or (row + 1 < len(lines) and line == lines[row + 1]):
            if row + 1 < len(lines) and line == lines[row + 1]:
                row += 1
            continue
        column = 0 if match["mark"] == "<" else 2 + len(match["space"])
        out.add((max(row, 0) + 1, column + 1, match["role"], plain(match["symbol"])))
    return out


def plain(symbol: str) -> str:
    if symbol.startswith("local "):
        return "local"
    package, _, descriptors = symbol.split(" ", 2)
    return f"{package} {descriptors}"


def decoded_rows(decoded: Decoded, document) -> set[tuple[int, int, str, str]]:
    strings, out = dict(decoded.symbols()), set()
    for symbol, line, column, _, _, flags in document.occurrences.tolist():
        name = "local"
        if symbol < len(document.hashes):
            name = plain(strings[int(document.hashes[symbol])].decode().split(" ", 2)[2])
        out.add((line, column, "definition" if flags & 1 else "reference", name))
    return out


def test_the_published_snapshots(bench: Bench, tmp_path: Path):  # noqa: F811
    suite = npm_home(bench.tools) / "node_modules/@sourcegraph/scip-typescript/snapshots"
    checkout = tmp_path / "checkout"
    shutil.copytree(suite / "input", checkout)
    blobs = {
        str(path.relative_to(checkout)): path.read_bytes() for path in checkout.rglob("*") if path.is_file()
    }
    ours: dict[str, set] = {}
    demoted: Counter = Counter()
    failed = []
    for number, context in enumerate(contexts.discover(blobs, blobs.__getitem__)):
        if context.language != "typescript":
            continue
        work = tmp_path / f"work{number}"
        work.mkdir()
        run = Run(checkout, context.root, context.files, work)
        try:
            done = index(indexer_for("typescript"), run, bench)
        except IndexerFailure as failure:
            failed.append((context.root, failure.diagnosis.value))
            continue
        with IndexFile(done.output) as file:
            decoded = Decoded(file, blobs.get, prefix=done.prefix)
            for document in decoded.documents():
                ours.setdefault(document.path, set()).update(decoded_rows(decoded, document))
                quality = document.occurrences[:, 5] >> QUALITY_SHIFT
                demoted[document.path] += int((quality == DEMOTED).sum())
    agreed, differ, files = 0, [], 0
    for path in sorted((suite / "output").rglob("*.*")):
        key = str(path.relative_to(suite / "output"))
        if key in blobs and path.is_file():
            files += 1
            for row in annotations(blobs[key].decode(), path.read_text()):
                if row in ours.get(key, ()):
                    agreed += 1
                else:
                    differ.append((key, *row))
    print(
        f"\n{files} files, {agreed} of {agreed + len(differ)} annotations agree, {sum(demoted.values())} demoted"
    )
    print(f"  contexts without an index: {failed}")
    print("  differences by file:", Counter(row[0] for row in differ).most_common(12))
    for row in differ[:25]:
        print("   ", row)
    print("  demoted in:", {path: n for path, n in demoted.items() if n})
    assert files > 30
    assert failed == []
    assert agreed > 0.9 * (agreed + len(differ))
