"""A thin hand on a real git repository, for tests."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class GitRepo:
    root: Path

    @classmethod
    def create(cls, root: Path, *options: str) -> GitRepo:
        root.mkdir(parents=True, exist_ok=True)
        made = cls(root)
        made.git("init", "-q", "-b", "main", *options)
        return made

    def git(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(["git", "-C", str(self.root), *arguments], capture_output=True, check=False)
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, path: str, content: str | bytes) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def commit(self, message: str = "change", **files: str | bytes) -> str:
        """Write files (keys may be paths given by `**{"a/b.py": …}`), stage everything, commit."""
        for path, content in files.items():
            self.write(path, content)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")
