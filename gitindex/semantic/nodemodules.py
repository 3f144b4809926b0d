"""Lists the installed packages in a `node_modules` directory. Reads their names and versions only."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from gitindex.errors import UsageError

DIRECTORY_NAME = "node_modules"


def locate(directory: Path) -> Path:
    """`directory` if it is a `node_modules`, else the `node_modules` in it. Raises UsageError when there is neither."""
    for path in (directory, directory / DIRECTORY_NAME):
        # Below any other name the compiler would take the packages for sources.
        if path.name == DIRECTORY_NAME and path.is_dir():
            return Path(os.path.realpath(path))
    raise UsageError(
        f"no installed packages in {directory}", hint="npm install, then --node-modules node_modules"
    )


def list_packages(modules: Path) -> dict[str, Path]:
    """name → directory. Skips links that leave `modules`: packages of a monorepo, which the checkout has too."""
    return {name: path for name, path in sorted(_iter_entries(modules)) if _is_inside(path, modules)}


def hash_packages(modules: Path | None) -> str:
    """A hash of the names and versions; "" without a directory."""
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
