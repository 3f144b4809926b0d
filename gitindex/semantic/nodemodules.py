"""Installed packages of a TypeScript project: which a `node_modules` directory holds. Reads names and versions only."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from gitindex.errors import UsageError

NAME = "node_modules"


def locate(directory: Path) -> Path:
    """The `node_modules` a person means by itself or by the project that holds it. Raises UsageError for neither."""
    for found in (directory, directory / NAME):
        if found.name == NAME and found.is_dir():  # by any other name the compiler takes packages for sources
            return Path(os.path.realpath(found))
    raise UsageError(
        f"no installed packages in {directory}", hint="npm install, then --node-modules node_modules"
    )


def packages(modules: Path) -> dict[str, Path]:
    """name → directory. Links that leave `modules` are a monorepo's own packages: the checkout has its own."""
    return {name: path for name, path in sorted(_entries(modules)) if _inside(path, modules)}


def fingerprint(modules: Path | None) -> str:
    """Of names and versions; empty without a directory."""
    if modules is None:
        return ""
    told = "\n".join(f"{name} {_version(path)}" for name, path in packages(modules).items())
    return hashlib.sha256(told.encode()).hexdigest()


def _entries(modules: Path) -> Iterator[tuple[str, Path]]:
    for path in modules.iterdir():
        if path.name.startswith("@") and path.is_dir():
            yield from ((f"{path.name}/{child.name}", child) for child in path.iterdir())
        elif not path.name.startswith("."):
            yield path.name, path


def _inside(path: Path, modules: Path) -> bool:
    return path.is_dir() and Path(os.path.realpath(path)).is_relative_to(modules)


def _version(package: Path) -> str:
    try:
        return str(json.loads((package / "package.json").read_bytes()).get("version", ""))
    except (OSError, ValueError, AttributeError):
        return ""
