"""SN-10, CS-1, CS-2: after any history the incremental live view equals a clean build's."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.support import harness
from tests.support.gitrepo import GitRepo

NAMES = (
    "a.py",
    "b.py",
    "pkg/c.py",
    "pkg/d.js",
    "docs/e.md",
    "pkg/sub/f.go",
    "noext",
    "data.bin",
    "ü.py",
    "g.TXT",
)
BODIES = (
    "def alpha(x):\n    return beta(x)\n",
    "class Gamma:\n    '''Doc.'''\n    def delta(self):\n        return alpha(1)\n",
    "import os\nfrom pkg import c\n\nVALUE = 3\n",
    "function foo() { return bar(); }\n",
    "---\ntags: [one, two]\ndate: 2024-05-01\n---\n# Title\n\ntext\n",
    "",
    "#!/bin/sh\necho hi\n",
    "\x00\x01binary\x00",
    "package main\nfunc main() { run() }\n",
)
RULES = ("", "*.js\n", "pkg/\n!pkg/c.py\n", "docs/**\n", "/a.py\n")

name = st.sampled_from(NAMES)
body = st.sampled_from(BODIES)
step = st.one_of(
    st.tuples(st.just("write"), name, body),
    st.tuples(st.just("delete"), name),
    st.tuples(st.just("rename"), name, name),
    st.tuples(st.just("chmod"), name),
    st.tuples(st.just("symlink"), name, st.sampled_from((*NAMES, "../outside", "pkg", "loop"))),
    st.tuples(st.just("ignore"), st.sampled_from(RULES)),
    st.tuples(st.just("gitignore"), st.sampled_from(RULES)),
    st.tuples(st.just("commit")),
    st.tuples(st.just("amend")),
    st.tuples(st.just("switch"), st.sampled_from(("main", "one", "two"))),
    st.tuples(st.just("reset")),
    st.tuples(st.just("forget")),
    st.tuples(st.just("compact")),
    st.tuples(st.just("merge"), st.integers(0, 2**16)),
    st.tuples(st.just("touch"), name),
)


class Script:
    """Carries out steps in a real repository; a step that git refuses changes nothing, which is fine."""

    def __init__(self, base: Path) -> None:
        self.repo = GitRepo.create(base / "repo")
        self.home = base / "home"
        self.scratch = base / "scratch"
        self.repo.commit("first", **{"a.py": BODIES[0], "pkg/c.py": BODIES[1]})

    def run(self, action: str, *arguments: str) -> None:
        getattr(self, f"do_{action}")(*arguments)

    def do_write(self, path: str, content: str) -> None:
        target = self.repo.root / path
        if target.is_symlink():
            target.unlink()
        self.repo.write(path, content)

    def do_delete(self, path: str) -> None:
        (self.repo.root / path).unlink(missing_ok=True)

    def do_rename(self, old: str, new: str) -> None:
        source, target = self.repo.root / old, self.repo.root / new
        if source.exists() and old != new:
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(source, target)

    def do_chmod(self, path: str) -> None:
        target = self.repo.root / path
        if target.exists():
            target.chmod(target.stat().st_mode ^ 0o111)

    def do_symlink(self, path: str, target: str) -> None:
        link = self.repo.root / path
        link.unlink(missing_ok=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(self.repo.root / target, link.parent))

    def do_touch(self, path: str) -> None:
        target = self.repo.root / path
        if target.exists():
            os.utime(target)

    def do_ignore(self, rules: str) -> None:
        self.repo.write(".gitindexignore", rules)

    def do_gitignore(self, rules: str) -> None:
        self.repo.write(".gitignore", rules)

    def do_commit(self) -> None:
        self.repo.commit("change")

    def do_amend(self) -> None:
        self.repo.git("add", "-A")
        self.repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "amended")

    def do_switch(self, branch: str) -> None:
        self.repo.git("add", "-A")
        self.repo.git("commit", "-q", "--allow-empty", "-m", "before switch")
        if self.repo.git("switch", "-q", branch, check=False) == "" and self.branch != branch:
            self.repo.git("switch", "-q", "-c", branch)

    def do_reset(self) -> None:
        """Back to the first commit, as after a force-push."""
        first = self.repo.git("rev-list", "--max-parents=0", "HEAD").split()[0]
        self.repo.git("reset", "-q", "--hard", first)

    def do_forget(self) -> None:
        """History and unreachable objects vanish: the old tree cannot be read any more (CS-2)."""
        self.repo.git("add", "-A")
        self.repo.git("commit", "-q", "--allow-empty", "-m", "last")
        tree = self.repo.git("rev-parse", "HEAD^{tree}")
        orphan = self.repo.git("commit-tree", tree, "-m", "orphan")
        self.repo.git("reset", "-q", "--hard", orphan)
        self.repo.git("reflog", "expire", "--expire=now", "--all")
        self.repo.git("gc", "-q", "--prune=now")

    def do_compact(self) -> None:
        from gitindex.lifecycle import compact

        compact.compact(harness.codebase(self.repo.root, self.home).layout)

    def do_merge(self, seed: int) -> None:
        """Any neighbours may be merged, with any others left as they are: the view stays the same (SN-8)."""
        from gitindex.lifecycle import compact

        compact.compact_runs(
            harness.codebase(self.repo.root, self.home).layout,
            lambda view: some_runs(len(view.manifest.segments), random.Random(seed)),
        )

    @property
    def branch(self) -> str:
        return self.repo.git("branch", "--show-current")

    def check(self) -> None:
        harness.index(self.repo.root, self.home)
        audit = harness.audited(self.repo.root, self.home)
        assert audit.problems == ()
        assert audit.digest == harness.clean_digest(self.repo.root, self.scratch)
        assert harness.index(self.repo.root, self.home).noop


def some_runs(count: int, chance: random.Random) -> list[range]:
    """Disjoint runs of neighbours, in order."""
    edges = sorted(chance.sample(range(count + 1), min(count + 1, 2 * chance.randint(1, 3))))
    return [range(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=False)]


def play(script: list[tuple[str, ...]]) -> None:
    base = Path(tempfile.mkdtemp(prefix="parity-"))
    try:
        run = Script(base)
        run.check()
        for action, *arguments in script:
            run.run(action, *arguments)
            run.check()
    finally:
        shutil.rmtree(base, ignore_errors=True)


HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@seed(20261116)
@settings(max_examples=15, deadline=None, suppress_health_check=HEALTH, database=None)
@given(script=st.lists(step, min_size=1, max_size=5))
def test_incremental_equals_clean(script):
    """SN-10 on short random histories."""
    play(script)


@pytest.mark.slow
@pytest.mark.parametrize("part", [1, 2])
def test_incremental_equals_clean_long(part):
    """SN-10: 200 random histories with fixed seeds, in two halves so that two workers share them."""

    @seed(part)
    @settings(max_examples=100, deadline=None, suppress_health_check=HEALTH, database=None)
    @given(script=st.lists(step, min_size=1, max_size=6))
    def run(script):
        play(script)

    run()


@pytest.mark.slow
def test_parity_over_a_real_history(tmp_path: Path, home: Path):
    """SN-10 over this project's own first commits: at every one the digest equals a clean build's."""
    origin = Path(__file__).resolve().parents[3]
    repo = GitRepo(tmp_path / "clone")
    subprocess.run(["git", "clone", "-q", str(origin), str(repo.root)], check=True)
    history = repo.git("rev-list", "--reverse", "--topo-order", "HEAD").split()[:60]
    assert len(history) >= 50, "needs the project's history: clone it whole, not shallow"
    for commit in history:
        repo.git("checkout", "-q", commit)
        harness.index(repo.root, tmp_path / "index")
        found = harness.digest_of(repo.root, tmp_path / "index")
        assert found == harness.clean_digest(repo.root, tmp_path / "scratch"), commit
