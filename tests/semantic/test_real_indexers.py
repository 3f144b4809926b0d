"""SE-2, SE-7: the real scip-python and scip-typescript over real projects, read back by an independent reader.

`GITINDEX_TEST_TOOLS` may name a directory that keeps the installed tools between runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from gitindex.git.objects import open_objects
from gitindex.git.repo import discover, resolve
from gitindex.scip import schema
from gitindex.scip.reader import IndexFile
from gitindex.scip.symbol_grammar import replace_version
from gitindex.semantic import contexts, tools_directory
from gitindex.semantic.checkout import BlobReader, check_out
from gitindex.semantic.decode import DEMOTED, EXACT, QUALITY_SHIFT, DecodedIndex
from gitindex.semantic.indexer_run import IndexerResult, IndexerSettings, index
from gitindex.semantic.indexers.adapter import IndexerRun
from gitindex.semantic.indexers.npm_tool import install_directory as npm_home
from gitindex.semantic.indexers.registry import indexer_for
from gitindex.semantic.process import Caps
from tests.support.gitrepo import GitRepo

pytestmark = pytest.mark.slow

ENVIRONMENT = dict(os.environ)
LIMIT = 10 * 1024 * 1024


@pytest.fixture(scope="session")
def bench(tmp_path_factory) -> IndexerSettings:
    kept = ENVIRONMENT.get("GITINDEX_TEST_TOOLS")
    directory = Path(kept) if kept else tmp_path_factory.mktemp("tools")
    made = IndexerSettings(directory, ENVIRONMENT, Caps(seconds=900, memory_bytes=6 * 1024**3))
    assert tools_directory.install(["python", "typescript"], made) == ["scip-python", "scip-typescript"]
    return made


def test_installed_tools_are_the_pinned_ones(bench: IndexerSettings, tmp_path: Path):
    listed = {tool.name: tool for tool in tools_directory.list_tools(bench, tmp_path)}
    assert (listed["scip-python"].version, listed["scip-python"].source) == ("0.6.6", "managed")
    assert (listed["scip-typescript"].version, listed["scip-typescript"].source) == ("0.4.0", "managed")
    complete = npm_home(bench.tools) / ".complete"
    before = complete.stat().st_mtime_ns
    tools_directory.install(["python"], bench)
    assert complete.stat().st_mtime_ns == before, "what is there is left alone"


def run_context(
    repo: GitRepo, bench: IndexerSettings, tmp_path: Path, language: str
) -> tuple[IndexerResult, DecodedIndex, dict]:
    """Commit → context → private checkout → indexer → decoded documents."""
    found = discover(repo.root)
    with open_objects(found) as objects:
        made = check_out(objects, resolve(found, "HEAD").tree, tmp_path / "checkout", max_bytes=LIMIT)
        read = BlobReader(made.blobs, objects, LIMIT)
        known = contexts.discover(made.blobs, lambda path: read(path) or b"")
        context = max((c for c in known if c.language == language), key=lambda c: len(c.files))
        nested = tuple(c.root for c in known if c.language == language and c.root != context.root)
        work = tmp_path / "work"
        work.mkdir()
        run = IndexerRun(made.root, context.root, context.files, work, "demo", nested)
        done = index(indexer_for(language), run, bench)
        with IndexFile(done.output) as file:
            decoded = DecodedIndex(file, read, prefix=done.prefix)
            documents = {document.path: document for document in decoded.documents()}
        return done, decoded, documents


def compare(done: IndexerResult, decoded: DecodedIndex, documents: dict, repo: GitRepo) -> None:
    """Every global occurrence of the raw file is there, none is invented; exact ones carry their own symbol."""
    strings = dict(decoded.symbols())
    ours: Counter = Counter()
    qualities: Counter = Counter()
    for path, document in documents.items():
        for symbol, line, column, _, _, flags in document.occurrences.tolist():
            if symbol < len(document.hashes):
                quality = flags >> QUALITY_SHIFT
                qualities[quality] += 1
                name = strings[int(document.hashes[symbol])] if quality in (EXACT, DEMOTED) else b"repaired"
                ours[path, line, column, name] += 1
    own = {name.split(b" ")[2] for h, name in strings.items() if decoded.defines(h)}
    raw: set = set()
    message = schema.plain_messages().Index.FromString(done.output.read_bytes())
    for document in message.documents:
        path = os.path.normpath(os.path.join(done.prefix, document.relative_path))
        lines = (repo.root / path).read_bytes().decode().split("\n")
        for occurrence in document.occurrences:
            name = occurrence.symbol.encode()
            if name and not name.startswith(b"local "):
                row, column = occurrence.range[0], occurrence.range[1]
                units = lines[row].encode("utf-16-le")[: column * 2].decode("utf-16-le")
                name = replace_version(name) if name.split(b" ")[2] in own else name
                raw.add((path, row + 1, len(units) + 1, name))
    places = {key[:3] for key in raw}
    invented = [key for key in ours if key not in raw and key[3] != b"repaired"]
    assert not invented
    assert {key[:3] for key in ours} == places
    missing = [key for key in raw if key not in ours and (*key[:3], b"repaired") not in ours]
    assert not missing
    total = sum(qualities.values())
    print(
        f"\n{done.tool}: {len(documents)} documents, {total} global occurrences, {dict(qualities)} by quality,"
    )
    print(f"  unresolved {decoded.summary.unresolved}, {done.seconds:.0f} s, {done.peak_bytes >> 20} MB")
    assert qualities[EXACT] > 0.9 * total


def test_scip_python_on_requests(bench: IndexerSettings, tmp_path: Path):
    download = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        ":all:",
        "requests==2.32.3",
    ]
    subprocess.run(download, cwd=tmp_path, check=True, env=ENVIRONMENT)
    with tarfile.open(tmp_path / "requests-2.32.3.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    repo = GitRepo.create(tmp_path / "requests-2.32.3")
    repo.commit()
    done, decoded, documents = run_context(repo, bench, tmp_path, "python")
    compare(done, decoded, documents, repo)
    session = hash_named(decoded, "`src.requests.sessions`/Session#")
    where = [path for path, d in documents.items() if session in d.hashes.tolist()]
    assert "src/requests/sessions.py" in where
    assert len(where) > 2


def test_scip_typescript_on_its_own_sources(bench: IndexerSettings, tmp_path: Path):
    """The npm tarball of scip-typescript holds its TypeScript sources; no type packages are installed."""
    package = npm_home(bench.tools) / "node_modules/@sourcegraph/scip-typescript"
    repo = GitRepo.create(tmp_path / "repo")
    repo.write("package.json", (package / "package.json").read_bytes())
    repo.write("tsconfig.json", (package / "tsconfig.json").read_bytes())
    for source in (package / "src").glob("*.ts"):
        repo.write(f"src/{source.name}", source.read_bytes())
    repo.commit()
    done, decoded, documents = run_context(repo, bench, tmp_path, "typescript")
    compare(done, decoded, documents, repo)
    indexer = hash_named(decoded, "src/`FileIndexer.ts`/FileIndexer#")
    assert sorted(path for path, d in documents.items() if indexer in d.hashes.tolist()) == [
        "src/FileIndexer.ts",
        "src/ProjectIndexer.ts",
    ]


def hash_named(decoded: DecodedIndex, descriptors: str) -> int:
    (found,) = [h for h, name in decoded.symbols() if name.endswith(f" {descriptors}".encode())]
    return found
