"""EL-8, CF-4: files that would eat the machine cost a process and their syntax, never the index.

Each attack made a sync die, or run for minutes, when grammars ran in the process that publishes.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import psutil
import pytest

from gitindex.extract import file_limits, frontmatter
from gitindex.extract.file_limits import Allowance
from gitindex.indexing import extractionpool
from gitindex.model.settings import IndexSettings
from tests.support import harness
from tests.support.gitrepo import GitRepo

KIB = 1024
PEAK = 1024 * KIB * KIB  # bytes, of all processes together
EATERS = {
    "Generic.java": b"a<" * (32 * KIB),
    "Generic.cs": b"a<" * (32 * KIB),
    "pipes.sh": b"a|" * (32 * KIB),
    "generic.ts": b"a<b," * (16 * KIB),
    "less.cpp": b"<" * (256 * KIB),
    "stars.c": b"**" * (128 * KIB),
    "refs.rs": b"&" * (256 * KIB),
    "types.scala": b"a:" * (8 * KIB),
}
SLOW = b"*->" * 2731


class Peak:
    """The most memory that this process and its children held together."""

    def __enter__(self) -> Peak:
        self.bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.02):
            total = 0
            for process in psutil.Process(os.getpid()).children(recursive=True):
                try:
                    total += process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self.bytes = max(self.bytes, total)


@pytest.mark.parametrize("workers", [1, 2])
def test_files_that_eat_memory_keep_their_text(repo: GitRepo, tmp_path: Path, workers: int) -> None:
    repo.commit("eaters", **EATERS, **{"honest.py": "def honest():\n    return 1\n"})
    with Peak() as peak:
        harness.index(repo.root, tmp_path / "home", workers=workers)
    assert peak.bytes < PEAK
    with harness.view(repo.root, tmp_path / "home") as view:
        assert view.manifest.counts.files_indexed == len(EATERS) + 1
        honest = view.record("honest.py")
        assert honest is not None
        assert honest.symbols == 1
        for name in ("Generic.java", "Generic.cs", "pipes.sh"):
            record = view.record(name)
            assert record is not None
            assert record.text_only, name
            assert record.chunks


def test_a_large_tree_with_one_eater_is_written_again_without_its_syntax(
    repo: GitRepo, tmp_path: Path
) -> None:
    """A lane dies of it; the careful way finds out which file it was."""
    honest = {f"pkg/m{at}.py": f"def f{at}():\n    return {at}\n" for at in range(300)}
    repo.commit("large", **honest, **{"Generic.java": EATERS["Generic.java"]})
    harness.index(repo.root, tmp_path / "home", workers=2)
    with harness.view(repo.root, tmp_path / "home") as view:
        assert dict(view.manifest.counts.text_only) == {"crash": 1}
        assert view.manifest.counts.symbols == 300
    assert harness.audited(repo.root, tmp_path / "home").is_clean


def test_what_is_text_only_is_named(repo: GitRepo) -> None:
    """EL-8: counted in every answer, named by status and health."""
    repo.commit("slow", **{"slow.rs": SLOW, "fine.rs": "fn fine() {}\n"})
    harness.index(repo.root)
    told = harness.cli("status", "--json", "--path", str(repo.root)).json
    assert told["text_only"] == {"time": 1}
    assert told["text_only_files"] == {"time": ["slow.rs"]}
    assert told["in_sync"]
    assert "slow.rs" in harness.cli("health", "--path", str(repo.root)).out
    found = harness.cli("search", "fine", "--json", "--path", str(repo.root)).json
    assert found["coverage"]["text_only"] == {"time": 1}
    assert "1 as text only" in harness.cli("search", "fine", "--path", str(repo.root)).out
    outline = harness.cli("outline", "slow.rs", "--json", "--path", str(repo.root)).json
    assert outline["text_only"] == "time"


def test_many_slow_files_use_up_a_budget_and_the_next_sync_goes_on(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand slow files must not keep a hook busy for hours; what they displaced is made up for."""
    monkeypatch.setattr(file_limits, "_SLOW_SECONDS", 2.0)
    monkeypatch.setattr(Allowance.__init__, "__defaults__", (2.0,))
    repo.commit("slow", **{"a.rs": SLOW, "b.rs": b" " + SLOW, "c.rs": "fn last() {}\n"})
    harness.index(repo.root, tmp_path / "home")
    with harness.view(repo.root, tmp_path / "home") as view:
        assert dict(view.manifest.counts.text_only) == {"time": 1, "budget": 2}
    monkeypatch.setattr(Allowance.__init__, "__defaults__", (60.0,))
    harness.index(repo.root, tmp_path / "home")
    with harness.view(repo.root, tmp_path / "home") as view:
        assert dict(view.manifest.counts.text_only) == {"time": 2}
    assert harness.digest_of(repo.root, tmp_path / "home") == harness.clean_digest(
        repo.root, tmp_path / "clean"
    )
    assert harness.index(repo.root, tmp_path / "home").noop


