"""Installed packages of a TypeScript project: which a `node_modules` directory holds. Reads names and versions only."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from gitindex.errors import UsageError

DIRECTORY_NAME = "node_modules"


def locate(directory: Path) -> Path:
    """The `node_modules` a person means by itself or by the project that holds it. Raises UsageError for neither."""
    for path in (directory, directory / DIRECTORY_NAME):
        if (
            path.name == DIRECTORY_NAME and path.is_dir()
        ):  # by any other name the compiler takes packages for sources
            return Path(os.path.realpath(path))
    raise UsageError(
        f"no installed packages in {directory}", hint="npm install, then --node-modules node_modules"
    )


def list_packages(modules: Path) -> dict[str, Path]:
    """name → directory. Links that leave `modules` are a monorepo's own packages: the checkout has its own."""
    return {name: path for name, path in sorted(_iter_entries(modules)) if _is_inside(path, modules)}


def hash_packages(modules: Path | None) -> str:
    """Of names and versions; empty without a directory."""
    if modules is None:
        return ""
    listing = "\n".join(f"{name} {_read_version(path)}" for name, path in list_packages(modules).items())
    return hashlib.sha256(listing.encode()).hexdigest()


def _iter_entries(modules: Path) -> Iterator[tuple[str, Path]]:
    for path in modules.iterdir():
        if path.name.startswith("@") and path.is_dir():
            yield from ((f"{path.name}/{child.name}", child) for child in path.iterdir())
        elif not path.name.startswith("."):
            yield path.name, path


def _is_inside(path: Path, modules: Path) -> bool:
    return path.is_dir() and Path(os.path.realpath(path)).is_relative_to(modules)


def _read_version(package: Path) -> str:
    try:
        return str(json.loads((package / "package.json").read_bytes()).get("version", ""))
    except (OSError, ValueError, AttributeError):
        return ""
