"""Call graphs, import graphs and the map (QU-3, QU-4)."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.navigate.pagerank import pagerank
from gitindex.navigate.repomap import count_tokens
from tests.support.gitrepo import GitRepo
from tests.support.harness import cli, index


def names(answer: dict, side: str) -> set[tuple[str, str]]:
    known = {node["symbolId"]: node["qualified_name"] for node in answer["nodes"]}
    return {(known.get(edge[side], "-"), edge["how"]) for edge in answer["edges"]}


def test_callees_by_scope_class_and_inheritance(ask) -> None:
    answer = ask("callgraph", "Store.save", "--direction", "callees", "--depth", "1")
    assert names(answer, "to") == {
        ("Store.check", "same_class"),
        ("Base.close", "inherited"),
        ("write", "same_file"),
    }
    assert {edge["precision"] for edge in answer["edges"]} == {"syntactic"}
    assert answer["candidateEdges"] == []


def test_callees_through_imports(ask) -> None:
    answer = ask("callgraph", "run", "--direction", "callees", "--depth", "1")
    targets = {(edge["to"], edge["how"]) for edge in answer["edges"]}
    assert targets == {
        ("pkg/store.py#Store:9", "import"),
        ("pkg/store.py#write:21", "import"),
        ("pkg/queue.py#write:6", "import"),
    }
    guess = answer["candidateEdges"][0]
    assert (guess["name"], guess["receiver"], guess["candidateCount"]) == ("save", "anything", 2)
    assert [note["type"] for note in answer["notes"]] == ["ambiguous_call"]


def test_callers_to_any_depth(ask) -> None:
    answer = ask("callgraph", "pkg/store.py#write", "--depth", "1")
    callers = {edge["from"] for edge in answer["edges"]}
    assert callers == {"pkg/store.py#Store.save:12", "pkg/use.py#run:5"}
    unresolved = ask("callgraph", "Store.save")
    assert unresolved["edges"] == []
    assert unresolved["candidateEdges"][0]["from"] == "pkg/use.py#run:5"


def test_other_languages(ask) -> None:
    web = ask("callgraph", "greet", "--depth", "1")
    assert {(edge["from"], edge["line"]) for edge in web["edges"]} == {
        ("web/app.ts#main:4", 5),
        ("web/app.ts#main:4", 6),
    }
    go = ask("callgraph", "half", "--depth", "2")
    assert {edge["from"] for edge in go["edges"]} == {"cart/cart.go#Total:3", "main.go#main:5"}
    assert {edge["how"] for edge in go["edges"]} == {"same_package", "import"}


def test_an_ambiguous_target_names_its_candidates(folder) -> None:
    """EN-1: `ambiguous` is the tool's own status; each candidate's id works as a target."""
    ran = cli("callgraph", "write", "--json", "--path", str(folder))
    assert (ran.code, ran.json["status"], ran.json["candidateCount"]) == (1, "ambiguous", 2)
    for candidate in ran.json["candidates"]:
        again = cli("callgraph", candidate["symbol_id"], "--json", "--path", str(folder))
        assert again.json["root"] == candidate["symbol_id"]
    assert cli("callgraph", "nothing", "--json", "--path", str(folder)).json["status"] == "not_found"


def test_a_limit_of_nodes_is_told(project: GitRepo, ask) -> None:
    """QU-4: what does not fit is counted."""
    from gitindex.ops.answers.gated_read import ReadOptions
    from gitindex.ops.answers.structural_answers import call_graph
    from tests.support.harness import codebase

    body = "".join(f"def f{at}():\n    hub()\n\n\n" for at in range(30))
    project.write("pkg/hub.py", f"def hub():\n    pass\n\n\n{body}")
    index(project.root)
    answer = call_graph(codebase(project.root), "hub", ReadOptions(), depth=1, limit=11)
    assert (len(answer["nodes"]), answer["leftOutEdges"], answer["truncated"]) == (11, 20, True)


def test_the_text_of_a_graph_says_what_it_leaves_out(project: GitRepo) -> None:
    """QU-4: of the undecided calls as of the others."""
    project.write("pkg/many.py", "def many(it):\n" + "    it.check(1)\n" * 36)
    index(project.root)
    text = cli("callgraph", "Store.check", "--depth", "1", "--path", str(project.root)).out
    assert "not decided (36; only the name agrees):" in text
    assert text.count("it.check") == 20
    assert "16 more not shown; --format json lists up to 100" in text


def test_drawings(folder) -> None:
    """QU-3: text, Mermaid and DOT; names are escaped."""
    root = str(folder)
    text = cli("callgraph", "pkg/store.py#write", "--path", root).out
    assert "← Store.save  pkg/store.py:15" in text
    mermaid = cli("callgraph", "pkg/store.py#write", "--format", "mermaid", "--path", root).out
    assert mermaid.startswith("flowchart LR\n")
    assert mermaid.count("-->") == 2
    dot = cli("callgraph", "pkg/store.py#write", "--format", "dot", "--path", root).out
    assert dot.count("->") == 2
    assert mermaid.splitlines()[-1].startswith("%% indexed ")
    assert dot.splitlines()[-1].startswith("// indexed ")
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=True)
    as_json = cli("callgraph", "pkg/store.py#write", "--format", "json", "--path", root)
    assert '"status": "ok"' in as_json.out


def test_import_graph_both_ways(project: GitRepo, ask) -> None:
    project.write("pkg/lone.py", "import os\n")
    index(project.root)
    out = ask("imports", "pkg/use.py")
    assert {edge["to"] for edge in out["edges"]} == {"pkg/queue.py", "pkg/store.py"}
    into = ask("imports", "web/lib.ts", "--direction", "importers")
    assert into["files"] == ["web/app.ts", "web/lib.ts"]
    assert ask("imports", "pkg/lone.py")["external"] == ["os"]
    assert ask("imports", "pkg/lone.py", "--direction", "importers")["external"] == []
    go = ask("imports", "main.go")
    assert {edge["to"] for edge in go["edges"]} == {"cart/cart.go", "cart/half.go"}
    assert ask("imports", "pkg/store.py")["external"] == []


PYTHON = {
    "src/app/__init__.py": "",
    "src/app/typing.py": "",
    "src/app/json/__init__.py": "import json as _json\n\n\ndef dumps(item):\n    return _json.dumps(item)\n",
    "src/app/json/provider.py": "import json\n\n\ndef provide(item):\n    return json.dumps(item)\n",
    "src/app/ctx.py": (
        "import typing as t\nfrom app.json import dumps\nfrom . import typing\n\n\n"
        "def push(item):\n    return dumps(item)\n"
    ),
    "src/space/part/core.py": "def work():\n    return 1\n",
    "tools/helper.py": "def helped():\n    return 1\n",
    "tools/run.py": "import helper\nfrom space.part import core\n\n\ndef main():\n    helper.helped()\n    core.work()\n",
}


def test_an_absolute_import_starts_at_a_source_root(repo: GitRepo) -> None:
    """QU-3: a module of a package is not the standard library's; namespace packages and scripts still import."""
    repo.commit("first", **PYTHON)
    index(repo.root)

    def ask(*arguments: str) -> dict:
        return cli(*arguments, "--json", "--path", str(repo.root)).json

    into = ask("imports", "src/app/typing.py", "--direction", "importers")["edges"]
    assert [(edge["from"], edge["line"]) for edge in into] == [("src/app/ctx.py", 3)]
    provider = ask("imports", "src/app/json/provider.py")
    assert (provider["edges"], provider["external"]) == ([], ["json"])
    callers = ask("callgraph", "src/app/json/__init__.py#dumps")
    assert [edge["from"] for edge in callers["edges"]] == ["src/app/ctx.py#push:6"]
    scripts = ask("imports", "tools/run.py")
    assert {edge["to"] for edge in scripts["edges"]} == {"tools/helper.py", "src/space/part/core.py"}
    assert len(ask("callgraph", "main", "--direction", "callees")["edges"]) == 2