def test_front_matter_of_brackets_never_reaches_the_yaml_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty such notes took forty seconds: PyYAML takes quadratic time on them."""
    import yaml

    note = b"---\n" + b"{" * 16_000 + b"\n---\ntext\n"
    found = extractionpool.extract_file("note.md", note, IndexSettings())
    assert found.entity is None
    assert not found.text_only
    monkeypatch.setattr(yaml, "compose", lambda *_, **__: pytest.fail("composed"))
    matter = frontmatter.split_matter(note)
    assert matter is not None
    assert frontmatter.read_entity(matter) is None


def test_ordinary_code_leaves_no_memory_behind() -> None:
    """The binding kept every piece of a file that it had been given: ordinary code lost its own size per pass."""
    from gitindex.extract import grammars

    source = b"def f(a, b):\n    return [a, b, 'text']\n" * 20_000
    grammars.parse("python", source)
    before = psutil.Process().memory_info().rss
    for _ in range(20):
        grammars.parse("python", source)
    assert psutil.Process().memory_info().rss - before < 5 * len(source)


def test_a_slice_of_a_slow_file_answers_in_time(repo: GitRepo) -> None:
    """The parse held the whole server for as long as it took."""
    repo.commit("slow", **{"slow.rs": b"fn f() { let x = 1; }\n" + b"*->" * (40 * KIB)})
    harness.index(repo.root)
    told = harness.cli("slice", "slow.rs:1", "x", "--json", "--path", str(repo.root)).json
    assert told["status"] == "unsupported"
    assert "more than a file may (time)" in told["message"]


def test_a_slice_of_a_long_chain_is_no_defect(repo: GitRepo) -> None:
    chain = "def f(x):\n    if x == 0:\n        y = 0\n" + "".join(
        f"    elif x == {at}:\n        y = {at}\n" for at in range(1, 3000)
    )
    script = "function f(x) {\n  let y = 0;\n  " + " else ".join(
        f"if (x == {at}) {{ y = {at}; }}" for at in range(900)
    )
    repo.commit("chain", **{"chain.py": chain, "chain.js": script + "\n  return y;\n}\n"})
    harness.index(repo.root)
    for place in ("chain.py:3", "chain.js:2"):
        told = harness.cli("slice", place, "y", "--json", "--path", str(repo.root))
        assert told.code == 0, told.out
        assert told.json["status"] in ("ok", "unsupported")


def test_nothing_in_this_process_parses(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mechanism itself: whoever publishes or answers never calls a grammar."""
    from gitindex.extract import extractor, grammars

    for module, name in ((grammars, "parse"), (extractor, "extract")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("parsed here"))
    repo.commit("code", **{"a.py": "def f(x):\n    y = x\n    return y\n", "n.md": "---\ntags: [a]\n---\n"})
    harness.index(repo.root)
    repo.write("a.py", "def g(x):\n    y = x\n    return y\n")
    harness.index(repo.root)
    for arguments in (["slice", "a.py:2", "y"], ["search", "g"], ["outline", "a.py"], ["state", "a.py"]):
        assert harness.cli(*arguments, "--path", str(repo.root)).code in (0, 1), arguments
