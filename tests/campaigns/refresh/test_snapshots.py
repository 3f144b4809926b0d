"""scip-typescript's published snapshot suite, end to end: repository → `refresh --wait` → store → the same text (SE-7, SE-8).

Every input project of the npm tarball becomes a git repository with the packages the suite's own lock file names. What
the store answers is written in the suite's format and compared line by line with what was published. A line that
differs needs a reason from `REASONS`; `pytest -m slow -s` prints the counts. Not compared: the order of annotations of
one range, the numbers of locals, and versions of a project's own packages, which a store does not keep.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gitindex.config import Environment
from gitindex.ops.answers.gated_read import ReadOptions
from gitindex.ops.answers.structural_answers import find_references, find_symbol
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.exact.indexer_tools import install
from gitindex.ops.exact.refresh import RefreshOptions, refresh, tools_folder
from gitindex.scip.fact_postings import EXACT
from gitindex.semantic.indexers.npm_tool import install_directory as npm_home
from gitindex.view.snapshot import open_active
from tests.campaigns.refresh import snapshots
from tests.campaigns.refresh.snapshots import Line, Links, Mark, Rendering
from tests.campaigns.refresh.tools import VARIABLES, home_with_kept_tools
from tests.support.gitrepo import GitRepo

pytestmark = pytest.mark.slow
READ = ReadOptions()
PUBLISHED_WITH = "5.6.2"  # TypeScript, as the published symbols say
NPM = ("npm", "--silent", "--no-audit", "--no-fund", "--ignore-scripts")

# Documents the published suite has none of: pnpm does not list a package without a name, a tsconfig.json is enough here.
UNPUBLISHED = {("invalid-package-json", "packages/b/src/b.ts")}


class Difference(NamedTuple):
    """Lines of one file that stand on one side only."""

    published: Counter[Line]
    ours: Counter[Line]


def another_compiler(found: Difference, every: Difference) -> Difference:
    """The pinned indexer brings a newer TypeScript, whose library has the same symbols under its own version."""
    ours = {_any_compiler(line): line for line in found.ours}
    paired = {line: ours[_any_compiler(line)] for line in found.published if _any_compiler(line) in ours}
    counts = {line: min(found.published[line], found.ours[mine]) for line, mine in paired.items()}
    return Difference(Counter(counts), Counter({paired[line]: count for line, count in counts.items()}))


def said_twice(found: Difference, every: Difference) -> Difference:
    """The tool writes one occurrence twice (an interface that two declarations of a name lead to); stored once."""
    known = {_any_compiler(line) for line in every.ours}
    again = {line for line in found.published if every.published[line] > 1 and _any_compiler(line) in known}
    return Difference(Counter({line: found.published[line] for line in again}), Counter())


def remark_of_the_compiler(found: Difference, every: Difference) -> Difference:
    """Deprecation notes are diagnostics, not facts about symbols: they are not imported."""
    told = {
        line: n for line, n in found.published.items() if re.match(r"//\s*(?:diagnostic \w+:|> )", line.text)
    }
    return Difference(Counter(told), Counter())


REASONS: tuple[Callable[[Difference, Difference], Difference], ...] = (
    another_compiler,
    said_twice,
    remark_of_the_compiler,
)


def _any_compiler(line: Line) -> Line:
    return Line(line.row, re.sub(r" typescript \d+\.\d+\.\d+ ", " typescript * ", line.text))


class Agreement:
    """Counts of annotation lines, by reason where they differ."""

    def __init__(self) -> None:
        self.files = self.lines = self.agreed = self.references = self.implementations = 0
        self.whole = 0  # files without any difference
        self.reasons: Counter[str] = Counter()
        self.unexplained: list[str] = []

    def compare(self, name: str, published: Counter[Line], ours: Counter[Line]) -> None:
        self.files += 1
        self.lines += published.total()
        self.agreed += (published & ours).total()
        every = Difference(published, ours)
        left = Difference(published - ours, ours - published)
        self.whole += not left.published and not left.ours
        for reason in REASONS:
            explained = reason(left, every)
            self.reasons[reason.__name__] += explained.published.total()
            left = Difference(left.published - explained.published, left.ours - explained.ours)
        self.unexplained += [f"{name}:{row}: published {text}" for row, text in sorted(left.published)]
        self.unexplained += [f"{name}:{row}: ours      {text}" for row, text in sorted(left.ours)]


# -- the suite -----------------------------------------------------------------------------------------


class Suite:
    """The tarball's inputs and outputs, and the packages its lock files name."""

    def __init__(self, where: Path, tools: Path) -> None:
        self.where = where
        self.package = npm_home(tools) / "node_modules/@sourcegraph/scip-typescript"
        self.environment = Environment(where / "index", variables=VARIABLES)

    def packages(self) -> Path:
        """`node_modules` with the versions the snapshots were published with."""
        lock = (self.package / "snapshots" / "yarn.lock").read_text()
        wanted = re.findall(r'^"?(@?[^@\s"]+)@[^\n]*:\n  version "([^"]+)"', lock, re.MULTILINE)
        outer = re.search(r'"(@types/node)": "([^"]+)"', (self.package / "package.json").read_text())
        assert outer
        folder = self.where / "packages"
        folder.mkdir()
        names = [f"{name}@{version}" for name, version in [*wanted, outer.groups()]]
        subprocess.run([*NPM, "install", *names], cwd=folder, check=True, env=VARIABLES)
        return folder / "node_modules"

    def projects(self) -> list[str]:
        return sorted(path.name for path in (self.package / "snapshots" / "input").iterdir())

    def published(self, project: str) -> dict[str, str]:
        root = self.package / "snapshots" / "output" / project
        return {
            path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()
        }

    def refreshed(self, project: str, packages: Path) -> Codebase:
        root = self.where / project
        shutil.copytree(self.package / "snapshots" / "input" / project, root)
        GitRepo.create(root).commit()
        codebase = open_codebase(root, self.environment)
        report = refresh(codebase, RefreshOptions(wait=True, node_modules=packages))
        assert {item.outcome for item in report.contexts} == {"refreshed"}, report
        return codebase


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    made = home_with_kept_tools(tmp_path)
    install(made, ("typescript",))
    return Suite(tmp_path, tools_folder(made.home))


