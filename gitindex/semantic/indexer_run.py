"""Runs one indexer over one context and accepts the result only when four checks pass (SE-2).

The checks: the exit code, the log, at least one document, and coverage of the tracked files. One alone is not
enough, because tools fail silently: exit 0 without documents, a heap that ran out after the header was written, paths
relative to another root. Each failure has a name (`Diagnosis`). A file that crashes scip-python is excluded and the
run repeated, for at most MAX_EXCLUDED files; the result lists them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gitindex.errors import KeyExposed
from gitindex.scip import schema
from gitindex.scip.reader import IndexFile
from gitindex.semantic import process
from gitindex.semantic.indexers.adapter import (
    Diagnosis,
    Indexer,
    IndexerFailure,
    IndexerRun,
    Program,
    keep_absolute_entries,
)
from gitindex.semantic.process import Caps, ProcessResult, StopReason

MAX_EXCLUDED = 5
_KEY_VARIABLE, _KEY_FILE_VARIABLE = "GITINDEX_SIGNING_KEY", "GITINDEX_SIGNING_KEY_FILE"
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)?(?:[-+.\w]*)?")
_OUT_OF_HEAP = re.compile(
    r"heap out of memory|Reached heap limit|OutOfMemoryError|std::bad_alloc|memory allocation of \d+ bytes failed"
)
_STOP_DIAGNOSES = {
    StopReason.TIME: (Diagnosis.TIMED_OUT, "took longer than its time cap"),
    StopReason.MEMORY: (Diagnosis.OUT_OF_MEMORY, "used more memory than its cap"),
    StopReason.OUTPUT: (Diagnosis.OUTPUT_TOO_LARGE, "wrote more than its output cap"),
    StopReason.LOG: (Diagnosis.OUTPUT_TOO_LARGE, "printed more than its log cap"),
    StopReason.CANCELLED: (Diagnosis.CANCELLED, "was cancelled"),
}


@dataclass(frozen=True, slots=True)
class IndexerResult:
    """An accepted run."""

    output: Path
    tool: str
    version: str
    prefix: str  # of document paths within the repository
    documents: int
    covered: int  # owned files with a document
    uncovered: tuple[str, ...]  # owned files without one
    excluded: tuple[str, ...]  # files left out because they crash the tool
    remarks: tuple[str, ...]
    seconds: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class IndexerSettings:
    """Where tools are looked for and what they may use."""

    tools: Path
    environment: Mapping[str, str]  # of the caller; adapters pass on what they need
    caps: Caps = field(default_factory=Caps)
    allow_project_code: bool = False

    @property
    def path(self) -> str:
        return keep_absolute_entries(self.environment.get("PATH", ""))


def locate_program(indexer: Indexer, settings: IndexerSettings) -> Program:
    """Raises IndexerFailure: missing_tool or opt_in_required; KeyExposed: a signing key is within the tool's reach."""
    program = indexer.find(settings.tools, settings.path)
    if program is None:
        raise IndexerFailure(
            Diagnosis.MISSING_TOOL,
            f"{indexer.name} is not installed",
            hint=indexer.how_to_get,
            tool=indexer.name,
        )
    _check_keys(settings)
    if indexer.runs_project_code and not settings.allow_project_code:
        raise IndexerFailure(
            Diagnosis.OPT_IN_REQUIRED,
            f"{indexer.name} runs code of the project (build scripts, plugins)",
            hint="gitindex refresh --allow-project-code",
        )
    return program


def _check_keys(settings: IndexerSettings) -> None:
    """Refuse to run an indexer that could read a signing key: it reads hostile input and may run project code.

    A key in our environment is in that of the parent shell as well, where any process of the user can read it. A key
    file is out of reach of the tools themselves, but not of project code.
    """
    names = [_KEY_VARIABLE] + ([_KEY_FILE_VARIABLE] if settings.allow_project_code else [])
    exposed = [name for name in names if settings.environment.get(name)]
    if exposed:
        raise KeyExposed(
            f"{' and '.join(exposed)} would be within reach of an indexer and of the code it may run",
            hint=f"env -u {' -u '.join(exposed)} gitindex build, then gitindex push with the key",
        )


def query_version(indexer: Indexer, program: Program, settings: IndexerSettings, work: Path) -> str:
    """The tool's version, "" when its output has none."""
    if program.version:
        return program.version
    caps = replace(settings.caps, seconds=min(60.0, settings.caps.seconds))
    run = IndexerRun(work, "", (), work)
    outcome = process.run(
        indexer.version_command(program),
        cwd=work,
        environment=indexer.environment(settings.environment, run),
        log=work / "version.log",
        caps=caps,
    )
    match = _VERSION.search(outcome.log) if outcome.exit_code == 0 else None
    return match[0] if match else ""