def test_a_dollar_sign_is_part_of_a_name(repo: GitRepo) -> None:
    repo.write(
        "a.ts", "export function $foo() {}\nexport function foo() {}\nexport class $Base { run() {} }\n"
    )
    repo.write(
        "b.ts",
        'import { $foo, foo, $Base } from "./a";\n'
        "export class Own extends $Base { go() { this.run(); $foo(); } }\n"
        "export function use() { foo(); }\n",
    )
    index(repo.root)

    def callers(name: str) -> list[str]:
        return [
            edge["from"] for edge in cli("callgraph", name, "--json", "--path", str(repo.root)).json["edges"]
        ]

    assert callers("$foo") == callers("$Base.run") == ["b.ts#Own.go:2"]
    assert callers("foo") == ["b.ts#use:3"]


@pytest.mark.parametrize("budget", [1, 20, 60, 2000])
def test_the_map_keeps_its_budget(ask, budget: int) -> None:
    """QU-3, QU-4: never more tokens than asked for, and the rest is counted."""
    answer = ask("map", "--tokens", str(budget))
    assert count_tokens(answer["map"]) == answer["tokens"] <= budget
    shown = sum(len(file["symbols"]) for file in answer["files"])
    whole = ask("map", "--tokens", "100000")
    every = sum(len(file["symbols"]) for file in whole["files"])
    assert shown + answer["omitted"]["symbols"] == every
    assert whole["truncated"] is False


def test_the_map_ranks_what_others_lean_on(project: GitRepo, ask) -> None:
    for at in range(6):
        project.write(
            f"pkg/user{at}.py", f"from pkg.store import Store\n\n\ndef use{at}():\n    return Store()\n"
        )
    index(project.root)
    answer = ask("map", "--tokens", "12")
    assert [file["path"] for file in answer["files"]] == ["pkg/store.py"]
    assert answer["files"][0]["symbols"][0]["name"] == "Store"
    missing = cli("map", "--focus", "nope.py", "--path", str(project.root))
    assert missing.code == 1
    assert missing.out.startswith("nope.py is not in the index\n")
    focused = ask("map", "--tokens", "30", "--focus", "web/app.ts")
    assert [file["path"] for file in focused["files"]] == ["web/app.ts", "web/lib.ts"]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"), st.floats(0.1, 9)), max_size=20),
    st.randoms(),
)
def test_pagerank_is_a_distribution_whatever_the_order(edges, chance) -> None:
    nodes = list("abcdef")
    weights = {(a, b): weight for a, b, weight in edges}
    rank = pagerank(nodes, weights)
    assert abs(sum(rank.values()) - 1) < 1e-6
    shuffled = list(weights.items())
    chance.shuffle(shuffled)
    assert pagerank(nodes, dict(shuffled)) == rank