def check(suite: Suite, project: str, packages: Path, agreement: Agreement) -> None:
    codebase, published = suite.refreshed(project, packages), suite.published(project)
    own = sorted({name for text in published.values() for name in snapshots.packages(text)})
    sources = {path: (codebase.root / path).read_bytes().decode() for path in published}
    marks = [
        mark for path, text in published.items() for mark in snapshots.marks(path, sources[path], text, own)
    ]
    with open_active(codebase.layout) as view:
        links = Links(view, [target for _, target in (mark for mark in marks if len(mark) == 2)])
        documents = {item.path for item in view.scip.documents()}
        for path, text in published.items():
            made = Rendering(view, path, sources[path], links)
            assert set(made.qualities()) <= {EXACT}, "nothing of the suite is contradicted"
            expected = snapshots.annotations(sources[path], text, own)
            agreement.compare(
                f"{project}/{path}", expected, snapshots.annotations(sources[path], made.text())
            )
    extra = {(project, path) for path in documents - set(published)}
    assert extra == {item for item in UNPUBLISHED if item[0] == project}
    agreement.references += check_references(codebase, [mark for mark in marks if isinstance(mark, Mark)])
    agreement.implementations += check_implementations(codebase, marks)


def check_references(codebase: Codebase, marks: list[Mark]) -> int:
    """`refs` at every published definition of a global symbol gives exactly the published references, in all files."""
    here: dict[tuple, set[str]] = defaultdict(set)  # place → symbols named there
    defined: dict[tuple, set[str]] = defaultdict(set)  # place → symbols defined there
    places: dict[str, set[tuple]] = defaultdict(set)  # symbol → places that define it
    referred: dict[str, set[tuple]] = defaultdict(set)
    for mark in marks:
        here[mark[:3]].add(mark.symbol)
        if mark.role == "definition":
            defined[mark[:3]].add(mark.symbol)
            places[mark.symbol].add(mark[:3])
        else:
            referred[mark.symbol].add(mark[:3])
    files = {mark.path for mark in marks}
    checked = 0
    for place, symbols in defined.items():
        if all(symbol.endswith("/") for symbol in symbols):
            continue  # a file as a whole, at a place without width
        # A place may name several symbols (a shorthand property), each defined in several places (merged interfaces).
        targets = {at for symbol in here[place] for at in places[symbol]}
        wanted = set().union(*(referred[symbol] for at in targets for symbol in defined[at]))
        answer = find_references(codebase, ":".join(map(str, place)), READ, 10_000)
        found = {place_of(item) for item in answer["references"] if item["precision"] == "semantic"}
        assert {at for at in found if at[0] in files} == wanted, (place, symbols)
        checked += len(wanted)
    return checked


