"""Definitions, references and outlines (QU-3)."""

from __future__ import annotations

import pytest

from tests.navigate.conftest import FILES, spot
from tests.support.gitrepo import GitRepo
from tests.support.harness import cli, index


def places(items: list[dict]) -> list[str]:
    return [f"{item['path']}:{item['line']}" for item in items]


def test_symbol_by_name_has_the_documented_fields(ask) -> None:
    """SPEC names: results carry name, qualified_name, kind, path, line, column, signature, layer."""
    answer = ask("symbol", "Store")
    code = [item for item in answer["results"] if item["kind"] == "class"]
    assert answer["status"] == "ok"
    assert answer["results"][0] == code[0]  # code before headings
    assert code[0]["path"] == "pkg/store.py"
    assert (code[0]["line"], code[0]["column"]) == (9, 7)
    assert code[0]["signature"] == "class Store(Base)"
    assert code[0]["doc"] == "Keeps things."
    assert code[0]["layer"] == code[0]["precision"] == "syntactic"
    assert {"freshness", "coverage", "trust", "snapshot_id"} <= answer.keys()


@pytest.mark.parametrize(
    "name", ["Store.save", "Store::save", "pkg/store.py#save", "pkg/store.py#Store.save:12", "store.SAVE"]
)
def test_symbol_by_other_names(ask, name: str) -> None:
    assert places(ask("symbol", name)["results"]) == ["pkg/store.py:12"]


def test_symbol_by_position(ask) -> None:
    """QU-3: what stands at a position, definition or use."""
    use = FILES["pkg/use.py"]
    assert places(ask("symbol", f"pkg/use.py:{spot(use, 'Store()')}")["results"]) == ["pkg/store.py:9"]
    assert places(ask("symbol", f"pkg/use.py:{spot(use, 'put(2)')}")["results"]) == ["pkg/store.py:21"]
    assert places(ask("symbol", f"pkg/use.py:{spot(use, 'write(3)')}")["results"]) == ["pkg/queue.py:6"]
    assert places(ask("symbol", "pkg/store.py:12:9")["results"]) == ["pkg/store.py:12"]
    assert places(ask("symbol", "pkg/store.py:13")["results"]) == ["pkg/store.py:12"]  # around the line


def test_an_unknown_name_is_an_answer_with_suggestions(ask, folder) -> None:
    answer = ask("symbol", "Stoer")
    assert (answer["status"], answer["results"]) == ("not_found", [])
    assert "Store" in answer["suggestions"]
    ran = cli("symbol", "Stoer", "--path", str(folder))
    assert ran.code == 0
    assert "did you mean: Store" in ran.out


def test_deleted_definitions_are_gone(project: GitRepo, ask) -> None:
    """SN-6: what a commit removed, no structural answer knows."""
    project.git("rm", "-q", "pkg/queue.py")
    project.git("commit", "-q", "-m", "drop")
    index(project.root)
    assert ask("symbol", "Queue")["results"] == []
    assert ask("outline", "pkg/queue.py")["status"] == "not_found"
    assert places(ask("refs", "write")["definitions"]) == ["pkg/store.py:21"]


def test_references_follow_imports_and_renames(ask) -> None:
    """QU-3: uses through `import … as` and through a module are told apart by what they mean."""
    answer = ask("refs", f"pkg/store.py:{spot(FILES['pkg/store.py'], 'write(item):')}")
    assert answer["symbol"] == "write"
    assert places(answer["definitions"]) == ["pkg/store.py:21"]
    found = {(f"{item['path']}:{item['line']}", item["role"]) for item in answer["references"]}
    assert found == {
        ("pkg/store.py:15", "call"),
        ("pkg/use.py:2", "import"),
        ("pkg/use.py:8", "call"),
    }
    assert all(item["precision"] == "syntactic" for item in answer["references"])
    assert not any(item["path"] == "pkg/queue.py" for item in answer["candidates"])


def test_references_by_name_mean_all_definitions_of_it(ask) -> None:
    answer = ask("refs", "write")
    assert places(answer["definitions"]) == ["pkg/queue.py:6", "pkg/store.py:21"]
    assert "pkg/use.py:9" in places(answer["references"])


