"""Corpora made by script: source distributions from the package registry, committed to fresh git repositories."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

DJANGO = "Django==5.2"
_IDENTITY = {
    "GIT_AUTHOR_NAME": "bench",
    "GIT_AUTHOR_EMAIL": "bench@example.com",
    "GIT_COMMITTER_NAME": "bench",
    "GIT_COMMITTER_EMAIL": "bench@example.com",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
}


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *arguments],
        env={**os.environ, **_IDENTITY},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def source(requirement: str, cache: Path) -> Path:
    """The unpacked source distribution of a pinned requirement."""
    name = requirement.lower().replace("==", "-")
    target = cache / "sources" / name
    if target.exists():
        return target
    downloads = cache / "downloads" / name
    downloads.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*command, "--no-build-isolation", "-d", str(downloads), requirement], check=True)
    archive = next(path for path in downloads.iterdir() if path.name.endswith(".tar.gz"))
    unpacked = cache / "sources" / f".{name}.part"
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, filter="data")
    (inner,) = unpacked.iterdir()
    inner.rename(target)
    unpacked.rmdir()
    return target


def repository(requirement: str, cache: Path, copies: int = 1) -> Path:
    """A git repository of one commit with `copies` of the sources side by side."""
    name = requirement.lower().replace("==", "-")
    root = cache / "repositories" / f"{name}-x{copies}"
    if (root / ".git" / "HEAD").exists():
        git(root, "reset", "-q", "--hard", "HEAD")
        git(root, "clean", "-q", "-fd")
        return root
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for number in range(copies):
        target = root if copies == 1 else root / f"copy{number}"
        shutil.copytree(source(requirement, cache), target, dirs_exist_ok=True, symlinks=True)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Import")
    return root
