"""`refresh --wait` with the real indexers, every answer against the raw SCIP file (SE-2, SE-7, SE-8).

`GITINDEX_TEST_TOOLS` may name a directory that keeps the installed tools between runs.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tarfile
from collections import defaultdict
from pathlib import Path

import pytest

from gitindex.config import Environment
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.indexers import install
from gitindex.ops.navigate import call_graph, find_references
from gitindex.ops.reading import ReadOptions
from gitindex.ops.refresh import RefreshOptions, RefreshReport, refresh
from gitindex.scip.symbols import hash64, without_version
from gitindex.semantic.process import Caps
from gitindex.store import steps
from gitindex.view.snapshot import open_active
from tests.gitrepo import GitRepo
from tests.semantic_import import rawscip

pytestmark = pytest.mark.slow
VARIABLES = dict(os.environ)
DEFINITION = 1


@pytest.fixture
def equipped(tmp_path: Path) -> Environment:
    home = tmp_path / "index"
    home.mkdir()
    kept = VARIABLES.get("GITINDEX_TEST_TOOLS")
    if kept:
        (home / "tools").symlink_to(kept)
    made = Environment(home, variables=VARIABLES)
    assert install(made, ("python", "typescript"))["installed"] == ["scip-python", "scip-typescript"]
    return made


def refreshed(codebase: Codebase, keep: Path, language: str) -> RefreshReport:
    """Refresh, and keep a copy of the raw index before it is imported."""

    def copy(step: str) -> None:
        if step == "refresh.indexed":
            (made,) = codebase.layout.staging.glob("*/work/index.scip")
            keep.write_bytes(made.read_bytes())

    steps.observe(copy)
    try:
        options = RefreshOptions(
            contexts=(language,), wait=True, caps=Caps(seconds=1500, memory_bytes=6 << 30)
        )
        return refresh(codebase, options)
    finally:
        steps.observe(None)


class Truth:
    """What the raw file says, by symbol as we store it."""

    def __init__(self, codebase: Codebase, data: bytes) -> None:
        known = set(codebase.repo and GitRepo(codebase.root).git("ls-files").split("\n"))

        def read(path: str) -> str | None:
            return (codebase.root / path).read_bytes().decode() if path in known else None

        raw = list(rawscip.occurrences(data, read))
        own = {
            item.symbol.split(" ")[2]
            for item in raw
            if item.roles & DEFINITION and "local " not in item.symbol
        }
        self.references: dict[bytes, set[tuple]] = defaultdict(set)
        self.definitions: dict[bytes, set[tuple]] = defaultdict(set)
        self.calls: dict[bytes, set[tuple]] = defaultdict(set)
        self.total = 0
        for item in raw:
            if not item.symbol or item.symbol.startswith("local "):
                continue
            name = item.symbol.encode()
            name = without_version(name) if item.symbol.split(" ")[2] in own else name
            place = (item.path, item.line, item.column)
            self.total += 1
            if item.roles & DEFINITION:
                self.definitions[name].add(place)
                continue
            self.references[name].add(place)
            if item.after.startswith("(") and item.text:
                self.calls[name].add(place)


def compare(codebase: Codebase, truth: Truth, capsys: pytest.CaptureFixture, tool: str) -> None:
    """Every global occurrence that is not demoted is found, none is invented; then through refs and callgraph."""
    found = demoted = repaired = 0
    with open_active(codebase.layout) as view:
        everywhere = {
            place for places in (*truth.references.values(), *truth.definitions.values()) for place in places
        }
        seen: set[tuple] = set()
        lost: set[tuple] = set()
        mended: set[tuple] = set()
        for name in {*truth.references, *truth.definitions}:
            raw = truth.references[name] | truth.definitions[name]
            ours = list(view.scip.positions(hash64(name)))
            for item in ours:
                quality = item.flags >> 7
                place = (item.path, item.line, item.column)
                seen.add(place)
                found += quality == 0
                demoted += quality == 1
                repaired += quality == 2
                mended |= {place} if quality == 2 else set()
                assert place in (everywhere if quality == 2 else raw), f"invented: {name!r} at {place}"
            lost |= raw - {(item.path, item.line, item.column) for item in ours}
        assert lost <= mended, sorted(lost - mended)[:5]
        assert seen == everywhere, sorted(everywhere - seen)[:5]
    checked = edges = 0
    options = ReadOptions()
    several = sorted(
        name for name in truth.definitions if len(truth.definitions[name]) == 1 and truth.calls[name]
    )
    for name in random.Random(3).sample(several, min(25, len(several))):
        ((path, line, column),) = truth.definitions[name]
        answer = find_references(codebase, f"{path}:{line}:{column}", options, 10_000)
        exact = {
            (i["path"], i["line"], i["column"]) for i in answer["references"] if i["precision"] == "semantic"
        }
        unsure = {
            (i["path"], i["line"], i["column"]) for i in answer["candidates"] if i["how"] == "contradicted"
        }
        assert exact <= truth.references[name], name
        assert truth.references[name] <= exact | unsure, name
        checked += len(exact)
        graph = call_graph(codebase, f"{path}:{line}:{column}", options, depth=1)
        if graph["status"] == "ok":
            called = {
                (e["path"], e["line"], e["column"]) for e in graph["edges"] if e["precision"] == "semantic"
            }
            assert called <= truth.references[name], name
            missing = truth.calls[name] - called - unsure
            edges += len(called)
            assert len(missing) <= 0.02 * len(truth.calls[name]) + 1, (name, sorted(missing)[:5])
    with capsys.disabled():
        print(
            f"\n{tool}: {truth.total:,} raw global occurrences; {found:,} exact, {demoted:,} demoted, "
            f"{repaired:,} repaired; {checked:,} references and {edges:,} call edges of sampled definitions agree"
        )


def test_scip_python_on_rich(equipped: Environment, tmp_path: Path, capsys):
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "rich"]
    subprocess.run([*pip, "rich==13.9.4"], cwd=tmp_path, check=True, env=VARIABLES)
    with tarfile.open(tmp_path / "rich-13.9.4.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    repo = GitRepo.create(tmp_path / "rich-13.9.4")
    repo.commit()
    codebase = open_codebase(repo.root, equipped)
    report = refreshed(codebase, tmp_path / "raw.scip", "python")
    assert report.status == "ok", report
    compare(codebase, Truth(codebase, (tmp_path / "raw.scip").read_bytes()), capsys, "scip-python on rich")


def test_scip_python_sees_an_environment(equipped: Environment, tmp_path: Path):
    """SE-2: with `--python-env` references into installed packages name the package; nothing of it is run."""
    site = tmp_path / "env" / "lib" / "python3.11" / "site-packages"
    (site / "thing").mkdir(parents=True)
    (site / "thing" / "__init__.py").write_text("def wish(x: int) -> int:\n    return x\n")
    (site / "thing-1.5.dist-info").mkdir()
    (site / "thing-1.5.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: thing\nVersion: 1.5\n"
    )
    (site / "thing-1.5.dist-info" / "RECORD").write_text("thing/__init__.py,,\n")
    repo = GitRepo.create(tmp_path / "repo")
    repo.commit("one", **{"use.py": "from thing import wish\n\nprint(wish(2))\n"})
    codebase = open_codebase(repo.root, equipped)
    assert refresh(codebase, RefreshOptions(wait=True)).status == "ok"
    with open_active(codebase.layout) as view:
        plain = [name for _, name in view.scip.named("wish")]
    options = RefreshOptions(wait=True, python_env=tmp_path / "env")
    assert [item.outcome for item in refresh(codebase, options).contexts] == ["refreshed"]
    with open_active(codebase.layout) as view:
        ((value, name),) = [item for item in view.scip.named("wish") if item[1] not in plain]
        assert name.startswith(b"scip-python python thing 1.5 ")
        assert [(item.path, item.line) for item in view.scip.positions(value)][-1] == ("use.py", 3)


def test_scip_typescript_on_an_npm_package(equipped: Environment, tmp_path: Path, capsys):
    subprocess.run(["npm", "pack", "--silent", "zod@3.25.76"], cwd=tmp_path, check=True, env=VARIABLES)
    with tarfile.open(tmp_path / "zod-3.25.76.tgz") as archive:
        archive.extractall(tmp_path, filter="data")
    repo = GitRepo.create(tmp_path / "repo")
    repo.write("package.json", (tmp_path / "package" / "package.json").read_bytes())
    for source in sorted((tmp_path / "package" / "src").rglob("*.ts")):
        if "tests" not in source.parts and "v3" in source.parts:
            repo.write(source.relative_to(tmp_path / "package").as_posix(), source.read_bytes())
    assert len(list(repo.root.rglob("*.ts"))) > 5
    repo.commit()
    codebase = open_codebase(repo.root, equipped)
    report = refreshed(codebase, tmp_path / "raw.scip", "typescript")
    assert report.status == "ok", report
    compare(codebase, Truth(codebase, (tmp_path / "raw.scip").read_bytes()), capsys, "scip-typescript on zod")