def test_a_guess_is_never_a_reference(ask) -> None:
    """QU-3: `anything.save` could be either class; a local variable is neither. Both are counted only."""
    answer = ask("refs", "Store.save")
    assert answer["references"] == []
    assert places(answer["candidates"]) == ["pkg/use.py:7"]
    assert answer["candidates"][0]["precision"] == "text"
    assert answer["unresolved_count"] == 1
    shadowed = ask("refs", "pkg/store.py:21:5")
    assert "pkg/shadow.py" not in {item["path"] for item in shadowed["references"]}


def test_references_say_what_they_leave_out(ask) -> None:
    """QU-4: a limit is told."""
    answer = ask("refs", "write", "--limit", "1")
    assert len(answer["references"]) == 1
    assert answer["truncated"] is True
    assert answer["reference_count"] > 1


def test_the_text_of_references_says_what_it_leaves_out(project: GitRepo) -> None:
    """QU-4: also when no occurrence of a kind is shown."""
    project.write("pkg/more.py", "def more(file, other):\n    file.write(1)\n    other.write(2)\n")
    index(project.root)
    root = str(project.root)
    whole = cli("refs", "write", "--json", "--path", root).json
    more, guesses = whole["reference_count"] - 1, whole["unresolved_count"]
    assert more > 0 < guesses
    text = cli("refs", "write", "--limit", "1", "--path", root).out
    assert "agrees:" not in text
    told = f"{more} of the references, {guesses} of the occurrences where only the name agrees"
    assert f"not shown: {told}; raise --limit" in text
    assert "not shown" not in cli("refs", "write", "--path", root).out
    assert (
        "not shown: 1 of the definitions; raise --limit"
        in cli("symbol", "write", "--limit", "1", "--path", root).out
    )


@pytest.mark.parametrize("verb", ["symbol", "refs"])
def test_a_small_budget_leaves_definitions_out_and_says_so(project: GitRepo, verb: str) -> None:
    """QU-4: a wider limit would not help there."""
    project.write(".gitindex.toml", "[query]\nmax_answer_chars = 1000\n")
    project.write("pkg/same.py", "".join(f"class C{at}:\n    def same(self): pass\n" for at in range(40)))
    index(project.root)
    ran = cli(verb, "same", "--path", str(project.root))
    assert ran.code == 0, ran.err
    assert "of the definitions; raise query.max_answer_chars in .gitindex.toml" in ran.out


@pytest.mark.parametrize("verb", ["symbol", "refs", "callgraph"])
def test_a_place_that_is_not_there_is_a_failure(folder, verb: str) -> None:
    for place, why in (
        ("pkg/store.py:999:1", "has 22 lines; line 999 was asked for"),
        ("no.py:1:1", "is not in the index"),
    ):
        ran = cli(verb, place, "--path", str(folder))
        assert ran.code == 1
        assert why in ran.out
        assert cli(verb, place, "--json", "--path", str(folder)).json["status"] == "not_found"


def test_outline_nests_as_written(ask) -> None:
    answer = ask("outline", "pkg/store.py")
    tree = [(entry["name"], [child["name"] for child in entry["children"]]) for entry in answer["symbols"]]
    assert tree == [("LIMIT", []), ("Base", ["close"]), ("Store", ["save", "check"]), ("write", [])]
    assert answer["language"] == "python"
    headings = ask("outline", "docs/guide.md")["symbols"]
    assert headings[0]["name"] == "Guide"


def test_outline_of_what_is_not_there(folder) -> None:
    """EN-1: the tool's own statuses say why."""
    root = str(folder)
    gone = cli("outline", "nope.py", "--json", "--path", root)
    assert (gone.code, gone.json["status"]) == (1, "not_found")
    binary = cli("outline", "data.bin", "--json", "--path", root)
    assert (binary.json["status"], binary.json["skip"]) == ("not_found", "unsupported")
    outside = cli("outline", "../x.py", "--json", "--path", root)
    assert (outside.code, outside.json["error"]["code"]) == (2, "unsafe_path")


def test_paths_are_relative_to_where_one_stands(folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "pkg")
    assert cli("outline", "store.py", "--json").json["path"] == "pkg/store.py"
    assert cli("outline", "pkg/store.py", "--json").json["path"] == "pkg/store.py"  # from the root as well
    assert cli("outline", str(folder / "pkg/store.py"), "--json").json["path"] == "pkg/store.py"
    assert cli("refs", "store.py:21:5", "--json").json["symbol"] == "write"
