"""A program that records that it was started, and repositories that try to start it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.gitrepo import GitRepo


@dataclass(frozen=True)
class Canary:
    program: Path
    record: Path

    @classmethod
    def create(cls, where: Path) -> Canary:
        where.mkdir(parents=True, exist_ok=True)
        made = cls(where / "canary", where / "started")
        made.program.write_text(f'#!/bin/sh\necho "$0 $*" >>{made.record}\n[ $# = 0 ] && cat\n')
        made.program.chmod(0o755)
        return made

    @property
    def started(self) -> str:
        return self.record.read_text() if self.record.exists() else ""

    def proven(self, command: list[str], where: Path) -> None:
        """The attack is real: git without our door starts the program."""
        subprocess.run(
            command, cwd=where, capture_output=True, check=False, timeout=30, stdin=subprocess.DEVNULL
        )
        assert self.started, f"{command} did not start the canary: this is no attack"
        self.record.unlink()


def embedded(repo: GitRepo, canary: Canary, path: str = "fixtures/repo.git") -> Path:
    """A tracked bare repository with a work tree and a clean filter, as a clone would bring it."""
    bare = repo.root / path
    GitRepo.create(bare.parent / "scratch-source").commit("x", **{"f.py": "x = 1\n"})
    source = bare.parent / "scratch-source"
    subprocess.run(["git", "clone", "-q", "--bare", str(source), str(bare)], check=True)
    subprocess.run(["rm", "-rf", str(source)], check=True)
    for name in ("hooks", "packed-refs", "description"):
        subprocess.run(["rm", "-rf", str(bare / name)], check=True)
    (bare / "refs/heads").mkdir(parents=True, exist_ok=True)
    (bare / "refs/heads/keep").write_text("")  # git tracks no empty directory
    (bare / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n\tworktree = .\n"
        f'[filter "x"]\n\tclean = {canary.program}\n[core]\n\tfsmonitor = {canary.program}\n'
    )
    (bare / ".gitattributes").write_text("* filter=x\n")
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (bare / "code.py").write_text("def inside(): pass\n")
    env = {**os.environ, "GIT_DIR": str(bare), "GIT_WORK_TREE": str(bare)}
    subprocess.run(
        ["git", "add", "code.py", ".gitattributes"], env=env, cwd=bare, check=True, capture_output=True
    )
    canary.record.unlink(missing_ok=True)
    (bare / "code.py").write_text("def outside(): pass\n")
    return bare


class Watched:
    """A `git` first on PATH that writes down what it is asked before it asks the real one."""

    def __init__(self, where: Path, path: str) -> None:
        where.mkdir(parents=True, exist_ok=True)
        self.log = where / "asked"
        real = next(
            folder for folder in path.split(os.pathsep) if os.access(os.path.join(folder, "git"), os.X_OK)
        )
        (where / "git").write_text(f'#!/bin/sh\necho "$*" >>{self.log}\nexec {real}/git "$@"\n')
        (where / "git").chmod(0o755)
        self.path = f"{where}{os.pathsep}{path}"

    def asked(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []
