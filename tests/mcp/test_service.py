"""The service behind the transport: jobs, budgets, schemas, and whatever agents may send."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitindex.config import load_environment
from gitindex.errors import LeaseHeld, UsageError
from gitindex.mcp.background_jobs import RebuildJobs
from gitindex.mcp.server import Service
from gitindex.mcp.tool_schemas import BY_NAME, TOOLS, check_arguments
from gitindex.mcp.tools import _READERS
from tests.gate.conftest import FILES
from tests.support.gitrepo import GitRepo
from tests.support.harness import index

DOCS = Path(__file__).parents[2] / "docs" / "mcp.md"


def test_starting_loads_nothing_heavy() -> None:
    """UI-2, UI-3: listing tools needs neither the index nor what builds or searches it."""
    code = (
        "import sys, gitindex.mcp.server as s, gitindex.mcp.tool_schemas as c; assert c.TOOLS;"
        "heavy = {'lance', 'pyarrow', 'lancedb', 'tantivy', 'torch', 'boto3', 'gitindex.ops.syncing.sync', 'gitindex.search'};"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_job_runs_once_per_codebase_and_tells_its_end() -> None:
    jobs = RebuildJobs()
    go = threading.Event()

    def work(job: Any) -> dict[str, Any]:
        job.track("extract", 1, 4)
        go.wait(10)
        return {"status": "ok"}

    first, fresh = jobs.start("/a", "create", work)
    again, second = jobs.start("/a", "reindex", work)
    other, third = jobs.start("/b", "create", work)
    assert (fresh, second, third) == (True, False, True)
    assert again is first
    assert jobs.find_running("/a") is first
    go.set()
    assert first.done.wait(10)
    assert other.done.wait(10)
    assert jobs.find_running("/a") is None
    assert jobs.find_last("/a").to_json()["result"] == "done"


@pytest.mark.parametrize(
    ("problem", "code"), [(LeaseHeld("busy", hint="wait"), "busy"), (ZeroDivisionError("x"), "defect")]
)
def test_a_failed_job_says_why(problem: Exception, code: str) -> None:
    def work(_: Any) -> dict[str, Any]:
        raise problem

    jobs = RebuildJobs()
    job, _ = jobs.start("/a", "create", work)
    assert job.done.wait(10)
    told = job.to_json()
    assert (told["result"], told["error"]["code"]) == ("failed", code)


def test_answers_keep_their_budget(repo: GitRepo) -> None:
    """QU-4: a small budget cuts every tool's lists, and each answer says so."""
    repo.commit("first", **{".gitindex.toml": "[query]\nmax_answer_chars = 3000\n"})
    body = "".join(f"def number_{at}():\n    return hub()\n\n\n" for at in range(200))
    repo.commit("second", **{"many.py": f"def hub():\n    return 1\n\n\n{body}"})
    index(repo.root)
    service = Service(load_environment(), repo.root)
    for name, arguments in (
        ("search_codebase", {"query": "number", "limit": 100, "flat": True}),
        ("find_references", {"target": "hub"}),
        ("file_outline", {"file": "many.py"}),
        ("call_graph", {"symbol": "hub"}),
        ("read_file", {"file": "many.py"}),
        ("repo_map", {"tokens": 50_000}),
        ("file_state", {"files": [f"many{at}.py" for at in range(200)]}),
    ):
        text = service.call(name, arguments).text
        answer = json.loads(text)
        assert answer["status"] == "ok", name
        assert len(text) < 4000, name
        assert answer["truncated"] is True, name
        assert answer["left_out"] or answer.get("map_lines_left_out"), name


def test_files_are_hits_when_asked_for(repo: GitRepo) -> None:
    """UI-2: one result per file, with the number of its chunks that match."""
    repo.commit(
        "first",
        **{"shop/cart.py": "def add():\n    pass\n", "tests/test_cart.py": "def test_add():\n    pass\n"},
    )
    index(repo.root)
    service = Service(load_environment(), repo.root)
    answer = json.loads(service.call("search_codebase", {"query": "add to the cart", "files": True}).text)
    paths = [result["path"] for result in answer["results"]]
    assert sorted(paths) == ["shop/cart.py", "tests/test_cart.py"]
    assert all(result["chunks"] >= 1 for result in answer["results"])
    assert {"freshness", "coverage", "trust"} <= answer.keys()
    wrong = json.loads(service.call("search_codebase", {"query": "x", "files": True, "mode": "symbol"}).text)
    assert wrong["status"] == "error"


