"""Reading files as indexed, and slices of them (QU-3, EN-6)."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitindex.cli.boundary import run_command
from gitindex.cli.main import group
from gitindex.navigate.slice import slice_lines
from gitindex.ops.answers.answer_budget import fit, json_length
from gitindex.ops.answers.file_text import split_range
from tests.navigate.conftest import FILES
from tests.support.gitrepo import GitRepo
from tests.support.harness import cli, index


def test_read_gives_the_lines_asked_for(ask) -> None:
    text = FILES["pkg/store.py"]
    whole = ask("read", "pkg/store.py")
    assert whole["content"] == text.removesuffix("\n")
    assert (whole["start_line"], whole["end_line"], whole["total_lines"]) == (1, 22, 22)
    assert (whole["source"], whole["exact"], whole["worktree"]) == ("index", True, "same")
    part = ask("read", "pkg/store.py:4-6")
    assert part["content"].split("\n") == text.split("\n")[3:6]
    assert ask("read", "pkg/store.py:22")["content"] == "    return item"
    assert ask("read", "pkg/store.py:21-")["end_line"] == 22
    assert ask("read", "pkg/__init__.py")["content"] == ""


def test_indexed_and_working_tree_are_told_apart(project: GitRepo, ask) -> None:
    """What was indexed stays readable after the file changed or vanished; the answer says which is which."""
    project.write("pkg/store.py", "changed = 1\n")
    answer = ask("read", "pkg/store.py:1")
    assert (answer["content"], answer["source"], answer["worktree"]) == ("LIMIT = 10", "index", "modified")
    now = ask("read", "pkg/store.py", "--worktree")
    assert (now["content"], now["source"], now["worktree"]) == ("changed = 1", "worktree", "modified")
    (project.root / "pkg/store.py").unlink()
    assert ask("read", "pkg/store.py:1")["worktree"] == "missing"
    assert ask("read", "pkg/store.py", "--worktree")["status"] == "not_found"
    ran = cli("read", "pkg/store.py:1", "--path", str(project.root))
    assert ran.out == "LIMIT = 10\n"  # remarks are no part of what a pipe gets
    assert "[as indexed; the working tree's file is missing]" in ran.err


def test_dirty_content_that_changed_again_comes_from_the_chunks(project: GitRepo, ask) -> None:
    """No git object has it and the file moved on: the chunks still say what was indexed, and that it is not exact."""
    text = "def dirty():\n    return 1\n\n\n\n\ndef later():\n    return 2\n"
    project.write("pkg/dirty.py", text)
    index(project.root)
    project.write("pkg/dirty.py", "gone = 1\n")
    answer = ask("read", "pkg/dirty.py")
    assert (answer["exact"], answer["worktree"]) == (False, "modified")
    assert answer["content"] == text.rstrip("\n")


def test_reads_stay_inside_and_within_what_is_indexed(folder) -> None:
    """EL-3: no path leads out, and what is skipped is not readable through the index."""
    (folder / "secret.bin").write_bytes(b"\x00")
    for path in ("../repo/pkg/store.py", "/etc/passwd", "..", "pkg/../../x"):
        ran = cli("read", path, "--json", "--path", str(folder))
        assert ran.code in (0, 1, 2), path
        assert "root:" not in ran.out
    assert cli("read", "/etc/passwd", "--json", "--path", str(folder)).json["error"]["code"] == "unsafe_path"
    assert cli("read", "secret.bin", "--json", "--path", str(folder)).json["status"] == "not_found"


@pytest.mark.parametrize("lines", ["90-99", "23-", "23"])
def test_lines_past_the_end_are_not_there(folder, lines: str) -> None:
    ran = cli("read", f"pkg/store.py:{lines}", "--json", "--path", str(folder))
    assert (ran.code, ran.json["status"], ran.json["total_lines"]) == (1, "not_found", 22)
    assert ran.json["message"].startswith("pkg/store.py has 22 lines; line ")


COMMANDING = "\ufeff# a\x1b[31mred\x1b]0;title\x07\r\nb\x0c = 1\rc"


@pytest.mark.parametrize("text", [COMMANDING, "x = 1\n\n\n", "x = 1", "\n", ""])
def test_a_pipe_gets_the_text_as_it_is(project: GitRepo, text: str) -> None:
    project.write("pkg/odd.py", text.encode())
    index(project.root)
    assert cli("read", "pkg/odd.py", "--path", str(project.root)).out == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_nothing_that_commands_it(project: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("pkg/odd.py", COMMANDING.encode())
    index(project.root)
    monkeypatch.setenv("GITINDEX_PAGER", "cat")
    terminal = Terminal()
    with redirect_stdout(terminal):
        run_command(group, ["read", "pkg/odd.py", "--path", str(project.root)])
    assert terminal.getvalue() == "# a\\x1b[31mred\\x1b]0;title\\x07\r\nb\\x0c = 1\\x0dc\n"


def test_a_line_too_long_by_itself_is_told(project: GitRepo, ask) -> None:
    """QU-4."""
    project.write(".gitindex.toml", "[query]\nmax_answer_chars = 6000\n")
    project.write("pkg/wide.py", f"x = '{'a' * 9000}'\ny = 1\n")
    index(project.root)
    answer = ask("read", "pkg/wide.py")
    missing = 9006 - len(answer["content"])
    assert (answer["truncated"], answer["left_out"]) == (True, {"lines": 1, "characters": missing})
    ran = cli("read", "pkg/wide.py", "--path", str(project.root))
    assert ran.out == (project.root / "pkg/wide.py").read_text()  # the budget is for programs


def test_long_files_are_cut_and_the_rest_is_one_command_away(project: GitRepo, ask) -> None:
    """QU-4: the budget holds, what is left out is counted, and the hint reads on."""
    project.write(".gitindex.toml", "[query]\nmax_answer_chars = 6000\n")
    project.write("pkg/long.py", "".join(f"x{at} = {at}\n" for at in range(2000)))
    index(project.root)
    seen, first = [], 1
    while True:
        answer = ask("read", f"pkg/long.py:{first}-")
        assert len(json.dumps(answer)) <= 6000
        seen += answer["content"].split("\n")
        if not answer["truncated"]:
            break
        assert answer["left_out"]["lines"] == 2000 - answer["end_line"]
        first = answer["end_line"] + 1
    assert seen == [f"x{at} = {at}" for at in range(2000)]
    ran = cli("read", "pkg/long.py", "--path", str(project.root))
    assert ran.out == (project.root / "pkg/long.py").read_text()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a.py", ("a.py", 1, None)),
        ("a.py:3", ("a.py", 3, 3)),
        ("a.py:3-", ("a.py", 3, None)),
        ("a.py:3-9", ("a.py", 3, 9)),
        ("C:x.py", ("C:x.py", 1, None)),
    ],
)
def test_ranges(text: str, parts: tuple) -> None:
    assert split_range(text) == parts


@given(st.lists(st.text(max_size=30), max_size=40), st.integers(300, 2000))
def test_a_budget_is_kept_and_told(items: list[str], budget: int) -> None:
    """QU-4: never over the budget (of lists), never silently shorter."""
    answer = fit({"status": "ok", "results": items}, budget, ["results"])
    assert json_length(answer) <= max(budget, 100)
    lost = len(items) - len(answer["results"])
    assert answer["results"] == items[: len(answer["results"])]
    assert answer.get("left_out", {}).get("results", 0) == lost


PYTHON = (
    "def f(a, b):\n    x = a + 1\n    y = b * 2\n    z = 0\n    for i in range(x):\n        if i > y:\n"
    "            z += i\n        else:\n            w = z\n    k = 5\n    obj.z = k\n    return z + x\n"
)


def lines(language: str, text: str, line: int, name: str, direction: str) -> list[int]:
    found = slice_lines(language, text, line, name, direction)
    assert found is not None
    return [item["line"] for item in found["lines"]]


def test_backward_slice_keeps_what_matters_and_only_that() -> None:
    """QU-3: data and control dependences are in, `w`, `k` and the attribute `obj.z` are not."""
    assert lines("python", PYTHON, 12, "z", "backward") == [1, 2, 3, 4, 5, 6, 7, 12]
    assert lines("python", PYTHON, 10, "k", "backward") == [10]


def test_forward_slice() -> None:
    assert lines("python", PYTHON, 10, "k", "forward") == [10, 11]
    assert lines("python", PYTHON, 3, "y", "forward") == [3, 6]


@pytest.mark.parametrize(
    ("language", "text", "line", "name", "expected"),
    [
        (
            "javascript",
            "function f(a) {\n  let t = 0;\n  for (const v of a) {\n    t += v;\n  }\n  const o = 3;\n  return t;\n}\n",
            7, "t", [1, 2, 3, 4, 7],
        ),
        (
            "go",
            "package m\nfunc F(a []int) int {\n\tt := 0\n\tfor _, v := range a {\n\t\tt += v\n\t}\n"
            "\tq := 1\n\treturn t\n}\n",
            8, "t", [2, 3, 4, 5, 8],
        ),
        (
            "java",
            "class A {\n  int f(int a) {\n    int t = a;\n    int u = 1;\n    while (t < 9) {\n      t = t + u;\n"
            "    }\n    int w = 0;\n    return t;\n  }\n}\n",
            9, "t", [2, 3, 4, 5, 6, 9],
        ),
        (
            "rust",
            "fn f(a: i32) -> i32 {\n    let mut t = a;\n    if a > 3 {\n        t = t * 2;\n    }\n"
            "    let u = 4;\n    t\n}\n",
            7, "t", [1, 2, 3, 4, 7],
        ),
        (
            "c",
            "int f(int a) {\n  int t = a;\n  int u = 3;\n  if (a > 2) {\n    t = 5;\n  }\n  return t;\n}\n",
            7, "t", [1, 2, 4, 5, 7],
        ),
    ],
)  # fmt: skip
def test_slices_of_other_languages(
    language: str, text: str, line: int, name: str, expected: list[int]
) -> None:
    assert lines(language, text, line, name, "backward") == expected


def test_slice_on_the_command_line(ask, folder) -> None:
    answer = ask("slice", "pkg/use.py:10", "store")
    assert [item["line"] for item in answer["lines"]] == [6, 10]
    assert answer["precision"] == "syntactic"
    assert ask("slice", "pkg/use.py:10", "nothing")["status"] == "not_found"
    assert cli("slice", "pkg/use.py", "store", "--json", "--path", str(folder)).code == 2
    assert (
        cli("slice", "docs/guide.md:1", "x", "--json", "--path", str(folder)).json["status"] == "unsupported"
    )


@settings(deadline=None, max_examples=80)
@given(st.text(alphabet="abx =+:\n()[]{}ifor while\t.;,", max_size=200), st.integers(1, 12))
@pytest.mark.parametrize("language", ["python", "javascript", "go"])
def test_any_text_can_be_sliced(language: str, text: str, line: int) -> None:
    """No source, however broken, makes a slice fail."""
    assert slice_lines(language, text, line, "x", "both") is not None
