"""The list of installed packages and their files that scip-python reads. Runs nothing of the environment."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import distributions
from pathlib import Path

from gitindex.errors import UsageError


def find_site_packages(environment: Path) -> Path:
    """The site-packages of an environment. Raises UsageError for a directory that is not a Python environment."""
    directories = sorted(environment.glob("lib/python*/site-packages"))
    if not directories:
        raise UsageError(f"not a Python environment: {environment}", hint="--python-env .venv")
    return directories[-1]


def locate(environment: Path) -> Path:
    """The resolved path. Checked before a job is queued, so that a wrong path is a usage error. Raises UsageError."""
    find_site_packages(environment)
    return environment.resolve()


def describe_packages(environment: Path) -> bytes:
    """The list of installed packages as JSON, sorted: the same bytes for the same packages."""
    packages = []
    for package in distributions(path=[str(find_site_packages(environment))]):
        name = package.metadata["Name"]
        files = sorted(file.as_posix() for file in package.files or ())
        if name and files:
            packages.append({"name": name, "version": package.version, "files": files})
    return json.dumps(sorted(packages, key=lambda item: str(item["name"]))).encode()


def hash_packages(environment: Path | None) -> str:
    """A hash of the installed packages; "" without an environment."""
    return hashlib.sha256(describe_packages(environment)).hexdigest() if environment else ""