def test_a_mistyped_path_is_refused(repo: GitRepo, tmp_path: Path) -> None:
    """EN-8: as any path outside what is allowed; no offer to index whatever directory happens to exist above it."""
    repo.commit("first", **{"a.py": "A = 1\n"})
    index(repo.root)
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "notes.md").write_text("# Notes\n")
    service = Service(load_environment(), repo.root)

    def asked(path: str, service: Service = service) -> dict[str, Any]:
        return json.loads(service.call("find_symbol", {"name": "A", "path": path}).text)

    for nowhere in ("/nonexistent/x/y", str(tmp_path / "nowhere" / "x")):
        refused = asked(nowhere)
        assert refused["error"]["code"] == "not_allowed"
        assert nowhere in refused["error"]["message"]
    mistyped = asked(str(plain / "gone" / "x"), Service(load_environment(), plain))
    assert mistyped["error"]["message"] == f"no such path: {plain / 'gone' / 'x'}"
    index(plain)
    for root in (repo.root, plain):
        assert asked(str(root / "gone" / "b.py"))["codebase_root"] == str(root)


def test_null_arguments_count_as_absent() -> None:
    assert check_arguments(BY_NAME["find_symbol"], {"name": "x", "limit": None}) == {"name": "x"}
    with pytest.raises(UsageError):
        check_arguments(BY_NAME["find_symbol"], {"name": None})


def test_every_tool_is_documented() -> None:
    """docs/mcp.md names every tool and every argument."""
    text = DOCS.read_text("utf-8")
    for tool in TOOLS:
        assert f"`{tool.name}`" in text, f"docs/mcp.md does not name {tool.name}"
        for name in tool.properties:
            assert f"`{name}`" in text, f"docs/mcp.md does not name {name} of {tool.name}"


def test_every_tool_is_offered_and_run() -> None:
    offered, run = set(BY_NAME) - {"manage_index", "list_codebases"}, set(_READERS)
    assert offered - run == set(), "mcp/tools.py _READERS does not run it"
    assert run - offered == set(), "mcp/tool_schemas.py TOOLS does not offer it"


def test_documented_configurations_are_valid() -> None:
    """Every JSON snippet of docs/mcp.md parses and starts `gitindex mcp`."""
    snippets = re.findall(r"```json\n(.*?)```", DOCS.read_text("utf-8"), re.S)
    assert len(snippets) >= 3
    for snippet in snippets:
        text = json.dumps(json.loads(snippet))
        assert '"gitindex"' in text
        assert '"mcp"' in text


_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 300),
    st.text(max_size=20),
    st.sampled_from(
        [
            "start",
            "app/core.py",
            "app/core.py:1:5",
            "app/core.py#start",
            "hybrid",
            "lexical",
            "*",
            "a.b",
            "::",
        ]
    ),
    st.lists(st.text(max_size=5), max_size=3),
)
_NAMES = [spec.name for spec in TOOLS if spec.name != "manage_index"]


def _calls() -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    def arguments(name: str) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
        known = sorted(set(BY_NAME[name].properties) - {"path", "sync"})
        keys = st.sampled_from([*known, "stray"])
        required = dict.fromkeys(BY_NAME[name].required, _VALUES)
        extra = st.dictionaries(keys, _VALUES, max_size=3)
        return st.tuples(
            st.just(name), st.builds(lambda a, b: {**a, **b}, extra, st.fixed_dictionaries(required))
        )

    return st.sampled_from(_NAMES).flatmap(arguments)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Service:
    from gitindex.config import Environment

    base = tmp_path_factory.mktemp("fuzz")
    made = GitRepo.create(base / "repo")
    for path, content in FILES.items():
        made.write(path, content)
    index(made.root, base / "home")
    return Service(Environment(base / "home"), made.root)


def _never_a_defect(service: Service, call: tuple[str, dict[str, Any]]) -> None:
    answer = json.loads(service.call(*call).text)
    assert answer["status"] in {"ok", "not_found", "ambiguous", "unsupported", "error"}
    if answer["status"] == "error":
        assert answer["error"]["code"] != "defect", answer


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(call=_calls())
def test_any_input_gets_an_answer_or_a_named_error(fuzzed: Service, call: tuple[str, dict[str, Any]]) -> None:
    """Random tools with random arguments: never a traceback."""
    _never_a_defect(fuzzed, call)


@pytest.mark.slow
@settings(deadline=None, max_examples=10_000, suppress_health_check=list(HealthCheck))
@given(call=_calls())
def test_ten_thousand_inputs(fuzzed: Service, call: tuple[str, dict[str, Any]]) -> None:
    _never_a_defect(fuzzed, call)
