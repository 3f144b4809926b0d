"""Corpora made by script: source distributions from the package registries, committed to fresh git repositories.

A corpus is named by what it is made of: `Django==5.2` (the Python registry), `npm:effect@3.16.0` (the npm registry), or
several joined by ` + `, side by side in folders of their own. No build script of a package ever runs.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import random
import re
import shutil
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

DJANGO = "Django==5.2"
TYPESCRIPT = "npm:effect@3.16.0"
MIXED = f"{DJANGO} + grpcio==1.74.0 + numpy==2.3.2 + {TYPESCRIPT}"
REGISTRY = "https://pypi.org/simple"
_KEPT = {"npm:effect@3.16.0": "src"}  # the rest of that archive is compiled from it
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


def label(requirement: str) -> str:
    """A short name for tables and folders."""
    parts = [re.split("==|@", part.removeprefix("npm:"))[0].lower() for part in requirement.split(" + ")]
    return "mixed" if len(parts) > 1 else parts[0]


def source(requirement: str, cache: Path) -> Path:
    """The unpacked source distribution of a pinned requirement."""
    name = _folder(requirement)
    target = cache / "sources" / name
    if target.exists():
        return target
    downloads = cache / "downloads" / name
    downloads.mkdir(parents=True, exist_ok=True)
    archive = (
        _npm(requirement, downloads) if requirement.startswith("npm:") else _sdist(requirement, downloads)
    )
    unpacked = cache / "sources" / f".{name}.part"
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, filter="data")
    (inner,) = unpacked.iterdir()
    (inner / _KEPT.get(requirement, "")).rename(target)
    shutil.rmtree(unpacked)
    return target


def _folder(requirement: str) -> str:
    return re.sub("==|[:@/]", "-", requirement.lower())


def _npm(requirement: str, target: Path) -> Path:
    command = ["npm", "pack", "--silent", "--pack-destination", str(target), requirement.removeprefix("npm:")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(target.glob("*.tgz"))


def _sdist(requirement: str, target: Path) -> Path:
    """The archive itself, its hash checked: pip would run the package's build script to learn its name."""
    name, _, version = requirement.lower().partition("==")
    page = _download(f"{REGISTRY}/{name}/").decode()
    wanted = re.search(rf'href="([^"#]*/{name}-{re.escape(version)}\.tar\.gz)#sha256=([0-9a-f]+)', page, re.I)
    if wanted is None:
        raise SystemExit(f"{requirement} has no source archive at {REGISTRY}")
    data = _download(wanted[1])
    if hashlib.sha256(data).hexdigest() != wanted[2]:
        raise SystemExit(f"{requirement}: the archive does not have the hash that the registry names")
    archive = target / f"{name}-{version}.tar.gz"
    archive.write_bytes(data)
    return archive


def _download(url: str) -> bytes:
    """A registry that stumbles for a moment must cost neither a bench nor a test run."""
    for pause in (1, 4, 16):
        try:
            with urllib.request.urlopen(url, timeout=300) as answer:
                return answer.read()
        except (OSError, http.client.HTTPException):
            time.sleep(pause)
    with urllib.request.urlopen(url, timeout=300) as answer:
        return answer.read()


def repository(requirement: str, cache: Path, copies: int = 1) -> Path:
    """A git repository of one commit with `copies` of the sources side by side."""
    parts = requirement.split(" + ")
    name = _folder(requirement) if len(parts) == 1 else label(requirement)
    root = cache / "repositories" / f"{name}-x{copies}"
    if (root / ".git" / "HEAD").exists():
        git(root, "reset", "-q", "--hard", "HEAD")
        git(root, "clean", "-q", "-fd")
        return root
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    for number in range(copies):
        target = root if copies == 1 else root / f"copy{number}"
        for part in parts:
            place = target / label(part) if len(parts) > 1 else target
            shutil.copytree(source(part, cache), place, dirs_exist_ok=True, symlinks=True)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Import")
    return root


def history(root: Path, commits: int, seed: int = 1) -> Iterator[str]:
    """A scripted edit history: each commit changes one to five files, now and then one is added, moved or deleted."""
    dice = random.Random(seed)
    for number in range(commits):
        files = [name for name in git(root, "ls-files", "-z").split("\0") if name.endswith((".py", ".ts"))]
        for name in dice.sample(files, min(len(files), dice.randint(1, 5))):
            edit(root / name, f"edited_{number}")
        chosen, chance = dice.choice(files), dice.random()
        if chance < 0.1:
            git(root, "rm", "-q", "-f", chosen)
        elif chance < 0.2:
            git(root, "mv", chosen, f"{os.path.splitext(chosen)[0]}_{number}{os.path.splitext(chosen)[1]}")
        elif chance < 0.3:
            edit(root / f"added_{number}.py", f"added_{number}")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", f"Change {number}")
        yield git(root, "rev-parse", "HEAD")


def edit(path: Path, name: str) -> None:
    """Append a function in the file's own language."""
    made = {
        ".py": f"\n\ndef {name}():\n    return 1\n",
        ".ts": f"\n\nexport function {name}(): number {{\n  return 1\n}}\n",
    }
    with path.open("a") as handle:
        handle.write(made.get(path.suffix, f"\n{name}\n"))
