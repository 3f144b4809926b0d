"""The tools directory: lists the indexers and installs those from npm (SE-2).

npm installs all its tools together, from the lock file that this package ships, with scripts disabled, into a directory
named after that lock file. A marker is written last: a directory without it is an unfinished install, and is replaced.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from gitindex.errors import UsageError
from gitindex.semantic import process
from gitindex.semantic.indexer_run import IndexerSettings, query_version
from gitindex.semantic.indexers.adapter import Diagnosis, IndexerFailure
from gitindex.semantic.indexers.npm_tool import (
    COMPLETE_MARKER,
    NpmIndexer,
    install_directory,
    read_package_files,
)
from gitindex.semantic.indexers.registry import INDEXERS, indexer_for

_NPM_VARIABLE_PREFIXES = ("npm_config_", "NPM_CONFIG_", "SSL_", "NODE_EXTRA")


class ToolStatus(NamedTuple):
    name: str
    language: str
    installed: bool
    version: str
    source: str  # managed | path | ""
    runs_project_code: bool
    how_to_get: str


def list_tools(settings: IndexerSettings, work: Path) -> list[ToolStatus]:
    """The status of every indexer. `work` is a scratch directory for the runs that print versions."""
    statuses = []
    for indexer in INDEXERS:
        program = indexer.find(settings.tools, settings.path)
        statuses.append(
            ToolStatus(
                name=indexer.name,
                language=indexer.language,
                installed=program is not None,
                version=query_version(indexer, program, settings, work) if program else "",
                source=program.source if program else "",
                runs_project_code=indexer.runs_project_code,
                how_to_get=indexer.how_to_get,
            )
        )
    return statuses


def install(names: Iterable[str], settings: IndexerSettings) -> list[str]:
    """Install the named tools (by tool or language) unless they are installed. Returns tool names.

    Raises UsageError for a tool that npm does not have, with a hint how to get it; IndexerFailure when npm fails.
    """
    indexers = [indexer_for(name) for name in names]
    for indexer in indexers:
        if not isinstance(indexer, NpmIndexer):
            raise UsageError(f"{indexer.name} is not installed by gitindex", hint=indexer.how_to_get)
    target = install_directory(settings.tools)
    if indexers and not (target / COMPLETE_MARKER).exists():
        _npm_install(target, settings)
    return [indexer.name for indexer in indexers]


def _npm_install(target: Path, settings: IndexerSettings) -> None:
    npm = shutil.which("npm", path=settings.path)
    if npm is None:
        raise IndexerFailure(
            Diagnosis.MISSING_TOOL, "npm is not installed", hint="install Node.js 18 or newer, then try again"
        )
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True, mode=0o700)
    for name, content in read_package_files().items():
        (target / name).write_bytes(content)
    outcome = process.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error"],
        cwd=target,
        environment=_npm_environment(settings),
        log=target / "install.log",
        caps=replace(settings.caps, seconds=min(900.0, settings.caps.seconds)),
    )
    if outcome.exit_code != 0 or outcome.stop_reason:
        raise IndexerFailure(
            Diagnosis.INSTALL_FAILED,
            f"npm could not install the indexers: {outcome.log.strip()[-400:] or outcome.stop_reason}",
            hint="check the network and npm's registry setting, then: gitindex indexers install python typescript",
        )
    (target / COMPLETE_MARKER).write_bytes(b"")


def _npm_environment(settings: IndexerSettings) -> dict[str, str]:
    allowed_names = {
        "PATH",
        "HOME",
        "TMPDIR",
        "LANG",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "https_proxy",
        "no_proxy",
    }
    return {
        name: value
        for name, value in settings.environment.items()
        if name in allowed_names or name.startswith(_NPM_VARIABLE_PREFIXES)
    }
