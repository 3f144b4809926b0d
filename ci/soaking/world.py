"""One repository, one index home, one die: what the operations act on and the checks look at.

`possible` is the truth the checks compare with: the contents that the active snapshot may hold. It has one entry
after anything that ran to its end, two after a kill (the old or the new snapshot, never a mixture), and none while
background workers may publish at any moment.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from io import BytesIO
from pathlib import Path

from gitindex.config import Environment
from gitindex.ops.codebase import Codebase, open_codebase
from gitindex.ops.syncing.maintenance import maintain_after_sync
from gitindex.ops.syncing.sync import sync
from gitindex.ops.syncing.sync_plan import SyncOptions

REPOSITORY = Path(__file__).resolve().parents[2]
PROCESSES = Path("/proc")
CONFIG_FILE, IGNORE_FILE, HIDDEN = ".gitindex.toml", ".gitindexignore", "hidden/"
CONFIG = '[embedding]\nprovider = "static"\n'
TICK_NS = 50_000_000  # the clock that stamps files is this coarse at worst
Contents = dict[str, str]
Stamp = dict[str, tuple[int, ...]]
WORD = re.compile("zq[a-z]{4}")

BODIES = {
    ".py": 'import os\n\n\ndef {a}(value):\n    """About {b}."""\n    return {c}(value)\n\n\nclass {d}:\n    {e} = 1\n',
    ".ts": "import {{ {a} }} from './{b}'\n\nexport function {c}(value: number) {{\n  return {d}(value) + {e}\n}}\n",
    ".go": "package main\n\nfunc {a}(value int) int {{\n\treturn {b}(value) + {c} + {d}\n}}\n// {e}\n",
    ".md": "---\ntags: [{a}]\ndate: 2026-01-02\n---\n# {b}\n\nAbout {c} and {d} and {e}.\n",
    ".toml": '[{a}]\n{b} = "{c}"\n{d} = "{e}"\n',
}


class Violation(AssertionError):
    """Something that must hold did not."""


class World:
    def __init__(self, base: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.base, self.root, self.home = base, base / "repo", base / "home"
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GITINDEX_"))
        }
        self.env = {
            **inherited,
            **dict.fromkeys((f"GIT_{who}_NAME" for who in ("AUTHOR", "COMMITTER")), "soak"),
            **dict.fromkeys((f"GIT_{who}_EMAIL" for who in ("AUTHOR", "COMMITTER")), "soak@example.com"),
            "GITINDEX_HOME": str(self.home),
            "PYTHONPATH": str(REPOSITORY),
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": str(base),
        }
        self.words: list[str] = []
        self.possible: list[Contents] = []
        self.hooks = False
        self.awaited = False  # a hook fired that must lead to a publish of HEAD
        self.epoch = 0
        self.proven: Stamp | None = None  # the store that the last audit found whole
        self.root.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.write(CONFIG_FILE, CONFIG)
        for _ in range(40):
            self.write(self.new_path(), self.body())
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")
        self.sync()

    # -- the repository -------------------------------------------------------------------------------

    def git(self, *arguments: str, check: bool = True) -> str:
        command = ["git", "-C", str(self.root), *arguments]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise Violation(f"git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def word(self) -> str:
        """A word never seen before: letters only, so that no tokenizer splits it."""
        number, letters = len(self.words), ""
        for _ in range(4):
            number, digit = divmod(number, 26)
            letters = chr(ord("a") + digit) + letters
        self.words.append(f"zq{letters}")
        return self.words[-1]

    def body(self, suffix: str | None = None) -> str:
        template = BODIES[suffix or self.dice.choice(list(BODIES))]
        old = [self.dice.choice(self.words) if len(self.words) > 20 else self.word() for _ in range(2)]
        names = [self.word(), *old, self.word(), self.word()]
        self.dice.shuffle(names)
        filled = template.format(**dict(zip("abcde", names, strict=True)))
        return filled * self.dice.choice((1, 1, 1, 12)) if suffix in (".md", None) else filled

    def new_path(self) -> str:
        folder = self.dice.choice(("", "pkg/", "pkg/deep/", "docs/", HIDDEN, "ünder/"))
        return f"{folder}m{self.dice.randrange(10**6)}{self.dice.choice(list(BODIES))}"

    def files(self) -> list[str]:
        """Paths of the working tree that operations may touch."""
        return [path for path in self._tree() if path not in (CONFIG_FILE, IGNORE_FILE)]

    def _tree(self) -> list[str]:
        found = []
        for folder, below, names in os.walk(self.root):
            if ".git" in below:  # thousands of objects after a while
                below.remove(".git")
            found += [os.path.relpath(os.path.join(folder, name), self.root) for name in names]
        return sorted(found)

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    # -- what the index should hold ---------------------------------------------------------------------

    def contents(self) -> Contents:
        """The eligible files as they are now. Nothing is indexed from a hidden folder while the rule is there."""
        hidden = self._hides(
            (self.root / IGNORE_FILE).read_text() if (self.root / IGNORE_FILE).exists() else ""
        )
        return {
            path: (self.root / path).read_text() for path in self._tree() if not (hidden and path.startswith(HIDDEN))
        }  # fmt: skip

    def committed(self) -> Contents:
        """The same of HEAD."""
        command = ["git", "-C", str(self.root), "archive", "HEAD"]
        archive = subprocess.run(command, env=self.env, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as tar:
            found = {entry.name: tar.extractfile(entry).read().decode() for entry in tar if entry.isfile()}
        hidden = self._hides(found.get(IGNORE_FILE, ""))
        return {path: text for path, text in found.items() if not (hidden and path.startswith(HIDDEN))}

    @staticmethod
    def _hides(rules: str) -> bool:
        return HIDDEN in rules.split()

    # -- the index --------------------------------------------------------------------------------------

    @cached_property
    def codebase(self) -> Codebase:
        """Opened once: neither the place nor the configuration ever changes."""
        return open_codebase(self.root, Environment(self.home))

    def stamp(self) -> Stamp | None:
        """What tells one state of the store from any other; None while files are too young for their times to tell."""
        found = {}
        try:
            for folder, _, names in os.walk(self.home):
                for name in names:
                    about = os.lstat(path := os.path.join(folder, name))
                    found[path] = (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        except FileNotFoundError:  # a worker is at it
            return None
        newest = max(times[-1] for times in found.values())
        return found if time.time_ns() - newest > TICK_NS else None

    def sync(self, *, full: bool = False, commit_only: bool = False) -> bool:
        """Sync in this process, with the upkeep that the command does; whether anything was published."""
        taken = self.committed() if commit_only else self.contents()
        codebase = self.codebase
        report = sync(codebase, SyncOptions(full=full, commit_only=commit_only, workers=1, lease_wait=60.0))
        if not report.noop:
            maintain_after_sync(codebase)
        self.possible = [] if self.hooks else [taken]
        return not report.noop

    def program(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A gitindex process of its own."""
        command = [sys.executable, "-m", "gitindex", *arguments, "--json", "--path", str(self.root)]
        return self.start(command)

    def start(self, command: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command, cwd=self.base, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    # -- background workers -----------------------------------------------------------------------------

    def workers(self) -> list[int]:
        """Processes that serve this repository's notes."""
        wanted = {b"worker", b"gitindex.hooks", str(self.root).encode()}
        return [pid for pid, parts, _ in _processes() if wanted <= set(parts)]

    def stirring(self) -> bool:
        """Whether a worker runs, or the shell of a hook is still about to start one."""
        places = (str(self.root), "/")
        shells = (b".git/hooks/" in b"\0".join(parts) and place in places for _, parts, place in _processes())
        return any(shells) or bool(self.workers())

    def quiet(self, seconds: float = 300.0) -> None:
        """Wait until every note was served, or a worker gave its note back."""
        deadline = time.monotonic() + seconds
        while self.stirring():
            if time.monotonic() > deadline:
                raise Violation(f"workers {self.workers()} do not come to rest within {seconds:.0f} s")
            time.sleep(0.05)


def _processes() -> Iterator[tuple[int, list[bytes], str]]:
    """Number, command line and current directory of every process."""
    for entry in PROCESSES.iterdir() if PROCESSES.exists() else ():
        with suppress(OSError):  # gone meanwhile, or another user's
            if entry.name.isdigit() and (line := (entry / "cmdline").read_bytes()):
                yield int(entry.name), line.split(b"\0"), os.readlink(entry / "cwd")
