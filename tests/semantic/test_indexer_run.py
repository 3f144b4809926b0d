"""SE-2: exact command lines, caps, acceptance, and a named diagnosis for every way a tool fails."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gitindex.errors import UsageError
from gitindex.semantic import tools_directory
from gitindex.semantic.indexer_run import MAX_EXCLUDED, IndexerResult, IndexerSettings, index
from gitindex.semantic.indexers.adapter import Diagnosis, IndexerFailure, IndexerRun
from gitindex.semantic.indexers.registry import INDEXERS, indexer_for
from gitindex.semantic.process import Caps
from tests.scip import writer
from tests.semantic.recorder import Recorder

FILES = {"a.x": "alpha beta\n", "sub/b.x": "beta gamma\n"}


class Shop:
    """A checkout, a fake tool on PATH, and a bench."""

    def __init__(
        self, tmp_path: Path, name: str, *, root: str = "", allow: bool = True, caps: Caps | None = None
    ):
        self.checkout = tmp_path / "checkout"
        self.directory = self.checkout / root
        for path, text in FILES.items():
            target = self.directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self.work = tmp_path / "work"
        self.work.mkdir()
        self.indexer = indexer_for(name)
        self.tool = Recorder(tmp_path / "bin", self.indexer.name)
        self.owned = tuple(f"{root}/{path}" if root else path for path in FILES)
        self.run = IndexerRun(self.checkout, root, self.owned, self.work, "demo")
        environment = {
            "PATH": self.tool.path,
            "HOME": str(tmp_path / "home"),  # a tool may write there
            "AWS_SECRET_ACCESS_KEY": "s",
            "GITHUB_TOKEN": "t",
        }
        self.bench = IndexerSettings(
            tmp_path / "tools", environment, caps or Caps(seconds=60), allow_project_code=allow
        )

    def scip(self, **changes) -> bytes:
        found = writer.simple_index(FILES)
        if not changes:
            return found
        return writer.index(**changes)

    def index(self) -> IndexerResult:
        return index(self.indexer, self.run, self.bench)

    def fails(self) -> IndexerFailure:
        with pytest.raises(IndexerFailure) as caught:
            self.index()
        assert caught.value.message
        assert caught.value.hint
        return caught.value


# -- command lines ------------------------------------------------------------------------------------

NEEDS = {
    "scip-java": "pom.xml",
    "scip-clang": "build/compile_commands.json",
    "scip-dotnet": "App.sln",
    "scip-go": "go.mod",
    "rust-analyzer": "Cargo.toml",
}


def expected(name: str, shop: Shop) -> list[str]:
    out, root, top = str(shop.run.output), str(shop.directory), str(shop.checkout)
    environment = str(shop.work / "environment.json")
    python = ["--project-name", "demo", "--project-version", "_", "--environment", environment]
    return {
        "scip-python": ["index", "--cwd", root, *python, "--output", out, "--quiet"],
        "scip-typescript": [
            *("index", "--cwd", top, "--no-progress-bar", "--max-file-byte-size", "10mb"),
            *("--output", out, root),
        ],
        "scip-go": ["index", "-o", out, "--module-root", root, "--module-version", "_", "./..."],
        "scip-java": ["index", "--output", out, "--build-tool", "maven"],
        "scip-clang": ["--compdb-path=build/compile_commands.json", f"--index-output-path={out}", "-j", "1"],
        "scip-dotnet": [
            *("index", "App.sln", "--working-directory", root, "--output", out),
            "--skip-dotnet-restore",
        ],
        "rust-analyzer": ["scip", root, "--output", out, "--exclude-vendored-libraries"],
    }[name]


@pytest.mark.parametrize("indexer", INDEXERS, ids=lambda i: i.name)
@pytest.mark.parametrize("root", ["", "deep/project"])
def test_exact_command_line_environment_and_result(tmp_path, indexer, root):
    shop = Shop(tmp_path, indexer.name, root=root)
    if indexer.name in NEEDS:
        needed = shop.directory / NEEDS[indexer.name]
        needed.parent.mkdir(exist_ok=True)
        needed.write_text("")
    shop.tool.plan({"print": "fine"}, scip=shop.scip())
    done = shop.index()
    (call,) = shop.tool.calls
    assert call["argv"] == expected(indexer.name, shop)
    assert call["cwd"] == str(shop.checkout if indexer.name == "scip-typescript" else shop.directory)
    assert "AWS_SECRET_ACCESS_KEY" not in call["env"]
    assert "GITHUB_TOKEN" not in call["env"]
    assert (done.documents, done.covered, done.uncovered, done.version) == (2, 2, (), "1.2.3")
    assert done.prefix == root


@pytest.mark.parametrize("name", ["scip-java", "scip-clang", "scip-dotnet"])
def test_a_project_without_a_build_description(tmp_path, name):
    shop = Shop(tmp_path, name)
    shop.tool.plan({}, scip=shop.scip())
    assert shop.fails().diagnosis is Diagnosis.NO_BUILD_DESCRIPTION
    assert shop.tool.calls == []


def test_gradle_is_recognised(tmp_path):
    shop = Shop(tmp_path, "java")
    (shop.directory / "settings.gradle.kts").write_text("")
    shop.tool.plan({}, scip=shop.scip())
    shop.index()
    assert shop.tool.calls[0]["argv"][-1] == "gradle"


# -- opt-in and presence --------------------------------------------------------------------------------


@pytest.mark.parametrize("indexer", INDEXERS, ids=lambda i: i.name)
def test_tools_that_run_project_code_need_a_yes(tmp_path, indexer):
    shop = Shop(tmp_path, indexer.name, allow=False)
    shop.tool.plan({}, scip=shop.scip())
    if indexer.name in ("scip-java", "rust-analyzer", "scip-dotnet"):
        assert shop.fails().diagnosis is Diagnosis.OPT_IN_REQUIRED
        assert shop.tool.calls == []
    elif indexer.name not in NEEDS:
        shop.index()


def test_a_missing_tool_says_how_to_get_it(tmp_path):
    shop = Shop(tmp_path, "go")
    shop.bench = replace(shop.bench, environment={"PATH": str(tmp_path)})
    failure = shop.fails()
    assert failure.diagnosis is Diagnosis.MISSING_TOOL
    assert "go install" in failure.hint


def test_the_list_of_tools(tmp_path):
    shop = Shop(tmp_path, "scip-go")
    shop.tool.plan({})
    listed = {tool.name: tool for tool in tools_directory.list_tools(shop.bench, shop.work)}
    assert set(listed) == {indexer.name for indexer in INDEXERS}
    assert (listed["scip-go"].version, listed["scip-go"].source) == ("1.2.3", "path")
    assert not listed["scip-clang"].installed
    with pytest.raises(UsageError, match="scip-go is not installed by gitindex"):
        tools_directory.install(["go"], shop.bench)
    with pytest.raises(UsageError, match="no indexer"):
        tools_directory.install(["cobol"], shop.bench)


# -- the failure campaign -------------------------------------------------------------------------------


def other_paths(*paths: str) -> bytes:
    return writer.index(
        *(writer.document(path, [writer.occurrence("s . . . x#", (0, 0, 1), 1)]) for path in paths)
    )


CAMPAIGN = {
    "crash": ({"exit": 3, "print": "boom"}, Diagnosis.CRASHED),
    "signal": ({"signal": int(signal.SIGSEGV)}, Diagnosis.CRASHED),
    "heap": (
        {"signal": int(signal.SIGABRT), "print": "FATAL ERROR: Reached heap limit Allocation failed"},
        Diagnosis.OUT_OF_MEMORY,
    ),
    "nothing": ({}, Diagnosis.NO_OUTPUT),
    "truncated": ({"cut": 150}, Diagnosis.TRUNCATED_OUTPUT),
    "empty": ({"cut": 0}, Diagnosis.NO_DOCUMENTS),
}


@pytest.mark.parametrize("case", CAMPAIGN)
def test_every_failure_has_its_name(tmp_path, case):
    step, diagnosis = CAMPAIGN[case]
    shop = Shop(tmp_path, "go")
    shop.tool.plan(step, scip=shop.scip() if "cut" in step else None)
    failure = shop.fails()
    assert failure.diagnosis is diagnosis
    assert failure.detail["retry"] == (case == "signal")
    if step.get("print"):
        assert step["print"] in failure.detail["log"]


def test_no_documents_with_exit_zero(tmp_path):
    shop = Shop(tmp_path, "go")
    shop.tool.plan({}, scip=writer.index())
    assert shop.fails().diagnosis is Diagnosis.NO_DOCUMENTS


@pytest.mark.parametrize("paths", [("elsewhere/a.x",), ("/etc/passwd", "../../a.x")])
def test_a_wrong_root_or_only_hostile_paths(tmp_path, paths):
    shop = Shop(tmp_path, "go")
    shop.tool.plan({}, scip=other_paths(*paths))
    assert shop.fails().diagnosis is Diagnosis.WRONG_ROOT


def test_low_coverage(tmp_path):
    shop = Shop(tmp_path, "go")
    shop.run = replace(shop.run, files=(*shop.owned, *(f"more/{n}.x" for n in range(200))))
    shop.tool.plan({}, scip=shop.scip())
    assert shop.fails().diagnosis is Diagnosis.LOW_COVERAGE


def test_the_root_is_taken_from_the_index_itself(tmp_path):
    shop = Shop(tmp_path, "go", root="deep")
    paths = [f"deep/{path}" for path in FILES]
    documents = [writer.document(path, [writer.occurrence("s . . . x#", (0, 0, 1), 1)]) for path in paths]
    shop.tool.plan({}, scip=writer.index(*documents, root=f"file://{shop.checkout}"))
    assert (shop.index().prefix, shop.index().covered) == ("", 2)


def test_a_hanging_tool_is_killed_with_everything_it_started(tmp_path):
    shop = Shop(tmp_path, "go", caps=Caps(seconds=1.0))
    shop.tool.plan({"hang": True, "daemon": True})
    assert shop.fails().diagnosis is Diagnosis.TIMED_OUT
    assert gone(int((shop.tool.directory / "daemon.pid").read_text()))


def test_a_daemon_left_behind_by_a_good_run_is_killed_too(tmp_path):
    shop = Shop(tmp_path, "go")
    shop.tool.plan({"daemon": True}, scip=shop.scip())
    shop.index()
    assert gone(int((shop.tool.directory / "daemon.pid").read_text()))


def test_too_much_memory(tmp_path):
    shop = Shop(tmp_path, "go", caps=Caps(seconds=60, memory_bytes=60 * 1024**2))
    shop.tool.plan({"eat": 200, "hang": True})
    assert shop.fails().diagnosis is Diagnosis.OUT_OF_MEMORY


def test_too_much_output(tmp_path):
    shop = Shop(tmp_path, "go", caps=Caps(seconds=60, output_bytes=20_000))
    shop.tool.plan({"flood": 100_000})
    assert shop.fails().diagnosis is Diagnosis.OUTPUT_TOO_LARGE


def test_a_cancelled_job_stops_its_tool(tmp_path):
    shop = Shop(tmp_path, "go")
    shop.tool.plan({"hang": True})
    with pytest.raises(IndexerFailure) as caught:
        index(shop.indexer, shop.run, shop.bench, alive=lambda: not shop.tool.calls)
    assert caught.value.diagnosis is Diagnosis.CANCELLED


# -- scip-python's crashing file ----------------------------------------------------------------------


def crash_at(shop: Shop, path: str) -> dict:
    return {"exit": 1, "print": f"{{\n  currentFilepath: '{shop.checkout}/{path}',\n}}", "output": None}


def test_the_crashing_file_is_left_out_and_named(tmp_path):
    shop = Shop(tmp_path, "python", root="pkg")
    shop.tool.plan(crash_at(shop, "pkg/sub/b.x"), {}, scip=shop.scip())
    done = shop.index()
    assert done.excluded == ("pkg/sub/b.x",)
    assert '"sub/b.x"' in (shop.directory / "pyrightconfig.json").read_text()
    assert len(shop.tool.calls) == 2


def test_leaving_out_has_an_end(tmp_path):
    shop = Shop(tmp_path, "python")
    many = tuple(f"m{n}.x" for n in range(20))
    shop.run = replace(shop.run, files=(*shop.owned, *many))
    shop.tool.plan(*(crash_at(shop, path) for path in many))
    failure = shop.fails()
    assert failure.diagnosis is Diagnosis.CRASHED
    assert len(shop.tool.calls) == MAX_EXCLUDED + 1
    assert "m0.x" in failure.message


def test_a_crash_outside_the_project_is_not_retried(tmp_path):
    shop = Shop(tmp_path, "python")
    shop.tool.plan({"exit": 1, "print": "currentFilepath: '/usr/lib/x.py'"})
    assert shop.fails().diagnosis is Diagnosis.CRASHED
    assert len(shop.tool.calls) == 1


def test_the_projects_own_pyright_settings_are_kept(tmp_path):
    shop = Shop(tmp_path, "python")
    (shop.directory / "pyrightconfig.json").write_text(
        '{ // where\n "extraPaths": ["src"], /* x */ "include": ["only"], "venv": "v" }'
    )
    shop.tool.plan({}, scip=shop.scip())
    shop.index()
    text = (shop.directory / "pyrightconfig.json").read_text()
    assert '"extraPaths": ["src"]' in text
    assert '"include": ["."]' in text
    assert "venv" not in text


def test_a_base_configuration_that_is_not_installed_is_left_out(tmp_path):
    shop = Shop(tmp_path, "typescript")
    config = shop.directory / "tsconfig.json"
    config.write_text('{ // c\n "extends": "@acme/tsconfig/base.json",\n "include": ["src"] }')
    shop.tool.plan({}, scip=shop.scip())
    done = shop.index()
    assert "extends" not in config.read_text()
    assert '"include": ["src"]' in config.read_text()
    assert "@acme/tsconfig/base.json" in done.remarks[0]
    config.write_text('{ "extends": "./base" }')
    (shop.directory / "base.json").write_text('{ "extends": ["@acme/tsconfig"] }')
    assert "base.json: settings of @acme/tsconfig" in shop.index().remarks[0]
    assert "extends" in config.read_text()
    assert shop.index().remarks == ()


def test_packages_of_a_monorepo_find_each_other(tmp_path):
    shop = Shop(tmp_path, "typescript", root="packages/b")
    names = {"packages/a": "@acme/a", "packages/b": "b", "evil": "../../up", "worse": "@x/../y", "none": ""}
    for folder, name in names.items():
        (shop.checkout / folder).mkdir(parents=True, exist_ok=True)
        (shop.checkout / folder / "package.json").write_text(f'{{"name": "{name}"}}')
    shop.tool.plan({}, scip=shop.scip())
    shop.index()
    shop.index()
    modules = shop.checkout / "node_modules"
    found = {
        str(link.relative_to(modules)): link.resolve() for link in modules.rglob("*") if link.is_symlink()
    }
    assert found == {"@acme/a": shop.checkout / "packages/a", "b": shop.checkout / "packages/b"}


def gone(pid: int) -> bool:
    """Dead, or a zombie nobody has collected yet."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False
