"""The interface of indexer adapters: where a tool is, how to call it, what it needs, what its log means (SE-2).

An adapter starts nothing: `semantic.indexer_run` runs the command and accepts or rejects its output.
"""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from gitindex.errors import ExactFactsError


class Diagnosis(StrEnum):
    """Why a run was not accepted. Stable: stored with the job, printed by `gitindex jobs`."""

    MISSING_TOOL = "missing_tool"
    OPT_IN_REQUIRED = "opt_in_required"
    NO_BUILD_DESCRIPTION = "no_build_description"
    CRASHED = "crashed"
    OUT_OF_MEMORY = "out_of_memory"
    TIMED_OUT = "timed_out"
    OUTPUT_TOO_LARGE = "output_too_large"
    CANCELLED = "cancelled"
    NO_OUTPUT = "no_output"
    TRUNCATED_OUTPUT = "truncated_output"
    NO_DOCUMENTS = "no_documents"
    WRONG_ROOT = "wrong_root"
    LOW_COVERAGE = "low_coverage"
    INSTALL_FAILED = "install_failed"


class IndexerFailure(ExactFactsError):
    code = "indexer"

    def __init__(
        self, diagnosis: Diagnosis, message: str, *, hint: str | None = None, **detail: object
    ) -> None:
        super().__init__(message, hint=hint, diagnosis=diagnosis.value, **detail)
        self.diagnosis = diagnosis


@dataclass(frozen=True, slots=True)
class Program:
    """An installed tool."""

    argv: tuple[str, ...]  # the start of its command line
    source: str  # managed (by us) | path
    version: str = ""  # when known without running it


@dataclass(frozen=True, slots=True)
class IndexerRun:
    """One run of a tool over one context in a private checkout."""

    checkout: Path  # canonical
    root: str  # of the context within it, "" for the top
    files: tuple[str, ...]  # path keys the context owns
    work: Path  # private scratch directory, outside the checkout
    project: str = "project"
    nested: tuple[str, ...] = ()  # roots of other contexts of the language below this one
    excluded: tuple[str, ...] = ()  # files that crashed the tool before
    memory_bytes: int = 8 * 1024**3
    cpus: int = 1
    environment_file: Path | None = None  # scip-python: the project's packages
    python_env: Path | None = None  # scip-python: where they are installed
    node_modules: Path | None = None  # scip-typescript: the project's packages

    @property
    def directory(self) -> Path:
        return self.checkout / self.root if self.root else self.checkout

    @property
    def output(self) -> Path:
        return self.work / "index.scip"

    @property
    def heap_megabytes(self) -> int:
        """The heap limit for node: three quarters of the memory cap, which leaves room for its other memory."""
        return max(256, self.memory_bytes * 3 // 4 // 1024**2)


# Enough to find programs, caches and a proxy, but no credentials of the user: an indexer may run project code.
_SYSTEM = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ")
_GO = ("GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY")
_JVM = ("JAVA_HOME", "M2_HOME", "GRADLE_USER_HOME")
_RUST = ("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN")
_DOTNET = ("DOTNET_ROOT", "DOTNET_CLI_HOME", "NUGET_PACKAGES")
_PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")
_ALLOWED_VARIABLES = frozenset(_SYSTEM + _GO + _JVM + _RUST + _DOTNET + _PROXY + _TRUST)


class Indexer(ABC):
    name: ClassVar[str]
    language: ClassVar[str]
    how_to_get: ClassVar[str]
    runs_project_code: ClassVar[bool] = False
    # The smallest accepted fraction of owned files with a document. Empty and unselected files have none.
    min_coverage: ClassVar[float] = 0.02

    def find(self, tools: Path, path: str) -> Program | None:
        """The tool below our tools directory, else on the given PATH."""
        executable = shutil.which(self.name, path=path)
        return None if executable is None else Program((executable,), "path")

    def version_command(self, program: Program) -> list[str]:
        return [*program.argv, "--version"]

    @abstractmethod
    def command(self, program: Program, run: IndexerRun) -> list[str]:
        """The exact command line. May raise IndexerFailure when the project lacks what the tool needs."""

    def working_directory(self, run: IndexerRun) -> Path:
        return run.directory

    def environment(self, base: Mapping[str, str], run: IndexerRun) -> dict[str, str]:
        allowed = {name: value for name, value in base.items() if name in _ALLOWED_VARIABLES}
        return {**allowed, **({"PATH": keep_absolute_entries(allowed["PATH"])} if "PATH" in allowed else {})}

    def prepare(self, run: IndexerRun) -> list[str]:
        """Write private configuration into the checkout or the work directory. Returns remarks on what it changed."""
        return []

    def find_crashing_file(self, log: str, run: IndexerRun) -> str | None:
        """The owned file that crashed the tool, when another run without it may succeed."""
        return None

    def find_remarks(self, log: str) -> list[str]:
        """Lines of a successful run's log that the user should see: skipped files, ignored errors."""
        return []


def keep_absolute_entries(path: str) -> str:
    """PATH without entries that depend on the current directory: a tool works in a copy of the repository."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))


def path_key_below(run: IndexerRun, path: str) -> str | None:
    """The path key of an absolute path inside the checkout."""
    prefix = f"{run.checkout}/"
    return path.removeprefix(prefix) if path.startswith(prefix) else None