def check_implementations(codebase: Codebase, marks: list[Mark | tuple[str, str]]) -> int:
    """`symbol` at what is implemented gives every published implementation of it, and no other."""
    places = {mark.symbol: mark[:3] for mark in marks if isinstance(mark, Mark) and mark.role == "definition"}
    wanted: dict[tuple, set[tuple]] = defaultdict(set)
    last = marks[0]
    for mark in marks:
        if isinstance(mark, Mark):
            last = mark
        elif "implementation" in mark[0] and mark[1] in places and isinstance(last, Mark):
            wanted[places[mark[1]]].add(last[:3])
    for place, expected in wanted.items():
        answer = find_symbol(codebase, ":".join(map(str, place)), READ)
        assert {place_of(item) for item in answer["implementations"]} == expected, place
    return sum(map(len, wanted.values()))


def place_of(item: dict) -> tuple[str, int, int]:
    return item["path"], item["line"], item["column"]


def test_the_published_suite(suite: Suite, capsys: pytest.CaptureFixture):
    packages, agreement = suite.packages(), Agreement()
    for project in suite.projects():
        check(suite, project, packages, agreement)
    with capsys.disabled():
        print(
            f"\n{agreement.files} files, {agreement.whole} of them whole; {agreement.agreed} of {agreement.lines} lines agree"
        )
        for reason in REASONS:
            print(f"  {agreement.reasons[reason.__name__]:>4} {reason.__name__}: {reason.__doc__}")
        print(f"  {agreement.references} references answered by refs at the published definitions")
        print(f"  {agreement.implementations} implementations answered by symbol")
    assert agreement.unexplained == []
    assert agreement.agreed + sum(agreement.reasons.values()) == agreement.lines
    assert (agreement.files, agreement.implementations) == (41, 15)


def test_with_the_compiler_it_was_published_with(suite: Suite, tmp_path: Path, capsys: pytest.CaptureFixture):
    """The control: under TypeScript 5.6.2 no difference is left that the compiler's version could explain."""
    subprocess.run([*NPM, "pack", f"typescript@{PUBLISHED_WITH}"], cwd=tmp_path, check=True, env=VARIABLES)
    real = tools_folder(suite.environment.home)
    other = tools_folder(tmp_path / "other" / "index")
    shutil.copytree(real, other, symlinks=True, copy_function=os.link)
    compiler = npm_home(other) / "node_modules/@sourcegraph/scip-typescript/node_modules/typescript"
    shutil.rmtree(compiler)
    with tarfile.open(tmp_path / f"typescript-{PUBLISHED_WITH}.tgz") as archive:
        archive.extractall(compiler.parent, filter="data")
    (compiler.parent / "package").rename(compiler)
    control = Suite(tmp_path / "other", other)
    packages, agreement = control.packages(), Agreement()
    for project in ("pure-js", "syntax"):
        check(control, project, packages, agreement)
    with capsys.disabled():
        print(
            f"\nTypeScript {PUBLISHED_WITH}: {agreement.agreed} of {agreement.lines} lines agree, {dict(agreement.reasons)}"
        )
    assert agreement.unexplained == []
    assert agreement.reasons["another_compiler"] == 0
