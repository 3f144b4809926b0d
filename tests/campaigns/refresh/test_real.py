"""`refresh --wait` with the real indexers, every answer against the raw SCIP file (SE-2, SE-7, SE-8).

`GITINDEX_TEST_TOOLS` may name a directory that keeps the installed tools between runs.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from gitindex.config import Environment
from gitindex.navigate.fact_queries import CALLABLES, CONTAINERS, DefinitionSite
from gitindex.navigate.layer import Layers
from gitindex.ops.answers.gated_read import ReadOptions, open_reading
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.exact.indexer_tools import install
from gitindex.ops.exact.refresh import RefreshOptions, RefreshReport, refresh
from gitindex.scip.fact_postings import DEMOTED, EXACT, QUALITY_SHIFT, REPAIRED
from gitindex.scip.symbol_grammar import hash64, replace_version
from gitindex.semantic.process import Caps
from gitindex.store import steps
from gitindex.view.snapshot import open_active
from tests.campaigns.refresh import pycalls, rawscip
from tests.campaigns.refresh.tools import VARIABLES, home_with_kept_tools
from tests.support.gitrepo import GitRepo

pytestmark = pytest.mark.slow
DEFINITION = 1
Place = tuple[str, int, int]
Calls = dict[Place, str]  # the place of a called name → the qualified name of what calls it
_CALLING = ("(", "<", "?.(", "!(", "`", ";", ")", ",")  # after the name: generics, templates, `new Name;`
_METHOD = re.compile(r"\([^()]*\)\s*(?::[^=]+)?\{$")
_ACCESSOR = re.compile(r"\b(?:get|set|async)\s+$")


@pytest.fixture
def equipped(tmp_path: Path) -> Environment:
    made = home_with_kept_tools(tmp_path)
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
    """What the raw file says, by symbol as we store it, and which of it an independent parser takes for calls."""

    def __init__(self, codebase: Codebase, data: bytes) -> None:
        self.known = set(GitRepo(codebase.root).git("ls-files").split("\n"))
        self._root = codebase.root
        raw = [
            item
            for item in rawscip.occurrences(data, self.read)
            if item.symbol and "local " not in item.symbol[:6]
        ]
        own = {item.symbol.split(" ")[2] for item in raw if item.roles & DEFINITION}
        self.references: dict[bytes, set[Place]] = defaultdict(set)
        self.definitions: dict[bytes, set[Place]] = defaultdict(set)
        self.defined_at: dict[Place, set[bytes]] = defaultdict(set)
        self.named_at: dict[Place, set[bytes]] = defaultdict(set)
        self.followed: dict[Place, str] = {}  # by what the text under the occurrence is followed
        for item in raw:
            name = item.symbol.encode()
            name = replace_version(name) if item.symbol.split(" ")[2] in own else name
            place = (item.path, item.line, item.column)
            self.named_at[place].add(name)
            self.followed[place] = item.after
            if item.roles & DEFINITION:
                self.definitions[name].add(place)
                self.defined_at[place].add(name)
            else:
                self.references[name].add(place)
        self.total = sum(map(len, self.named_at.values()))

    def read(self, path: str) -> str | None:
        return (self._root / path).read_bytes().decode() if path in self.known else None

    def before(self, place: Place) -> str:
        path, line, column = place
        return (self.read(path) or "").split("\n")[line - 1][: column - 1]

    def targets(self, place: Place) -> set[bytes]:
        """Every symbol defined where something named at a place is defined: merged declarations are one target."""
        places = {at for name in self.named_at[place] for at in self.definitions[name]}
        return {name for at in places for name in self.defined_at[at]}


class Stored:
    """What a snapshot holds, by the same names; only what is exact counts as said."""

    def __init__(self, codebase: Codebase, truth: Truth) -> None:
        self.exact: dict[bytes, set[Place]] = defaultdict(set)
        self.unsure: set[Place] = set()  # demoted or repaired
        self.counts: Counter[int] = Counter()
        repaired: set[Place] = set()
        every = set(truth.named_at)
        with open_active(codebase.layout) as view:
            for name in {*truth.references, *truth.definitions}:
                raw = truth.references[name] | truth.definitions[name]
                said = {
                    (found.path, found.line, found.column, found.flags >> QUALITY_SHIFT)
                    for found in view.scip.positions(hash64(name))
                }
                for *at, quality in said:
                    place: Place = (at[0], at[1], at[2])
                    self.counts[quality] += 1
                    assert place in (every if quality == REPAIRED else raw), f"invented: {name!r} at {place}"
                    if quality == EXACT:
                        self.exact[name].add(place)
                        raw = raw - {place}
                    else:
                        self.unsure.add(place)
                        repaired |= {place} if quality == REPAIRED else set()
                lost = raw - self.exact[name] - self.unsure
                assert not lost - repaired, f"lost: {name!r} at {sorted(lost)[:5]}"


def compare(codebase: Codebase, truth: Truth, calls: Calls | None, show: Callable[[str], None]) -> None:
    """Every global occurrence that is not demoted is found, none is invented: in the store, by refs, by callgraph."""
    stored = Stored(codebase, truth)
    assert sum(stored.counts.values()) == truth.total
    with open_reading(codebase, ReadOptions()) as read:
        layers = read.layers()
        asked, answered = compare_references(layers, truth, stored)
        edges = compare_calls(layers, truth, stored, calls)
    show(
        f"{truth.total:,} raw global occurrences; {stored.counts[EXACT]:,} exact, {stored.counts[DEMOTED]:,} demoted, "
        f"{stored.counts[REPAIRED]:,} repaired; {answered:,} references of {asked:,} definitions by refs and "
        f"{edges:,} edges by callgraph agree"
    )


def compare_references(layers: Layers, truth: Truth, stored: Stored) -> tuple[int, int]:
    """Where something is defined: exactly the references the raw file has, but for contradicted ones."""
    asked = answered = 0
    for place in sample(truth):
        if not layers.find_definitions_at(*place) or place in stored.unsure:
            continue  # a file as a whole has no width to point at
        wanted = set().union(*(truth.references[name] for name in truth.targets(place)))
        answer = layers.find_references(layers.find_definitions_at(*place))
        exact = {item[:3] for item in answer.proven if item.precision == "semantic"}
        assert exact <= wanted, (place, sorted(exact - wanted)[:5])
        assert wanted - exact <= stored.unsure, (place, sorted(wanted - exact - stored.unsure)[:5])
        asked, answered = asked + 1, answered + len(exact)
    return asked, answered


def compare_calls(layers: Layers, truth: Truth, stored: Stored, calls: Calls | None) -> int:
    """Callers of every definition: its references at which an independent parser sees a call. None: text decides."""
    edges = 0
    for place in sorted(truth.defined_at):
        for target in layers.find_definitions_at(*place)[:1]:
            if target.place != place or place in stored.unsure:
                continue
            references = set().union(*(truth.references[name] for name in truth.defined_at[place]))
            exact = [edge for edge in layers.calls_to(target).edges if edge.precision == "semantic"]
            found = {(edge.path, edge.line, edge.column) for edge in exact}
            assert found <= references, (place, sorted(found - references)[:5])
            if calls is None:
                odd = [at for at in found if not truth.followed[at].lstrip().startswith(_CALLING)]
                assert not odd, (place, odd)
                wanted = {at for at in references if truth.followed[at].startswith("(")} - _declared(
                    truth, references
                )
            else:
                told = {(e.path, e.line, e.column): _function(e.caller) for e in exact}
                wrong = {at: (name, calls.get(at)) for at, name in told.items() if calls.get(at) != name}
                assert not wrong, (place, wrong)
                wanted = references & calls.keys()
            assert wanted - found <= stored.unsure, (place, sorted(wanted - found - stored.unsure)[:5])
            edges += len(found)
    return edges


def sample(truth: Truth) -> list[Place]:
    """Three hundred definitions: the fifty most referred to, the others by lot."""
    used = {
        place: sum(len(truth.references[name]) for name in truth.defined_at[place])
        for place in truth.defined_at
    }
    ranked = sorted(used, key=lambda place: (-used[place], place))
    return ranked[:50] + random.Random(3).sample(ranked[50:], min(250, len(ranked) - 50))


def _function(caller: DefinitionSite | None) -> str:
    """The function or class that calls. To us a constant calls what its value does; to Python its surroundings do."""
    if caller is None or caller.kind in CALLABLES | CONTAINERS:
        return caller.qualified_name if caller else ""
    return caller.qualified_name.rpartition(".")[0]


def python_calls(truth: Truth) -> Calls:
    """Every called name of every file, and the qualified name of what calls it."""
    sources = {path: truth.read(path) or "" for path in truth.known if path.endswith(".py")}
    return {
        (path, *call.place): ".".join(call.scopes)
        for path, source in sources.items()
        for call in pycalls.calls(source)
    }


def _declared(truth: Truth, places: set[Place]) -> set[Place]:
    """References that implement instead of calling: `get name() {` and `name() {` in an object."""
    return {
        at
        for at in places
        if truth.defined_at[at] or _METHOD.match(truth.followed[at]) or _ACCESSOR.search(truth.before(at))
    }


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
    truth = Truth(codebase, (tmp_path / "raw.scip").read_bytes())
    with capsys.disabled():
        compare(codebase, truth, python_calls(truth), lambda told: print(f"\nscip-python on rich: {told}"))


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
        plain = [name for _, name in view.scip.find_by_short_name("wish")]
    options = RefreshOptions(wait=True, python_env=tmp_path / "env")
    assert [item.outcome for item in refresh(codebase, options).contexts] == ["refreshed"]
    with open_active(codebase.layout) as view:
        ((value, name),) = [item for item in view.scip.find_by_short_name("wish") if item[1] not in plain]
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
    truth = Truth(codebase, (tmp_path / "raw.scip").read_bytes())
    with capsys.disabled():
        compare(codebase, truth, None, lambda told: print(f"\nscip-typescript on zod: {told}"))
