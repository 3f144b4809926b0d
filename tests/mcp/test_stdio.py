"""Conversations over stdio with the SDK's client (UI-2, EN-5, EN-6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio

from gitindex.mcp.tool_schemas import TOOLS
from tests.gate.conftest import FILES
from tests.mcp.client import Session, drive
from tests.support.gitrepo import GitRepo


def test_a_whole_life_over_mcp(repo: GitRepo) -> None:
    """UI-2: no index at start, create, every tool, sync, errors, clear; always one JSON object per answer."""
    repo.commit("first", **FILES)
    root = str(repo.root)

    async def story(mcp: Session) -> None:
        listed = (await mcp.client.list_tools()).tools
        assert {tool.name for tool in listed} == {spec.name for spec in TOOLS}
        assert all(tool.input_schema["additionalProperties"] is False for tool in listed)
        assert (await mcp.call("list_codebases"))["codebases"] == []

        refused = await mcp.call("search_codebase", query="start", path=root)
        assert (refused["status"], refused["codebaseRoot"]) == ("not_indexed", root)
        hint = refused["hints"]["create"]
        started = await mcp.call(hint["tool"], **hint["args"])
        assert (started["status"], started["started"]) == ("ok", True)
        assert (await mcp.until_ok(root))["lastJob"]["result"] == "done"

        await every_tool(mcp, root)

        repo.write("app/new.py", "def brand_new():\n    return 1\n")
        synced = await mcp.call("manage_index", action="sync", path=root)
        assert (synced["freshness"], synced["report"]["changes"]["add"]) == ("synced", 1)
        assert (await mcp.call("find_symbol", name="brand_new", path=root))["status"] == "ok"
        again = await mcp.call("manage_index", action="sync", path=root)
        assert again["freshness"] == "noop"
        assert (await mcp.call("manage_index", action="create", path=root))["noop"] is True
        rebuilt = await mcp.call("manage_index", action="reindex", path=root, wait=True)
        assert rebuilt["report"]["noop"] is False

        cleared = await mcp.call("manage_index", action="clear", path=root)
        assert cleared["bytes_freed"] > 0
        assert (await mcp.call("read_file", file="README.md", path=root))["status"] == "not_indexed"

    drive(repo.root, story)


async def every_tool(mcp: Session, root: str) -> None:
    hits = await mcp.call("search_codebase", query="start", path=root, mode="lexical")
    assert hits["results"][0]["path"].startswith("app/")
    assert {"freshness", "coverage", "trust"} <= hits.keys()
    found = await mcp.call("find_symbol", name="start", path=root)
    assert found["results"][0]["path"] == "app/core.py"
    used = await mcp.call("find_references", target="start", path=root)
    assert {item["path"] for item in used["references"]} == {"app/main.py"}
    outline = await mcp.call("file_outline", path=f"{root}/app/core.py")
    assert [entry["name"] for entry in outline["symbols"]] == ["start", "helper"]
    graph = await mcp.call("call_graph", symbol="helper", path=root, depth=2, format="mermaid")
    assert len(graph["edges"]) == 2
    assert graph["diagram"].startswith("flowchart")
    files = await mcp.call("import_graph", file="app/main.py", path=root)
    assert files["files"] == ["app/core.py", "app/main.py"]
    assert "def start(port)" in (await mcp.call("repo_map", path=root))["map"]
    cut = await mcp.call("slice_variable", file="app/core.py", line=7, name="total", path=root)
    assert [item["line"] for item in cut["lines"]] == [5, 6, 7]
    text = await mcp.call("read_file", path=f"{root}/app/core.py", startLine=1, endLine=1)
    assert text["content"] == "def start(port):"
    state = await mcp.call("file_state", files=["app/core.py", "app/main.py"], path=root)
    assert (state["status"], state["gate"]) == ("ok", "blocked")
    assert [item["path"] for item in state["files"]] == ["app/core.py", "app/main.py"]
    assert {item["freshness"] for item in state["files"]} == {"unindexed"}
    assert all(item["command"] for item in state["witnesses"])
    one = await mcp.call("file_state", path=f"{root}/app/core.py")
    assert [item["path"] for item in one["files"]] == ["app/core.py"]
    status = await mcp.call("manage_index", action="status", path=root)
    assert (status["status"], status["in_sync"]) == ("ok", True)
    assert [entry["root"] for entry in (await mcp.call("list_codebases"))["codebases"]] == [root]


def test_errors_are_answers(repo: GitRepo) -> None:
    """UI-2: a bad call is a JSON error that names the mistake; the server lives on."""
    repo.commit("first", **FILES)

    async def story(mcp: Session) -> None:
        async def error(name: str, /, **arguments: Any) -> str:
            failed, answer = await mcp.raw(name, **arguments)
            assert failed
            assert answer["status"] == "error"
            return answer["error"]["message"]

        assert "no tool 'nothing'" in await error("nothing")
        assert "needs the argument 'name'" in await error("find_symbol")
        assert "has no argument 'nam'" in await error("find_symbol", nam="x")
        assert "must be of type string" in await error("find_symbol", name=3)
        assert "must be between 1 and 200" in await error("search_codebase", query="x", limit=0)
        assert "must be one of" in await error("manage_index", action="destroy")
        repo.write(".gitindex.toml", "[index]\nnonsense = 1\n")
        assert "nonsense" in await error("find_symbol", name="x", path=str(repo.root))
        (repo.root / ".gitindex.toml").unlink()
        assert (await mcp.call("find_symbol", name="x", path=str(repo.root)))["status"] == "not_indexed"

    drive(repo.root, story)


def test_twenty_calls_at_once_and_one_blocked_codebase(repo: GitRepo, tmp_path: Path, home: Path) -> None:
    """EN-6, UI-2: while one codebase is created in the background, twenty calls on another all answer."""
    repo.commit("first", **FILES)
    big = GitRepo.create(tmp_path / "big")
    big.commit("first", **{f"m{at}.py": f"def f{at}():\n    return {at}\n" * 30 for at in range(150)})
    root, other = str(repo.root), str(big.root)
    (home / ".gitindex").mkdir()
    (home / ".gitindex" / "config.toml").write_text(f"[mcp]\nroots = ['{other}']\n")

    async def story(mcp: Session) -> None:
        assert (await mcp.call("manage_index", action="create", path=root, wait=True))["status"] == "ok"
        assert (await mcp.call("manage_index", action="create", path=other))["state"] == "indexing"
        blocked = await mcp.call("find_symbol", name="f1", path=other)
        assert (blocked["status"], blocked["codebaseRoot"]) == ("not_ready", other)
        twice = await mcp.call("manage_index", action="reindex", path=other)
        assert twice["status"] == "not_ready"
        answers: list[dict[str, Any]] = []

        async def one(at: int) -> None:
            name, arguments = (
                ("find_symbol", {"name": "start"}),
                ("call_graph", {"symbol": "start"}),
                ("read_file", {"file": "app/core.py"}),
                ("search_codebase", {"query": "start", "mode": "lexical"}),
            )[at % 4]
            answers.append(await mcp.call(name, path=root, **arguments))

        async with anyio.create_task_group() as together:
            for at in range(20):
                together.start_soon(one, at)
        assert [answer["status"] for answer in answers] == ["ok"] * 20
        assert (await mcp.until_ok(other))["status"] == "ok"
        assert (await mcp.call("find_symbol", name="f1", path=other))["status"] == "ok"

    drive(repo.root, story)


def test_the_default_codebase_is_where_the_server_starts(repo: GitRepo) -> None:
    """Calls without a path mean the codebase the server was started in."""
    repo.commit("first", **FILES)

    async def story(mcp: Session) -> None:
        assert (await mcp.call("manage_index", action="create", wait=True))["codebaseRoot"] == str(repo.root)
        assert (await mcp.call("read_file", file="app/main.py", endLine=1))[
            "content"
        ] == "from app.core import start"

    drive(repo.root / "app", story)