def index(
    indexer: Indexer, run: IndexerRun, settings: IndexerSettings, alive: Callable[[], bool] = lambda: True
) -> IndexerResult:
    """Run the tool until its output is accepted.

    Raises IndexerFailure, whose `diagnosis` names what went wrong; `detail["retry"]` is set when a retry may help.
    """
    program = locate_program(indexer, settings)
    version = query_version(indexer, program, settings, run.work)
    run = replace(run, memory_bytes=settings.caps.memory_bytes)
    while True:
        run.output.unlink(missing_ok=True)
        remarks = indexer.prepare(run)
        outcome = _run_once(indexer, program, run, settings, alive)
        crashing_file = (
            indexer.find_crashing_file(outcome.log, run)
            if outcome.exit_code > 0 and not outcome.stop_reason
            else None
        )
        if crashing_file is None or len(run.excluded) >= MAX_EXCLUDED:
            result = _accept_output(indexer, version, run, outcome)
            return replace(result, remarks=(*remarks, *result.remarks))
        run = replace(run, excluded=(*run.excluded, crashing_file))


def _run_once(
    indexer: Indexer, program: Program, run: IndexerRun, settings: IndexerSettings, alive: Callable[[], bool]
) -> ProcessResult:
    return process.run(
        indexer.command(program, run),
        cwd=indexer.working_directory(run),
        environment=indexer.environment(settings.environment, run),
        log=run.work / f"{indexer.name}.log",
        caps=settings.caps,
        outputs=(run.output,),
        alive=alive,
    )


# -- acceptance -----------------------------------------------------------------------------------------


def _accept_output(indexer: Indexer, version: str, run: IndexerRun, outcome: ProcessResult) -> IndexerResult:
    _check_exit(indexer, run, outcome)
    if not run.output.exists():
        raise _make_failure(Diagnosis.NO_OUTPUT, indexer, "ended well but wrote no index", outcome)
    with IndexFile(run.output) as file:
        if file.truncated:
            raise _make_failure(
                Diagnosis.TRUNCATED_OUTPUT, indexer, "wrote an index that is cut off", outcome
            )
        if not file.layout.documents:
            raise _make_failure(Diagnosis.NO_DOCUMENTS, indexer, "wrote an index without documents", outcome)
        prefix = find_prefix(file.tool().project_root, run)
        paths = {document_path(prefix, d.relative_path) for d in file.documents(schema.raw_messages())}
        document_count = len(file.layout.documents)
    owned = frozenset(run.files)
    covered = owned & paths
    if not covered:
        example = min((path for path in paths if path), default="")
        message = f"described none of the {len(owned)} tracked files (but {example!r}, say)"
        raise _make_failure(Diagnosis.WRONG_ROOT, indexer, message, outcome)
    if len(covered) < indexer.min_coverage * len(owned):
        message = f"described {len(covered)} of {len(owned)} tracked files"
        raise _make_failure(Diagnosis.LOW_COVERAGE, indexer, message, outcome)
    return IndexerResult(
        output=run.output,
        tool=indexer.name,
        version=version,
        prefix=prefix,
        documents=document_count,
        covered=len(covered),
        uncovered=tuple(sorted(owned - covered)),
        excluded=run.excluded,
        remarks=tuple(indexer.find_remarks(outcome.log)),
        seconds=outcome.seconds,
        peak_bytes=outcome.peak_bytes,
    )


def _check_exit(indexer: Indexer, run: IndexerRun, outcome: ProcessResult) -> None:
    if outcome.stop_reason:
        diagnosis, problem = _STOP_DIAGNOSES[outcome.stop_reason]
        raise _make_failure(diagnosis, indexer, problem, outcome)
    if _OUT_OF_HEAP.search(outcome.log) and outcome.exit_code != 0:
        raise _make_failure(Diagnosis.OUT_OF_MEMORY, indexer, "ran out of memory", outcome)
    if outcome.exit_code != 0:
        ending = f"signal {-outcome.exit_code}" if outcome.exit_code < 0 else f"exit code {outcome.exit_code}"
        exclusions = f" after leaving out {', '.join(run.excluded)}" if run.excluded else ""
        raise _make_failure(Diagnosis.CRASHED, indexer, f"failed with {ending}{exclusions}", outcome)


def _make_failure(
    diagnosis: Diagnosis, indexer: Indexer, problem: str, outcome: ProcessResult
) -> IndexerFailure:
    lines = [line for line in outcome.log.splitlines() if line.strip()]
    return IndexerFailure(
        diagnosis,
        f"{indexer.name} {problem}",
        hint="gitindex jobs --json",
        tool=indexer.name,
        log="\n".join(lines[-30:]),
        # A signal may come from outside (an OOM killer, a shutdown); the same exit code would come again.
        retry=diagnosis is Diagnosis.CRASHED and outcome.exit_code < 0,
    )


def find_prefix(project_root: str, run: IndexerRun) -> str:
    """The directory that document paths are relative to: from the index's metadata, else the context root."""
    path = unquote(urlsplit(project_root).path).rstrip("/")
    if path == str(run.checkout):
        return ""
    inside = path.removeprefix(f"{run.checkout}/")
    return inside if inside != path else run.root


def document_path(prefix: str, raw: bytes) -> str:
    """A document's path key as `decode` will form it; "" for a path outside the repository."""
    text = posixpath.normpath(posixpath.join(prefix, raw.decode("utf-8", "replace")))
    return "" if text.startswith(("/", "../")) or text == ".." else text
