"""CF-4, CF-5: no process of ours imports a module of the repository that it works on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from gitindex import child
from gitindex.config import load_environment
from gitindex.git import run as git
from gitindex.hooks import spawn
from tests.campaigns.attack import hostilemodules
from tests.campaigns.attack.hostilemodules import Hostile, console_script, stub_indexer
from tests.support import harness

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    where = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "A U Thor")
            patch.setenv(f"GIT_{role}_EMAIL", "author@example.com")
        return hostilemodules.create(where)


@pytest.fixture
def stubbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = stub_indexer(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")


def ran(hostile: Hostile, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """The console script, as a person runs it: inside the repository."""
    return subprocess.run(
        [console_script(), *arguments], cwd=hostile.root, env={**os.environ, **settings},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_no_command_in_a_hostile_repository_imports_its_modules(hostile: Hostile, stubbed: None):
    """CF-5: building with worker processes, catching up, searching, exact facts in the foreground and behind it, MCP."""
    assert ran(hostile, "init", "--no-hooks", "--json").returncode == 0
    assert hostile.imported() == []
    hostile.repo.write("fresh.py", "def fresh(): return 1\n")
    assert ran(hostile, "sync").returncode == 0
    assert "fresh" in ran(hostile, "search", "fresh").stdout
    assert ran(hostile, "refresh", "--wait", "--json").returncode == 1, "the stub fails"
    asked = subprocess.run(
        [console_script(), "mcp"], cwd=hostile.root, input="{}\n", capture_output=True, text=True, check=False, timeout=60
    )  # fmt: skip
    assert "Traceback" not in asked.stderr
    assert hostile.imported() == []


def test_the_background_refresh_imports_nothing_of_the_repository(hostile: Hostile, stubbed: None):
    """CF-5: it is a process of ours with a working directory of its own."""
    queued = json.loads(ran(hostile, "refresh", "--json").stdout)
    assert [one["outcome"] for one in queued["contexts"]] == ["queued"]
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        jobs = json.loads(ran(hostile, "jobs", "--json").stdout)["jobs"]
        if jobs and all(job["status"] not in ("queued", "running") for job in jobs):
            break
        time.sleep(0.2)
    assert hostile.imported() == []
    assert [job["status"] for job in jobs] == ["failed"], "a worker of ours tried the stub"


def test_the_hook_worker_imports_nothing_of_the_repository(hostile: Hostile):
    """CF-5: the command that the shim runs, started where the hook is."""
    line = child.command(
        "gitindex.hooks", "worker", "--path", str(hostile.root), "--git-dir", str(hostile.root / ".git")
    )
    hostile.repo.write(".git/gitindex/pending", "1\n")
    done = subprocess.run(line, cwd=hostile.root, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert hostile.imported() == []


@pytest.mark.parametrize("path", ["{ours}", "{ours}:", ":{ours}", "{ours}:lib", ".:{ours}"])
def test_our_first_statement_takes_the_current_directory_off_the_path(path: str, tmp_path: Path):
    """CF-5: `python -m gitindex` and relative entries of PYTHONPATH put it there before any code of ours runs.

    What `python -m` itself imports before that (`collections`, `gitindex`, …) is beyond us: docs/configuration.md says so.
    """
    where, canary = tmp_path / "repo", tmp_path / "canary"
    for name in ("multiprocessing", "json", "click", "__future__", "typing", "numpy", "subprocess"):
        for folder in (where / name, where / "lib" / name):
            folder.mkdir(parents=True)
            (folder / "__init__.py").write_text(f"open({str(canary)!r}, 'a').write(__name__)\n")
    settings = {**os.environ, "PYTHONPATH": path.format(ours=ROOT)}
    line = [sys.executable, "-m", "gitindex", "--version"]
    done = subprocess.run(line, cwd=where, env=settings, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert not canary.exists(), canary.read_text()


def test_every_worker_process_is_started_without_the_current_directory(hostile: Hostile, tmp_path: Path):
    """CF-5: read off the living children of a full build."""
    settings = {**os.environ, "GITINDEX_HOME": str(tmp_path / "other")}
    line = [console_script(), "init", "--no-hooks", "--json"]
    building = psutil.Popen(line, cwd=hostile.root, env=settings, stdout=subprocess.DEVNULL)
    seen: dict[int, tuple[list[str], dict[str, str]]] = {}
    while building.poll() is None:
        for one in building.children(recursive=True):
            try:
                seen[one.pid] = (one.cmdline(), one.environ())
            except psutil.Error:
                continue
        time.sleep(0.02)
    workers = [found for found in seen.values() if "gitindex.indexing.writerprocess" in found[0]]
    assert workers, "a build of this size starts worker processes"
    for words, variables in workers:
        assert variables.get("PYTHONSAFEPATH") == "1" or "-P" in words, words


def test_a_child_of_ours_has_only_absolute_places_on_its_path(hostile: Hostile):
    """CF-5: `child.command` in the repository itself, with a module path that names it in two ways."""
    asked = {"PYTHONPATH": os.pathsep.join(("", ".", str(ROOT), "lib"))}
    program = "import json, sys; print(json.dumps(sys.path))"
    line = [*child.command("this")[:2], "-c", program]
    settings = child.child_environment({**os.environ, **asked})
    told = subprocess.run(
        line, cwd=hostile.root, env=settings, capture_output=True, text=True, check=True
    ).stdout
    places = json.loads(told)
    assert str(ROOT) in places
    assert [
        place for place in places if not os.path.isabs(place) or Path(place).is_relative_to(hostile.root)
    ] == []


def test_the_background_refresh_is_started_as_a_child_of_ours(
    hostile: Hostile, stubbed: None, monkeypatch: pytest.MonkeyPatch
):
    """CF-5: safe path, `/` as working directory, the repository named by an absolute path."""
    started = []
    monkeypatch.setattr(
        spawn, "run", lambda command, environ, where: started.append((command, environ, where))
    )
    harness.cli("refresh", "--path", str(hostile.root))
    [(command, environ, where)] = started
    assert f" -P -m gitindex refresh --wait --path={hostile.root}" in command[-1]
    assert environ["PYTHONSAFEPATH"] == "1"
    assert where == Path("/")


def test_programs_that_are_not_ours_see_the_environment_as_it_was():
    """CF-5: a pager or a helper of git may be a Python script that needs its own directory."""
    code = (
        "import json, os; from gitindex import child; child.protect()\n"
        "from gitindex.config import load_environment; from gitindex.git.run import environment as git\n"
        "print(json.dumps([os.environ.get('PYTHONSAFEPATH'), os.environ['PYTHONPATH'],"
        " load_environment().variables.get('PYTHONSAFEPATH'), git().get('PYTHONSAFEPATH'), git()['PYTHONPATH']]))"
    )
    asked = f"lib{os.pathsep}{ROOT}"
    settings = {**os.environ, "PYTHONPATH": asked}
    done = subprocess.run(
        [sys.executable, "-c", code], env=settings, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == ["1", str(ROOT), None, None, asked]
    assert git.environment()["PATH"] == load_environment().variables["PATH"]
