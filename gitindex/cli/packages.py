"""The options that name a project's installed packages, for every command that runs indexers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)


def add_package_options(function: F) -> F:
    """Add `--python-env` and `--node-modules`."""
    node_option = click.option(
        "--node-modules", type=_DIRECTORY, help="Installed packages of a TypeScript project."
    )
    python_option = click.option(
        "--python-env", type=_DIRECTORY, help="A Python environment with the project's packages."
    )
    return python_option(node_option(function))
